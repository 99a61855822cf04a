//! Parses the report of a simulated launch: our engine's report file or a sanitizer's output in, a [`Fault`] out.

use std::fmt;
use std::path::Path;
use std::process::Command;

/// The class of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultClass {
    /// Two threads access the same bytes without a barrier in between, and at least one writes.
    Race,
    /// A read outside of every argument and shared array.
    OutOfBoundsRead,
    /// A write outside of every argument and shared array.
    OutOfBoundsWrite,
    /// An index outside the array's type.
    IndexOutOfBounds,
    /// A read of shared memory that no thread of the block wrote.
    UninitialisedShared,
    /// A read of an output that was not written.
    UninitialisedOutput,
    /// A write to an argument that was passed for reading.
    WriteToConstant,
    /// An access at an address that its size does not divide.
    Misaligned,
    /// Threads of a block at different `__syncthreads`, or some already finished.
    DivergentBarrier,
    /// A warp operation whose mask names lanes that never reach it.
    WarpDeadlock,
    /// A mask that excludes the caller or names lanes that do not exist, or a shuffle from a lane outside of it.
    WrongMask,
    /// An access far from all valid memory.
    WildPointer,
    /// Integer division by zero.
    DivisionByZero,
    /// An integer operation that C++ does not define: overflow, or a shift by too much.
    UndefinedArithmetic,
    /// The launch did not end.
    Endless,
    /// The argument list does not fit the kernel.
    Arguments,
    /// Anything else.
    Other,
}

impl FaultClass {
    const NAMES: [(FaultClass, &'static str); 17] = [
        (FaultClass::Race, "race"),
        (FaultClass::OutOfBoundsRead, "out of bounds read"),
        (FaultClass::OutOfBoundsWrite, "out of bounds write"),
        (FaultClass::IndexOutOfBounds, "index out of bounds"),
        (FaultClass::UninitialisedShared, "uninitialised shared memory"),
        (FaultClass::UninitialisedOutput, "uninitialised output"),
        (FaultClass::WriteToConstant, "write to a constant argument"),
        (FaultClass::Misaligned, "misaligned access"),
        (FaultClass::DivergentBarrier, "divergent barrier"),
        (FaultClass::WarpDeadlock, "warp deadlock"),
        (FaultClass::WrongMask, "wrong mask"),
        (FaultClass::WildPointer, "wild pointer"),
        (FaultClass::DivisionByZero, "division by zero"),
        (FaultClass::UndefinedArithmetic, "undefined arithmetic"),
        (FaultClass::Endless, "endless"),
        (FaultClass::Arguments, "arguments"),
        (FaultClass::Other, "fault"),
    ];

    fn from_name(name: &str) -> FaultClass {
        Self::NAMES.iter().find(|(_, known)| *known == name).map_or(FaultClass::Other, |(class, _)| *class)
    }
}

impl fmt::Display for FaultClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES.iter().find(|(class, _)| class == self).map_or("fault", |(_, name)| name))
    }
}

/// A line of the generated text (`kernel.cu`), or of the user's definition if the text refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The line's text, if the file is the generated one.
    pub text: String,
}

/// A fault of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kernel.
    pub entry: String,
    /// Its class.
    pub class: FaultClass,
    /// What happened, in numbers.
    pub message: String,
    /// The block.
    pub block: Option<[u32; 3]>,
    /// The thread.
    pub thread: Option<[u32; 3]>,
    /// The places: one for most classes, two for races, barriers and deadlocks. Each is the line itself followed by the
    /// lines of the functions it was inlined into.
    pub sites: Vec<Vec<SourceLine>>,
}

impl Fault {
    /// The innermost line of each place.
    pub fn lines(&self) -> Vec<u32> {
        self.sites.iter().filter_map(|site| site.first()).map(|place| place.line).collect()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.entry, self.class, self.message)?;
        if let (Some(block), Some(thread)) = (self.block, self.thread) {
            write!(f, "\n  in block {block:?}, thread {thread:?}")?;
        }
        for site in &self.sites {
            for (k, place) in site.iter().enumerate() {
                let word = if k == 0 { "at" } else { "in the call at" };
                write!(f, "\n  {word} {}:{}", place.file, place.line)?;
                if !place.text.is_empty() {
                    write!(f, "  {}", place.text)?;
                }
            }
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// Where to look up lines: the program that ran, and the generated text.
pub(super) struct Lines<'a> {
    pub program: &'a Path,
    pub text: &'a str,
}

impl Lines<'_> {
    fn place(&self, file: &str, line: u32) -> SourceLine {
        let own = file == "kernel.cu" || file.ends_with("/kernel.cu");
        let text = if own { self.text.lines().nth((line as usize).wrapping_sub(1)).unwrap_or("") } else { "" };
        let file = if own { "kernel.cu" } else { file };
        SourceLine { file: file.into(), line, text: text.trim().into() }
    }

