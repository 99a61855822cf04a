//! Reads kernel properties from a cubin, an ELF file, which contains what the log may lack.
//!
//! In: the bytes, of any content. Out: each kernel's name, registers per thread, stack and static shared memory in bytes.
//!
//! - A kernel NAME is a function symbol with the entry flag 0x10 in `st_other`, in the section `.text.NAME`.
//! - `.nv.info` is a list of attributes (format, code, 16-bit value or length, payload); of format 4 and with the payload
//!   (symbol, number) are 0x2f registers, 0x11 frame of the function itself, 0x12 stack with all it calls.
//! - `.nv.shared.NAME` is as long as the static shared memory; for sm_90 and newer it includes the 1024 bytes that CUDA
//!   reserves in each block, as a section `.nv.shared.reserved.0` indicates.
//!
//! Reference: System V ABI, "Object files" (ELF64, little endian); NVIDIA's attributes are undocumented and follow
//! `cuobjdump --dump-elf`. The tests compare all numbers with ptxas's own, for every architecture the compiler supports.

use std::collections::BTreeMap;

/// Bytes of static shared memory that CUDA reserves.
const RESERVED_SHARED: u32 = 1024;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const SYMBOL_TABLE: u32 = 2;
const FUNCTION: u8 = 2;
const ENTRY: u8 = 0x10;
const REGISTERS: u8 = 0x2f;
const FRAME: u8 = 0x11;
const STACK: u8 = 0x12;

/// One kernel of a cubin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElfKernel {
    /// Its name.
    pub name: String,
    /// 32-bit registers per thread.
    pub registers: Option<u32>,
    /// Bytes of stack per thread, callees included.
    pub stack: Option<u32>,
    /// Bytes of static shared memory per block.
    pub shared: u32,
}

/// The kernels by name; `None` if the bytes are not a readable ELF file.
pub(crate) fn kernels(image: &[u8]) -> Option<Vec<ElfKernel>> {
    let file = File::open(image)?;
    let table = file.sections.iter().find(|section| section.kind == SYMBOL_TABLE)?;
    let names = file.sections.get(table.link as usize)?.bytes;
    let symbols: Vec<Symbol> =
        table.bytes.chunks_exact(SYMBOL).filter_map(|bytes| Symbol::read(bytes, names)).collect();
    let numbers = file.section(".nv.info").map(|section| attributes(section.bytes)).unwrap_or_default();
    let reserved = if file.section(".nv.shared.reserved.0").is_some() { RESERVED_SHARED } else { 0 };
    let mut found: BTreeMap<&str, ElfKernel> = BTreeMap::new();
    for (index, symbol) in symbols.iter().enumerate() {
        let name = symbol.name;
        if symbol.kind != FUNCTION || !symbol.entry || file.section(&format!(".text.{name}")).is_none() {
            continue;
        }
        let number = |code: u8| numbers.get(&(code, index as u32)).copied();
        let shared = file.section(&format!(".nv.shared.{name}")).map_or(0, |section| section.length);
        let kernel = ElfKernel {
            name: name.to_string(),
            registers: number(REGISTERS),
            stack: number(STACK).max(number(FRAME)),
            shared: u32::try_from(shared).unwrap_or(u32::MAX).saturating_sub(reserved),
        };
        found.insert(name, kernel);
    }
    Some(found.into_values().collect())
}

/// The sections of an ELF file.
struct File<'a> {
    sections: Vec<Section<'a>>,
}

struct Section<'a> {
    name: &'a str,
    kind: u32,
    link: u32,
    /// Its length in memory, defined even for a section without bytes.
    length: u64,
    bytes: &'a [u8],
}

impl<'a> File<'a> {
    fn open(image: &'a [u8]) -> Option<File<'a>> {
        // Magic number, 64 bits, little endian.
        if !image.starts_with(b"\x7fELF\x02\x01") || u16_at(image, 58)? as usize != SECTION_HEADER {
            return None;
        }
        let start = usize::try_from(u64_at(image, 40)?).ok()?;
        let length = u16_at(image, 60)? as usize * SECTION_HEADER;
        let headers = || image.get(start..start.checked_add(length)?);
        let mut sections = Vec::new();
        let mut name_offsets = Vec::new();
        for header in headers()?.chunks_exact(SECTION_HEADER) {
            let (offset, length) = (u64_at(header, 24)?, u64_at(header, 32)?);
            let range = || {
                let offset = usize::try_from(offset).ok()?;
                image.get(offset..offset.checked_add(usize::try_from(length).ok()?)?)
            };
            // A section without bytes (kind 8, memory only) may name any offset.
            let bytes = range().unwrap_or_default();
            name_offsets.push(u32_at(header, 0)?);
            sections.push(Section { name: "", kind: u32_at(header, 4)?, link: u32_at(header, 40)?, length, bytes });
        }
        let names = sections.get(u16_at(image, 62)? as usize)?.bytes;
        for (section, offset) in sections.iter_mut().zip(name_offsets) {
            section.name = name_at(names, offset).unwrap_or_default();
        }
        Some(File { sections })
    }

    fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }
}

struct Symbol<'a> {
    name: &'a str,
    kind: u8,
    entry: bool,
}

impl<'a> Symbol<'a> {
    /// `None` only for too few bytes, so that symbols keep their indices.
    fn read(bytes: &[u8], names: &'a [u8]) -> Option<Symbol<'a>> {
        let name = name_at(names, u32_at(bytes, 0)?).unwrap_or_default();
        Some(Symbol { name, kind: bytes.get(4)? & 15, entry: bytes.get(5)? & ENTRY != 0 })
    }
}

/// (code, symbol) → number, for attributes that have both.
fn attributes(mut bytes: &[u8]) -> BTreeMap<(u8, u32), u32> {
    let mut found = BTreeMap::new();
    while let (Some(&[format, code]), Some(length)) = (bytes.first_chunk(), u16_at(bytes, 2)) {
        let length = if format == 4 { length as usize } else { 0 };
        let Some(payload) = bytes.get(4..4 + length) else { break };
        if let (8, Some(symbol), Some(number)) = (length, u32_at(payload, 0), u32_at(payload, 4)) {
            found.insert((code, symbol), number);
        }
        bytes = &bytes[4 + length..];
    }
    found
}

fn name_at(names: &[u8], offset: u32) -> Option<&str> {
    let name = names.get(offset as usize..)?.split(|&byte| byte == 0).next()?;
    std::str::from_utf8(name).ok()
}

fn array<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array(bytes, offset).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array(bytes, offset).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array(bytes, offset).map(u64::from_le_bytes)
}
