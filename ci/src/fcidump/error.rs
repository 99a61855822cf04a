//! Errors of FCIDUMP files. Every message names the line, what was expected and what was found.

use super::orbsym::OrbsymError;
use eigenforge_runtime::DeviceError;
use std::path::{Path, PathBuf};

/// Most orbitals of a file: 4.3 GB of integrals.
pub(in super::super) const MAX_ORBITALS: usize = 256;

/// Allowed difference between copies of one integral, relative to the larger of them and 1.
pub(in super::super) const AGREEMENT: f64 = 1e-10;

/// Why a file is refused.
#[derive(Debug, thiserror::Error)]
pub enum FcidumpError {
    /// The file cannot be opened or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// An I/O error.
        source: std::io::Error,
    },
    /// An error in a file.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<FcidumpError>,
    },
    /// A line that cannot be read, is too long or has no line feed.
    #[error(transparent)]
    Text(#[from] std::io::Error),
    /// Too many orbitals for the size of the file.
    #[error(
        "NORB = {orbitals} asks for {needed} bytes of integrals, and the file has {bytes} bytes: more than {} orbitals need a \
         file of integrals that are mostly there",
        crate::strings::MAX_ORBITALS
    )]
    Sparse {
        /// Spatial orbitals.
        orbitals: usize,
        /// Bytes of their integrals.
        needed: u64,
        /// Bytes of the file.
        bytes: u64,
    },
    /// The integrals do not fit into memory.
    #[error(transparent)]
    Memory(#[from] DeviceError),
    /// Only blanks.
    #[error("the file is empty: an FCIDUMP file begins with &FCI NORB=…, NELEC=…, MS2=…")]
    Empty,
    /// No namelist at the beginning.
    #[error("line {line}: an FCIDUMP file begins with &FCI, but this is `{found}`")]
    NotFcidump {
        /// Line, from 1.
        line: u64,
        /// What was found.
        found: String,
    },
    /// No &END and no /.
    #[error("the namelist that begins in line {line} never ends: close it with &END or /")]
    EndlessHeader {
        /// Line, from 1.
        line: u64,
    },
    /// Not KEY=value.
    #[error("line {line}: expected KEY=value in the namelist, found `{found}`")]
    HeaderSyntax {
        /// Line, from 1.
        line: u64,
        /// What was found.
        found: String,
    },
    /// A key that might change what the integrals mean.
    #[error("line {line}: {key} is not known ({known}); remove it if the integrals mean the same without it")]
    UnknownKey {
        /// Line, from 1.
        line: u64,
        /// The key.
        key: String,
        /// Known keys.
        known: &'static str,
    },
    /// A key twice.
    #[error("line {line}: {key} appears twice in the namelist")]
    RepeatedKey {
        /// Line, from 1.
        line: u64,
        /// The key.
        key: String,
    },
    /// Values of a key with a gap.
    #[error("line {line}: {key}({found}) leaves a gap: the next value is {key}({expected})")]
    HeaderIndex {
        /// Line, from 1.
        line: u64,
        /// The key.
        key: String,
        /// The index found.
        found: usize,
        /// The next index.
        expected: usize,
    },
    /// ORBSYM cannot be read.
    #[error(transparent)]
    Orbsym(#[from] OrbsymError),
    /// An invalid value of a key.
    #[error("line {line}: {key} should be {expected}, but is `{found}`")]
    HeaderValue {
        /// Line, from 1.
        line: u64,
        /// The key.
        key: String,
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// A missing required key.
    #[error("the namelist has no {key}: add {key}=…, {meaning}")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// What the key means.
        meaning: &'static str,
    },
    /// Spin-orbital integrals, by a key of the namelist.
    #[error(
        "line {line}: {key} says that these are {kind} integrals; one set of orbitals for both spins is read or, with IUHF=1 and its five \
         blocks, one for each spin"
    )]
    Kind {
        /// Line, from 1.
        line: u64,
        /// The key.
        key: String,
        /// What the integrals are.
        kind: &'static str,
    },
    /// No orbitals, or too many.
    #[error("NORB = {found}: from 1 to {MAX_ORBITALS} orbitals can be read; more would need over 4.3 GB of integrals")]
    Orbitals {
        /// What was found.
        found: u64,
    },
    /// More than two electrons per orbital.
    #[error("NELEC = {electrons} is more than {orbitals} orbitals hold: at most {most}", most = 2 * orbitals)]
    TooManyElectrons {
        /// Electrons.
        electrons: u64,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// NELEC and MS2 do not give whole numbers of α and β electrons.
    #[error(
        "NELEC = {electrons} and MS2 = {two_sz} do not fit together: n_α = (NELEC + MS2) / 2 and n_β = (NELEC − MS2) \
         / 2 must be whole numbers from 0 to NORB = {orbitals}"
    )]
    Spin {
        /// Electrons.
        electrons: u64,
        /// n_α − n_β.
        two_sz: i64,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// The number of irreps differs from the number of orbitals.
    #[error("line {line}: ORBSYM has {found} irreps for NORB = {orbitals} orbitals")]
    IrrepCount {
        /// Line, from 1.
        line: u64,
        /// What was found.
        found: usize,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// A complex value where real ones are read.
    #[error("line {line}: a value in parentheses is complex; {expected}")]
    Complex {
        /// Line, from 1.
        line: u64,
        /// What is read there.
        expected: &'static str,
    },
    /// Complex orbitals where real ones are needed.
    #[error(
        "the integrals are over complex orbitals, and real ones are needed here; a file with [ci] and without [dmrg] takes both"
    )]
    ComplexOrbitals,
    /// A complex value that cannot be read.
    #[error("line {line}: expected `(re,im) i j k l` of a complex value, found `{text}`")]
    ComplexValue {
        /// Line, from 1.
        line: u64,
        /// The line.
        text: String,
    },
    /// A number that equals its conjugate by symmetry, and has an imaginary part.
    #[error(
        "line {line}: {name} = {value} has an imaginary part, and must equal its conjugate: H is not Hermitian; \
         over complex orbitals (ij|kl) = (kl|ij) = (ji|lk)* and h_ij = h_ji*"
    )]
    NotHermitian {
        /// Line, from 1.
        line: u64,
        /// Which integral.
        name: String,
        /// Its value.
        value: String,
    },
    /// Real numbers in a complex file that say too little of their symmetry.
    #[error(
        "no (ij|kl) has an imaginary part, and of {name} and the same with one pair exchanged only one is given, as everywhere in the file: over \
         real orbitals both are equal, over complex ones the other is 0; write both with their values, or plain numbers alone for real orbitals"
    )]
    Symmetry {
        /// An integral that is given.
        name: String,
    },
    /// Not five fields in a line.
    #[error("line {line}: expected `value i j k l`, found {found} fields in `{text}`")]
    Fields {
        /// Line, from 1.
        line: u64,
        /// What was found.
        found: usize,
        /// The line.
        text: String,
    },
    /// A value that is not a number.
    #[error("line {line}: `{found}` is not a number")]
    Number {
        /// Line, from 1.
        line: u64,
        /// What was found.
        found: String,
    },
    /// NaN, infinity, or too large.
    #[error("line {line}: {found} is not finite")]
    NotFinite {
        /// Line, from 1.
        line: u64,
        /// What was found.
        found: String,
    },
    /// An index that is not an orbital.
    #[error("line {line}: `{found}` is not an orbital; they go from 1 to NORB = {orbitals}, and 0 means none")]
    Index {
        /// Line, from 1.
        line: u64,
        /// What was found.
        found: String,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// Zeros where an orbital should be.
    #[error("line {line}: indices {indices:?} mean nothing: i j k l, i j 0 0, i 0 0 0 and 0 0 0 0 do")]
    Pattern {
        /// Line, from 1.
        line: u64,
        /// The indices as written.
        indices: [usize; 4],
    },
    /// Two values for one integral, with an end of a block between them.
    #[error(
        "lines {first} and {second} disagree on {name}, and 0 0 0 0 in line {core} ends what stands between them: a file that has blocks \
         for both spins needs IUHF=1 in its header"
    )]
    Blocks {
        /// Line of its earlier value.
        first: u64,
        /// Line of its later value.
        second: u64,
        /// Which integral.
        name: String,
        /// The line of the end.
        core: u64,
    },
    /// Two values for one integral.
    #[error("lines {first} and {second} disagree on {name}: {old} and {new}")]
    Conflict {
        /// Line of its earlier value.
        first: u64,
        /// Line of its later value.
        second: u64,
        /// Which integral.
        name: String,
        /// Its earlier value.
        old: String,
        /// Its later value.
        new: String,
    },
    /// No core energy.
    #[error(
        "the file ends in line {line} without a core energy (`value 0 0 0 0`), which every program writes: it seems \
         cut off; if it is whole, add `0.0 0 0 0 0`"
    )]
    Truncated {
        /// Line, from 1.
        line: u64,
    },
    /// An integral in a block of others.
    #[error(
        "line {line}: {name} in block {number} of an unrestricted file (IUHF=1), which has {expected}; the blocks are (ij|kl) of αα, ββ, αβ, h_ij \
         of α, of β, each ended by `0.0 0 0 0 0`, and the core energy: is a block missing, or are they in another order?"
    )]
    Block {
        /// Line, from 1.
        line: u64,
        /// Which integral.
        name: String,
        /// The block, from 1.
        number: usize,
        /// What is in it.
        expected: &'static str,
    },
    /// A number in the line that ends a block.
    #[error(
        "line {line}: {value} ends block {number}, {block}, of an unrestricted file (IUHF=1), expected `0.0 0 0 0 0`; the core energy comes \
         after five blocks: is one missing?"
    )]
    BlockEnd {
        /// Line, from 1.
        line: u64,
        /// What was found.
        value: String,
        /// The block, from 1.
        number: usize,
        /// What is in it.
        block: &'static str,
    },
    /// A file that ends within its blocks.
    #[error(
        "the file ends in line {line} after {ended} of the five blocks of an unrestricted file (IUHF=1), in that of {block}; each ends with \
         `0.0 0 0 0 0`, and the core energy follows: it seems cut off, or a block is missing"
    )]
    MissingBlocks {
        /// Line, from 1.
        line: u64,
        /// Blocks that have ended.
        ended: usize,
        /// What is in the next.
        block: &'static str,
    },
    /// More than the blocks of an unrestricted file.
    #[error(
        "line {line}: {name} after the core energy (line {core}), which is the last line of an unrestricted file (IUHF=1)"
    )]
    AfterCore {
        /// Line, from 1.
        line: u64,
        /// Which integral.
        name: String,
        /// Line of the core energy.
        core: u64,
    },
    /// Only a namelist.
    #[error("the namelist ends in line {line}, and no integrals follow")]
    NoIntegrals {
        /// Line, from 1.
        line: u64,
    },
}

impl FcidumpError {
    /// The same, with the file's name.
    pub(super) fn in_file(self, path: &Path) -> FcidumpError {
        FcidumpError::File { path: path.to_owned(), source: Box::new(self) }
    }
}
