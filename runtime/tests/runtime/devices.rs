//! Devices, memory and launches.

use crate::test_devices;
use eigenforge_runtime::*;

#[test]
fn device_names_are_read() {
    assert!(Device::parse("cpu").unwrap().name().contains("threads"));
    for wrong in ["gpu", "cuda:", "cuda:x", "cuda:-1", "", "sim:", "sim:random", "sim:random:x", "cpu:1"] {
        let error = Device::parse(wrong).unwrap_err().to_string();
        assert!(error.contains("not one of auto, cpu, cuda, cuda:N, "), "{wrong}: {error}");
    }
    // Without a driver, or with fewer cards: an error, never a panic.
    let error = Device::parse("cuda:4096").unwrap_err().to_string();
    assert!(["no CUDA driver", "no CUDA device", "4096"].iter().any(|part| error.contains(part)), "{error}");
    let (best, reason) = Device::best_with_reason();
    assert_eq!(best.is_cuda(), Device::best().unwrap().is_cuda());
    assert!(!(best.is_cuda() && reason.is_some()), "{reason:?}");
    if jit::driver_version().is_err() {
        assert_eq!((best.is_cuda(), reason), (false, None), "without a driver there is nothing to explain");
    }
}

#[test]
fn vectors_and_buffers_keep_their_contents() {
    for device in test_devices() {
        let values: Vec<f64> = (0..1001).map(f64::from).collect();
        let mut x = device.upload(&values).unwrap();
        let y = x.duplicate().unwrap();
        x.write(&vec![0.5; 1001]).unwrap();
        assert_eq!(y.download().unwrap(), values);
        x.copy_from(&y).unwrap();
        assert_eq!(x.download().unwrap(), values);
        assert_eq!(device.zeros::<f32>(77).unwrap().download().unwrap(), vec![0.0; 77]);
        assert!(device.zeros::<f64>(0).unwrap().download().unwrap().is_empty());
        let table: Vec<[u16; 2]> = (0..333).map(|i| [i, i + 1]).collect();
        assert_eq!(device.buffer(&table).unwrap().download().unwrap(), table);
        assert!(x.write(&[1.0]).unwrap_err().to_string().contains("expected 1001 elements, found 1"));
        assert!(x.copy_from(&device.zeros(3).unwrap()).is_err());
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_numbers() {
    for device in test_devices() {
        let memory = device.memory();
        assert!(memory.free > 0 && memory.free <= memory.total);
        let error = device.zeros::<f64>(1 << 44).unwrap_err();
        assert!(matches!(error, DeviceError::Memory { needed, .. } if needed == 1 << 47), "{error}");
        assert!(error.to_string().contains("needs 131072.00 GiB"), "{error}");
    }
}
