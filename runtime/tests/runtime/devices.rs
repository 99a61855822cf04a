//! Devices, memory and launches.

use crate::test_devices;
use eigenforge_runtime::*;
use eigenforge_templates::KernelText;

#[test]
fn device_names_are_read() {
    assert!(Device::parse("cpu").unwrap().name().contains("threads"));
    for wrong in ["gpu", "cuda:", "cuda:x", "cuda:-1", ""] {
        let error = Device::parse(wrong).unwrap_err().to_string();
        assert!(error.contains("not one of auto, cpu, cuda, cuda:N"), "{wrong}: {error}");
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

fn text() -> KernelText {
    let text = "typedef long long i64;\nextern \"C\" __global__ void __launch_bounds__(256) reverse(\n    const double* __restrict__ x, double* __restrict__ y, i64 n, unsigned int shift, double factor)\n{\n    extern __shared__ double copy[];\n    for (i64 i = threadIdx.x; i < n; i += blockDim.x) copy[i] = x[i];\n    __syncthreads();\n    for (i64 i = threadIdx.x; i < n; i += blockDim.x) y[i] = factor * copy[(n - 1 - i + shift) % n];\n}\n";
    KernelText { name: "reverse".into(), text: text.into(), plan: String::new(), entries: vec!["reverse".into()] }
}

#[test]
fn kernels_are_launched_with_checked_arguments_memcheck() {
    for device in test_devices() {
        if !device.is_cuda() {
            assert!(device.compile(&text()).err().unwrap().to_string().contains("expected it on a CUDA device"));
            assert!(device.kernels_used().is_empty());
            continue;
        }
        let kernel = device.compile(&text()).unwrap();
        let n = 10_000;
        let x = device.random::<f64>(n, 3).unwrap();
        let mut y = device.zeros::<f64>(n).unwrap();
        // 80,000 bytes of shared memory: above the 48 KiB that need no opt-in.
        let (outcome, milliseconds) = device
            .time(|| {
                let numbers = [KernelArg::I64(n as i64), KernelArg::U32(7), KernelArg::F64(2.0)];
                let arguments = [KernelArg::Memory(&x), KernelArg::MemoryMut(&mut y)].into_iter().chain(numbers);
                kernel.launch("reverse", [1, 1, 1], 256, 8 * n as u32, &arguments.collect::<Vec<_>>())
            })
            .unwrap();
        outcome.unwrap();
        assert!(milliseconds > 0.0);
        let (x_host, y_host) = (x.download().unwrap(), y.download().unwrap());
        assert!((0..n).all(|i| y_host[i] == 2.0 * x_host[(n - 1 - i + 7) % n]));
        assert!(device.kernels_used().iter().any(|k| k.name == "reverse" && !k.key.is_empty()));
        let wrong = |arguments: &[KernelArg<'_>], what: &str| {
            let error = kernel.launch("reverse", [1, 1, 1], 256, 8 * n as u32, arguments).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        };
        wrong(&[KernelArg::Memory(&x)], "expected 5, found 1");
        let host = Device::cpu().zeros::<f64>(n).unwrap();
        let all = |second, third| [KernelArg::Memory(&x), second, third, KernelArg::U32(7), KernelArg::F64(2.0)];
        wrong(&all(KernelArg::Memory(&host), KernelArg::I64(1)), "found host memory");
        wrong(&all(KernelArg::Memory(&x), KernelArg::I32(1)), "parameter n: expected i64, found int");
        let error = kernel.launch("forward", [1, 1, 1], 256, 0, &[]).unwrap_err().to_string();
        assert!(error.contains("expected one of reverse, found forward"), "{error}");
    }
}
