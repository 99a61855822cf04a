//! One launch as bytes for the simulating program (`main.cpp` reads them), and its result read back.
//!
//! Request: its length and the result's, then name, grid, block, shared bytes, schedule, seed, then each argument as kind,
//! access, value or length and bytes. Result: the bytes of each written buffer, in order. Numbers are in the machine's
//! byte order.

use super::{Argument, Schedule, SimulateError};

/// Most dynamic shared memory of any supported architecture: 227 KiB (sm_90, sm_100).
pub(crate) const MOST_SHARED_BYTES: u32 = 227 << 10;
/// Most threads of a block.
const MOST_THREADS: u64 = 1024;

pub(super) struct Launch<'a> {
    pub entry: &'a str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub schedule: Schedule,
}

impl Launch<'_> {
    pub(super) fn check(&self) -> Result<(), SimulateError> {
        let fault =
            |expected: String, found: String| Err(SimulateError::Launch { entry: self.entry.into(), expected, found });
        let threads: u64 = self.block.iter().map(|n| u64::from(*n)).product();
        if threads == 0 || threads > MOST_THREADS || self.block.iter().any(|n| u64::from(*n) > MOST_THREADS) {
            return fault(format!("1 to {MOST_THREADS} threads a block"), format!("{:?}", self.block));
        }
        if self.grid[1].max(self.grid[2]) > 65_535 || self.grid[0] > i32::MAX as u32 {
            return fault("a grid of at most 2147483647 x 65535 x 65535 blocks".into(), format!("{:?}", self.grid));
        }
        if self.shared_bytes > MOST_SHARED_BYTES {
            return fault(format!("at most {MOST_SHARED_BYTES} bytes of shared memory"), self.shared_bytes.to_string());
        }
        Ok(())
    }

    pub(super) fn request(&self, arguments: &[Argument<'_>]) -> Vec<u8> {
        let mut out = vec![0; 8];
        out.extend((result_bytes(arguments) as u64).to_ne_bytes());
        let (order, seed) = match self.schedule {
            Schedule::Forward => (0u32, 0u64),
            Schedule::Reverse => (1, 0),
            Schedule::Random { seed } => (2, seed),
        };
        out.extend((self.entry.len() as u32).to_ne_bytes());
        out.extend(self.entry.as_bytes());
        self.grid.iter().chain(&self.block).for_each(|n| out.extend(n.to_ne_bytes()));
        out.extend(self.shared_bytes.to_ne_bytes());
        out.extend(order.to_ne_bytes());
        out.extend(seed.to_ne_bytes());
        out.extend((arguments.len() as u32).to_ne_bytes());
        for argument in arguments {
            let four = |b: [u8; 4]| [b[0], b[1], b[2], b[3], 0, 0, 0, 0];
            let (kind, access, value, bytes): (u8, u8, [u8; 8], &[u8]) = match argument {
                Argument::In(bytes) => (b'p', b'r', (bytes.len() as u64).to_ne_bytes(), bytes),
                Argument::InOut(bytes) => (b'p', b'b', (bytes.len() as u64).to_ne_bytes(), bytes),
                Argument::Out(bytes) => (b'p', b'w', (bytes.len() as u64).to_ne_bytes(), &[]),
                Argument::I64(v) => (b'l', b' ', v.to_ne_bytes(), &[]),
                Argument::U64(v) => (b'L', b' ', v.to_ne_bytes(), &[]),
                Argument::I32(v) => (b'i', b' ', four(v.to_ne_bytes()), &[]),
                Argument::U32(v) => (b'I', b' ', four(v.to_ne_bytes()), &[]),
                Argument::F64(v) => (b'd', b' ', v.to_ne_bytes(), &[]),
                Argument::F32(v) => (b'f', b' ', four(v.to_ne_bytes()), &[]),
            };
            out.extend([kind, access]);
            out.extend(value);
            out.extend(bytes);
        }
        let length = (out.len() - 16) as u64;
        out[..8].copy_from_slice(&length.to_ne_bytes());
        out
    }
}

impl Argument<'_> {
    fn written_bytes(&self) -> Option<usize> {
        match self {
            Argument::InOut(bytes) | Argument::Out(bytes) => Some(bytes.len()),
            _ => None,
        }
    }
}

/// Bytes of all written buffers.
pub(super) fn result_bytes(arguments: &[Argument<'_>]) -> usize {
    arguments.iter().filter_map(Argument::written_bytes).sum()
}

/// The written buffers of a result; `None` for an argument that is not written.
pub(super) fn written<'r>(mut result: &'r [u8], arguments: &[Argument<'_>]) -> Vec<Option<&'r [u8]>> {
    let mut next = |bytes: usize| {
        let (mine, rest) = result.split_at(bytes);
        result = rest;
        mine
    };
    arguments.iter().map(|argument| argument.written_bytes().map(&mut next)).collect()
}