    /// The lines of a return address, innermost first; `fallback` if addr2line is missing.
    fn site(&self, pc: u64, fallback: (&str, u32)) -> Vec<SourceLine> {
        let before = pc.wrapping_sub(1);
        let found =
            Command::new("addr2line").arg("-i").arg("-e").arg(self.program).arg(format!("{before:#x}")).output();
        let output = found.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let mut places: Vec<SourceLine> = output.lines().filter_map(|line| self.file_and_line(line)).collect();
        if places.is_empty() && fallback.1 > 0 {
            places.push(self.place(fallback.0, fallback.1));
        }
        places
    }

    /// Parses `path:12` or `path:12 (discriminator 2)`, unless it is the engine's own.
    fn file_and_line(&self, word: &str) -> Option<SourceLine> {
        let word = word.split(" (").next().unwrap_or(word);
        let (file, line) = word.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        let name = Path::new(file).file_name()?.to_str()?;
        let engine = ["host.hpp", "driver.cpp", "block.cpp", "watch.cpp", "main.cpp"].contains(&name);
        (line > 0 && !engine && !file.starts_with('?')).then(|| self.place(file, line))
    }
}

fn triple(words: &str) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = words.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}

/// The engine's report, completed by the output of a sanitizer.
pub(super) fn fault(entry: &str, report: &str, output: &str, lines: &Lines<'_>) -> Option<Fault> {
    let mut fault = Fault {
        entry: entry.into(),
        class: FaultClass::Other,
        message: String::new(),
        block: None,
        thread: None,
        sites: Vec::new(),
    };
    for line in report.lines() {
        let Some((key, rest)) = line.split_once(' ') else { continue };
        match key {
            "kind" => fault.class = FaultClass::from_name(rest),
            "message" => fault.message = rest.into(),
            "block" => fault.block = triple(rest),
            "thread" => fault.thread = triple(rest),
            "site" => {
                let mut words = rest.splitn(3, ' ');
                let pc = words.next().and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0);
                let line = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
                fault.sites.push(lines.site(pc, (words.next().unwrap_or(""), line)));
            }
            _ => {}
        }
    }
    if fault.message.is_empty() {
        sanitizer(&mut fault, output, lines);
    }
    (!fault.message.is_empty()).then_some(fault)
}

/// AddressSanitizer: `ERROR: AddressSanitizer: KIND …`, `READ of size 8 …`, `#0 0x… in NAME FILE:LINE`.
/// Undefined behaviour: `FILE:LINE:COLUMN: runtime error: MESSAGE`.
fn sanitizer(fault: &mut Fault, output: &str, lines: &Lines<'_>) {
    if let Some(line) = output.lines().find(|line| line.contains(": runtime error: ")) {
        let (place, message) = line.split_once(": runtime error: ").unwrap_or((line, ""));
        let place = place.rsplit_once(':').map_or(place, |(file_and_line, _)| file_and_line);
        fault.sites.push(lines.file_and_line(place).into_iter().collect());
        fault.message = message.into();
        fault.class = match message {
            m if m.contains("out of bounds") => FaultClass::IndexOutOfBounds,
            m if m.contains("misaligned") => FaultClass::Misaligned,
            m if m.contains("division by zero") => FaultClass::DivisionByZero,
            _ => FaultClass::UndefinedArithmetic,
        };
        return;
    }
    let Some(at) = output.find("AddressSanitizer: ") else { return };
    let rest = &output[at + "AddressSanitizer: ".len()..];
    let kind = rest.split_whitespace().next().unwrap_or("");
    let access = rest.lines().find(|line| line.starts_with("READ of size") || line.starts_with("WRITE of size"));
    fault.class = match (kind, access) {
        ("SEGV", _) => FaultClass::WildPointer,
        ("FPE", _) => FaultClass::DivisionByZero,
        (_, Some(line)) if line.starts_with("WRITE") => FaultClass::OutOfBoundsWrite,
        (_, Some(_)) => FaultClass::OutOfBoundsRead,
        _ => FaultClass::Other,
    };
    let words: Vec<&str> = access.unwrap_or("").split_whitespace().take(4).collect();
    fault.message = format!("AddressSanitizer: {kind} {}", words.join(" ")).trim_end().into();
    // The first stack: the frames until an empty line.
    let frames =
        rest.lines().skip_while(|line| !line.trim_start().starts_with("#0 ")).take_while(|line| !line.is_empty());
    fault.sites.push(frames.filter_map(|line| lines.file_and_line(line.split_whitespace().last()?)).collect());
}
