//! The reader of cubins: a file made by hand, real ones against ptxas's own numbers, and damaged ones.

use super::{axpy, jit, text};
use crate::jit::elf::{ElfKernel, kernels};
use crate::jit::{Arch, resources};
use proptest::prelude::*;

/// An ELF file of these sections (name, kind, link, bytes, length in memory); the first is the table of their names.
fn elf(sections: &[(&str, u32, u32, Vec<u8>, u64)]) -> Vec<u8> {
    let names: Vec<u8> = sections.iter().flat_map(|section| section.0.bytes().chain([0])).collect();
    let (mut contents, mut headers, mut name) = (vec![0u8; 64], Vec::new(), 0u32);
    for (index, (title, kind, link, bytes, length)) in sections.iter().enumerate() {
        let bytes = if index == 0 { &names } else { bytes };
        let length = if bytes.is_empty() { *length } else { bytes.len() as u64 };
        let mut header = [0u8; 64];
        header[..4].copy_from_slice(&name.to_le_bytes());
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[24..32].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        header[32..40].copy_from_slice(&length.to_le_bytes());
        header[40..44].copy_from_slice(&link.to_le_bytes());
        headers.extend(header);
        contents.extend(bytes);
        name += title.len() as u32 + 1;
    }
    contents[..6].copy_from_slice(b"\x7fELF\x02\x01");
    let start = contents.len() as u64;
    contents[40..48].copy_from_slice(&start.to_le_bytes());
    contents[58..60].copy_from_slice(&64u16.to_le_bytes());
    contents[60..62].copy_from_slice(&(sections.len() as u16).to_le_bytes());
    contents.extend(headers);
    contents
}

/// Two kernels `k` and `other`, and a device function `f` in the first.
fn by_hand() -> Vec<u8> {
    let symbol = |name: u8, kind: u8, other: u8| [&[name, 0, 0, 0, kind, other][..], &[0; 18]].concat();
    let symbols =
        [symbol(0, 0, 0), symbol(1, 0x12, 0x10), symbol(3, 0x02, 0), symbol(5, 0x12, 0x10), symbol(11, 0x12, 0x10)];
    let pair = |code: u8, symbol: u8, number: u8| vec![4, code, 8, 0, symbol, 0, 0, 0, number, 0, 0, 0];
    let info = [
        pair(0x2f, 1, 32),
        vec![3, 0x1b, 8, 0], // a value of its own, no payload
        vec![4, 0x37, 4, 0, 1, 2, 3, 4],
        pair(0x11, 2, 24),
        pair(0x11, 1, 16),
        pair(0x12, 1, 40),
        pair(0x2f, 3, 9),
    ];
    elf(&[
        (".shstrtab", 3, 0, vec![], 0),
        (".strtab", 3, 0, b"\0k\0f\0other\0absent\0".to_vec(), 0),
        (".symtab", 2, 1, symbols.concat(), 0),
        (".nv.info", 0x7000_0000, 2, info.concat(), 0),
        (".text.k", 1, 2, vec![0xaa; 32], 0),
        (".text.other", 1, 2, vec![0xaa; 16], 0),
        (".nv.shared.k", 8, 0, vec![], 1024 + 48),
        (".nv.shared.reserved.0", 8, 0, vec![], 0),
    ])
}

fn expected() -> Vec<ElfKernel> {
    vec![
        ElfKernel { name: "k".into(), registers: Some(32), stack: Some(40), shared: 48 },
        ElfKernel { name: "other".into(), registers: Some(9), stack: None, shared: 0 },
    ]
}

#[test]
fn a_file_made_by_hand_is_read() {
    assert_eq!(kernels(&by_hand()).unwrap(), expected());
}

#[test]
fn a_stack_without_a_log_may_be_spills_and_none_is_none() {
    let found = resources::kernel_resources(&by_hand(), "");
    assert_eq!((found[0].spills(), found[0].stack, found[0].registers), (None, 40, 32));
    assert_eq!(found[1].spills(), None, "its stack is not told");
    let line =
        "ptxas info    : Function properties for k\n   40 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads";
    let found = resources::kernel_resources(&by_hand(), line);
    assert_eq!((found[0].spilled(), found[0].registers, found[0].entry), (Some(12), 32, true));
}

