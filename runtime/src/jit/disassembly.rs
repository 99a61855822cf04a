//! Machine code for reading: SASS by nvdisasm, resource usage by cuobjdump.
//!
//! In: a cubin. Out: text, for all kernels or one, and how many instructions of each class a kernel has. The disassembler
//! takes half a second for a cubin of any size, so these numbers are kept beside the cache of kernels. Each function's text starts at its section header
//! `//--------------------- .text.NAME`; lines `//## File "kernel.cu", line N` lead back to the CUDA text.

use super::diagnostics::SOURCE_FILE;
use super::error::JitError;
use super::instructions::InstructionMix;
use super::search;
use super::settings::Settings;
use crate::private::{self, Trust};
use crate::sealed::{seal, unseal};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The disassembler, found.
#[derive(Clone, Debug)]
pub struct Disassembler {
    nvdisasm: PathBuf,
    /// Where the numbers of instructions are kept.
    folder: Option<PathBuf>,
}

/// Of each kernel its name and instructions.
type Mixes = Vec<(String, InstructionMix)>;

/// Largest size in bytes of a kept record.
const LIMIT: u64 = 1 << 20;

impl Disassembler {
    /// Finds nvdisasm: EIGENFORGE_NVDISASM, the CUDA toolkit, the path, pip's wheel.
    pub fn find(settings: &Settings) -> Result<Disassembler, JitError> {
        let named = settings.nvdisasm.as_deref();
        let nvdisasm = search::tool(settings, "nvdisasm", "EIGENFORGE_NVDISASM", named)?;
        Ok(Disassembler { nvdisasm, folder: settings.beside_cache("-instructions") })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.nvdisasm
    }

    /// The machine code of a cubin, with the lines of the CUDA text; of one kernel only, when named.
    pub fn sass(&self, cubin: &[u8], kernel: Option<&str>) -> Result<String, JitError> {
        let all = run(&self.nvdisasm, &["--print-code", "--print-line-info"], cubin)?;
        let all = all.replace(super::COMPILED_AS, SOURCE_FILE);
        let Some(kernel) = kernel else { return Ok(all) };
        let sections = sections(&all);
        match sections.iter().find(|(name, _)| *name == kernel) {
            Some((_, text)) => Ok(text.to_string()),
            None => Err(JitError::NoSuchKernel {
                kernel: kernel.to_string(),
                found: sections.iter().map(|(name, _)| name.to_string()).collect(),
            }),
        }
    }
}

impl Disassembler {
    /// The instructions of each kernel of a cubin: name and mix, counted once.
    ///
    /// # Errors
    /// Those of the disassembler.
    pub fn mixes(&self, cubin: &[u8]) -> Result<Mixes, JitError> {
        let hash = blake3::hash(&[self.nvdisasm.as_os_str().as_encoded_bytes(), cubin].concat()).to_hex();
        let file = self.folder.as_ref().map(|folder| folder.join(format!("{}.ron", &hash[..32])));
        if let Some(kept) = file.as_deref().and_then(read_mixes) {
            return Ok(kept);
        }
        let mixes = mixes(&self.sass(cubin, None)?);
        if let (Some(folder), Some(file)) = (&self.folder, &file) {
            // What can't be kept is counted again.
            let record = seal(&mixes).and_then(|record| {
                private::make_folder(folder)?;
                private::replace(file, record.as_bytes())
            });
            record.unwrap_or_else(|fault| tracing::debug!("{} is not written: {fault}", file.display()));
        }
        Ok(mixes)
    }
}

/// The numbers of a record, if it is whole and this user's.
fn read_mixes(file: &Path) -> Option<Mixes> {
    let sealed = Trust::current_user().read_text(file, LIMIT).ok()?;
    ron::from_str(unseal(&sealed)?).ok()
}

/// The instructions of each kernel in machine code.
fn mixes(sass: &str) -> Mixes {
    sections(sass).into_iter().map(|(name, text)| (name.to_string(), InstructionMix::parse(text))).collect()
}

/// cuobjdump's report on a cubin's registers, stack, shared and constant memory.
pub fn resource_usage(settings: &Settings, cubin: &[u8]) -> Result<String, JitError> {
    let cuobjdump = find_cuobjdump(settings)?;
    run(&cuobjdump, &["--dump-resource-usage"], cubin)
}

/// Finds cuobjdump: EIGENFORGE_CUOBJDUMP, the CUDA toolkit, the path, pip's wheel.
pub fn find_cuobjdump(settings: &Settings) -> Result<PathBuf, JitError> {
    search::tool(settings, "cuobjdump", "EIGENFORGE_CUOBJDUMP", settings.cuobjdump.as_deref())
}

/// Runs a tool on a cubin, passed as a file.
fn run(tool: &Path, options: &[&str], cubin: &[u8]) -> Result<String, JitError> {
    let failed = |reason: String| JitError::Tool { path: tool.to_path_buf(), reason };
    let mut file = tempfile::Builder::new()
        .prefix("eigenforge-")
        .suffix(".cubin")
        .tempfile()
        .map_err(|e| failed(format!("no temporary file for the cubin: {e}")))?;
    file.write_all(cubin).map_err(|e| failed(format!("the cubin's temporary file: {e}")))?;
    let output = Command::new(tool)
        .args(options)
        .arg(file.path())
        .output()
        .map_err(|e| failed(format!("it cannot be started: {e}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
        return Err(failed(format!("{}: {said}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Splits nvdisasm's output into functions: name, and text from its header to the next.
fn sections(sass: &str) -> Vec<(&str, &str)> {
    const HEADER: &str = "//--------------------- .text.";
    let starts: Vec<usize> = sass.match_indices(HEADER).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([sass.len()]);
    let named = |(&start, end): (&usize, usize)| {
        let text = &sass[start..end];
        let name = text[HEADER.len()..].split_whitespace().next().unwrap_or_default();
        (name, text.trim_end())
    };
    starts.iter().zip(ends).map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_apart() {
        let sass = "\t.target sm_90\n//--------------------- .text.axpy --------\nMOV\nEXIT\n\
                    //--------------------- .text.dot  ---\nRET\n";
        let found = sections(sass);
        assert_eq!(found.iter().map(|s| s.0).collect::<Vec<_>>(), ["axpy", "dot"]);
        assert!(found[0].1.ends_with("EXIT") && found[1].1.ends_with("RET"));
        assert!(sections("").is_empty());
        let coded =
            sass.replace("MOV", "/*0000*/ MOV R1, R2 ;\n/*0010*/").replace("RET", "/*0000*/ RET.REL.NODEC R20 ;");
        let counted = mixes(&coded);
        let counted: Vec<(&str, u32)> = counted.iter().map(|(name, mix)| (&name[..], mix.total)).collect();
        assert_eq!(counted, [("axpy", 1), ("dot", 1)]);
    }
}