#[test]
fn a_torn_file_is_none() {
    let whole = by_hand();
    for length in 0..whole.len() {
        assert_eq!(kernels(&whole[..length]), None, "the headers come last, and {length} bytes lack some");
    }
}

const SPILLING: &str = r#"
__device__ __noinline__ double gather(const double* x, int k)
{
    double t[32], s = 0;
    for (int i = 0; i < 32; ++i) t[i] = x[i * k];
    for (int i = 0; i < 32; ++i) s += t[(i * k) & 31] * t[i];
    return s;
}
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(double* x, int k)
{
    __shared__ double shared[8];
    shared[threadIdx.x & 7] = x[k];
    __syncthreads();
    double t[40], q = gather(x, k);
    for (int i = 0; i < 40; ++i) t[i] = x[i * 32 + threadIdx.x];
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        double s = shared[r & 7];
        #pragma unroll
        for (int i = 0; i < 40; ++i) { s += t[i] * x[r]; t[i] = t[(i + 7) % 40] * s + 1.0; }
    }
    for (int i = 0; i < 40; ++i) q += t[i];
    x[threadIdx.x] = q;
}
"#;

#[test]
fn cubin_and_log_agree() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = jit(folder.path()) else { return };
    let archs = jit.nvrtc().archs();
    assert!([80, 90, 100].iter().all(|&arch| archs.contains(&Arch(arch))), "{archs:?}");
    for &arch in archs {
        for text in [axpy(), text("spilling", SPILLING)] {
            let cubin = jit.compile(&text, arch).unwrap();
            let log: Vec<_> = resources::parse(&cubin.log).into_iter().filter(|kernel| kernel.entry).collect();
            assert!(!log.is_empty(), "ptxas's lines are not in the log:\n{}", cubin.log);
            let elf = kernels(&cubin.image).unwrap();
            let of_elf: Vec<_> = elf.iter().map(|k| (&k.name, k.registers, k.stack, k.shared)).collect();
            let of_log: Vec<_> = log.iter().map(|k| (&k.name, Some(k.registers), Some(k.stack), k.shared)).collect();
            assert_eq!(of_elf, of_log, "{arch}:\n{}", cubin.log);
            let together: Vec<_> = cubin.resources.iter().filter(|kernel| kernel.entry).cloned().collect();
            assert_eq!(together, log);
            // Without the log all is known but the spills of a kernel that has a stack.
            for (silent, told) in resources::kernel_resources(&cubin.image, "").iter().zip(&log) {
                let spills = (text.name == "axpy").then_some(false);
                assert_eq!((silent.spills(), told.spills()), (spills, Some(text.name == "spilling")), "{arch}");
                assert_eq!((silent.registers, silent.entry), (told.registers, true));
            }
        }
    }
}

proptest! {
    #[test]
    fn random_damage_is_survived(
        spots in proptest::collection::vec((0usize..1 << 16, any::<u8>()), 1..40),
        cut in 0usize..1 << 16,
    ) {
        let mut bytes = by_hand();
        let length = bytes.len();
        for (at, value) in spots {
            bytes[at % length] = value;
        }
        bytes.truncate(length - if cut % 4 == 0 { cut % length } else { 0 });
        // Whatever it reads, it reads from these bytes.
        for kernel in kernels(&bytes).unwrap_or_default() {
            prop_assert!(kernel.name.len() < length);
        }
    }

    #[test]
    fn random_bytes_after_the_magic_number_are_survived(tail in proptest::collection::vec(any::<u8>(), 0..400)) {
        let bytes = [&b"\x7fELF\x02\x01"[..], &tail].concat();
        prop_assert!(kernels(&bytes).is_none_or(|found| found.len() < bytes.len()));
    }
}
