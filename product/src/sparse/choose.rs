//! Chooses format and shape of a matrix by modelled bytes; [`FormatRanking::candidates`] are worth timing.
//!
//! In: a matrix, a request, a card. Out: layouts with their time by the bandwidths of memory and L2:
//!
//! t = max(bytes of the stored matrix, x and y / device memory, (those + 32-byte sectors of x gathered + windows of x
//! loaded to shared memory) / L2) + the cost of a block's stages.
//!
//! A sector holds the x of four columns, so neighbouring columns of a row share one; data in L1 is not gathered from L2.
//! The rates are the card's ([`eigenforge_runtime::machine`]); the cost of a stage was fitted on an H200, and other cards
//! are assumed to have its latencies. A hybrid's BOUNDARY is the number of non-zeros that every row has within a window
//! of x, the shortest row's length, or the longest's: with any other, ELLPACK stores padding that CSR would not.
//!
//! Where a matrix that caches do not hold has few distinct values, each layout is also a candidate with codes: a word of 32 bits for an
//! element, its column and the code of its value, in place of both.
//!
//! Half of a real symmetric matrix takes half of the bytes, but an atomic add per element: it is for a matrix that fits in no
//! other format, and is chosen automatically then or if the model predicts it to be faster.

use super::Csr;
use super::dictionary::Dictionary;
use super::hybrid::SYMMETRY;
use super::layout::{Format, Layout, PartLayout, RowCut, StorageKind, Target};
use super::statistics::RowStatistics;
use eigenforge_runtime::machine::Card;
use eigenforge_templates::ScalarType;
use eigenforge_templates::sparse::ColumnWord;
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Fractions of the card's rates that the kernels reach: gathers of x, whose neighbours share sectors, of scattered
/// gathers from L2 (5.6 TB/s on an H200), and the adds of half of a matrix of scattered ones (8e10 per second; 5.2e10 to
/// 1.2e11 on five matrices).
const OF_L2: f64 = 5.6e12 / Card::H200.l2_rate;
const OF_ATOMICS: f64 = 8e10 / Card::H200.atomic_rate;
/// Seconds that a window must save to be tried.
const WINDOW: f64 = 2e-6;
/// Seconds that a block waits at each stage of a window: its loads, the barrier at the end of the part, and lanes that
/// finish before others. On an H200 two windows of 28,352 columns took 16 µs more than their bytes, five of 20,960
/// columns 75 µs; eleven of 3,072 columns for eight vectors, where a block has all of its rows at once, 43 µs.
const STAGE: f64 = 9e-6;
const STAGE_OF_SEVERAL: f64 = 4e-6;
/// With fewer rows per multiprocessor than this, threads lack rows: blocks are large and a row has many lanes. 2,556 rows
/// of 137 non-zeros took 9.3, 7.1, 6.2 µs on an H200 with 80 blocks of 128, 256, 512 threads.
const SMALL_ROWS: u64 = 64;
/// Additional launches for half of a matrix compared with a whole one, in seconds of a launch: 12 µs on an H200.
const MORE_LAUNCHES: f64 = 3.0;
/// Allowance for the padding of sliced ELLPACK, which is not counted: one part in this many.
const PADDING: u64 = 16;
/// Bytes of a matrix that caches may hold: it is read no quicker with codes.
const CACHED: u64 = 1 << 25;
/// Bytes of a sector of L2.
const SECTOR: u64 = 32;
/// Windows that are tried for the columns of an ELLPACK part.
const WINDOWS: [u32; 5] = [2048, 4096, 8192, 16_384, 24_576];
/// Most rows of a block: their numbers have 15 bits.
const MOST_BLOCK_ROWS: u64 = 32_736;
/// Most columns of 16 bits.
const NARROW: u64 = 1 << 16;

/// A request for a format; `None` leaves the choice to the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormatRequest {
    /// Format.
    pub format: Option<FormatName>,
    /// Non-zeros of a row in the ELLPACK part of a hybrid.
    pub boundary: Option<u32>,
    /// Vectors multiplied at once.
    pub vectors: u32,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// Number type of the stored values.
    pub values: ScalarType,
}

/// A format without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatName {
    /// ELLPACK up to a boundary, the rest in compressed rows.
    Hybrid,
    /// Compressed sparse rows.
    Csr,
    /// ELLPACK by slices of 32 rows.
    SlicedEll,
    /// Leading columns in windows of x in shared memory.
    Panels,
    /// The upper triangle of a symmetric matrix only: half of the memory.
    Symmetric,
}

/// A format, or the one with the fewest modelled bytes.
pub type FormatChoice = Option<FormatName>;

impl FormatName {
    /// The choices by their names in model files, `--format` and reports.
    pub const WORDS: [(&'static str, FormatChoice); 6] = [
        ("auto", None),
        ("hybrid", Some(FormatName::Hybrid)),
        ("csr", Some(FormatName::Csr)),
        ("sliced-ell", Some(FormatName::SlicedEll)),
        ("panels", Some(FormatName::Panels)),
        ("symmetric", Some(FormatName::Symmetric)),
    ];
}

/// A choice as a word of reports: `#[serde(with = "format_choice")]`.
pub mod format_choice {
    use super::*;

    /// Writes the word.
    pub fn serialize<S: Serializer>(choice: &FormatChoice, serializer: S) -> Result<S::Ok, S::Error> {
        let word = FormatName::WORDS.iter().find(|(_, known)| known == choice);
        word.map_or("auto", |(word, _)| word).serialize(serializer)
    }

    /// Reads the word.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FormatChoice, D::Error> {
        let word = String::deserialize(deserializer)?;
        let found = FormatName::WORDS.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice);
        found.ok_or_else(|| de::Error::custom(format!("{word:?} is no format of a matrix")))
    }
}

impl Default for FormatRequest {
    fn default() -> FormatRequest {
        FormatRequest { format: None, boundary: None, vectors: 1, scalar: ScalarType::F64, values: ScalarType::F64 }
    }
}

/// A layout with its modelled cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its format.
    pub format: Format,
    /// Its shape.
    pub layout: Layout,
    /// Bytes of the stored matrix, by the model: padding of sliced ELLPACK is not counted.
    pub bytes: u64,
    /// Modelled milliseconds of one multiply.
    pub milliseconds: f64,
}

/// Layouts worth trying for a matrix, the fastest by the model first.
#[derive(Clone, Debug, PartialEq)]
pub struct FormatRanking {
    /// Layouts; never empty.
    pub candidates: Vec<Candidate>,
    /// Why the first one was chosen.
    pub reason: String,
}

impl FormatRanking {
    /// The layouts compatible with the request, ordered by the model.
    pub fn new(matrix: &Csr, statistics: &RowStatistics, target: Target, wish: FormatRequest) -> FormatRanking {
        let shape = Shape { matrix, statistics, target, wish };
        let mut candidates = shape.candidates();
        if matrix.bytes() > CACHED && Dictionary::new(matrix).is_some() {
            candidates.extend(shape.with_codes(&candidates));
        }
        candidates.sort_by(|a, b| a.milliseconds.total_cmp(&b.milliseconds));
        let least = if wish.format.is_none() { shape.retain_fitting(&mut candidates) } else { None };
        let reason = reason(&candidates, wish, least.as_ref());
        FormatRanking { candidates, reason }
    }

    /// Those with codes in place of values, which a matrix of many values has not: it is refused where it is stored.
    pub fn coded(matrix: &Csr, statistics: &RowStatistics, target: Target, wish: FormatRequest) -> FormatRanking {
        let shape = Shape { matrix, statistics, target, wish };
        let mut candidates = shape.with_codes(&shape.candidates());
        candidates.sort_by(|a, b| a.milliseconds.total_cmp(&b.milliseconds));
        let reason = reason(&candidates, wish, None);
        FormatRanking { candidates, reason }
    }

    /// The fastest by the model.
    pub fn best(&self) -> &Candidate {
        &self.candidates[0]
    }
}

impl Shape<'_> {
    /// The layouts of the request, columns beside values.
    fn candidates(&self) -> Vec<Candidate> {
        let (shape, wish) = (self, self.wish);
        let allowed = |name: FormatName| wish.format.is_none_or(|format| format == name);
        let mut candidates = vec![];
        if allowed(FormatName::Hybrid) {
            candidates.extend(shape.boundaries().into_iter().map(|boundary| shape.hybrid(boundary)));
        }
        if allowed(FormatName::Csr) {
            candidates.push(shape.single(Format::Csr, StorageKind::Csr));
        }
        if allowed(FormatName::SlicedEll) {
            candidates.push(shape.single(Format::SlicedEll, StorageKind::SlicedEll));
        }
        if allowed(FormatName::Panels) {
            candidates.extend(shape.panels(usize::MAX));
            if wish.vectors > 1 {
                // Windows are narrow then, and only the first may be worth its barrier.
                candidates.extend(shape.panels(1));
            }
        }
        if wish.format == Some(FormatName::Symmetric) {
            candidates.push(shape.half());
        }
        if candidates.is_empty() {
            // No window is worth it: the part after no windows is the whole matrix.
            candidates.push(shape.single(Format::Panels { width: 0, windows: 0 }, StorageKind::SlicedEll));
        }
        candidates
    }

    /// The same with codes in place of values; none of half of a matrix.
    fn with_codes(&self, candidates: &[Candidate]) -> Vec<Candidate> {
        candidates.iter().filter(|candidate| !candidate.layout.is_half()).map(|whole| self.coded(whole)).collect()
    }
}

/// The choice in words; `least` is the smallest candidate if only half of the matrix fits.
fn reason(candidates: &[Candidate], wish: FormatRequest, least: Option<&NoRoom>) -> String {
    let best = &candidates[0];
    if let Some(NoRoom { format, bytes, free }) = least {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        return format!(
            "{}: {:.3} ms by modelled bytes; {format}, the smallest of the other formats, takes {:.3} GiB, and {:.3} GiB are \
             free",
            best.format,
            best.milliseconds,
            gib(*bytes),
            gib(*free)
        );
    }
    let chosen = format!("{}: {:.3} ms by modelled bytes", best.format, best.milliseconds);
    let staged: u64 = best.layout.parts.iter().map(|part| u64::from(part.staged)).sum();
    let window = match staged {
        0 => "gathers of x come from L2".to_string(),
        columns => format!("gathers of {columns} columns come from shared memory"),
    };
    let coded = best.layout.parts.iter().any(|part| part.columns == ColumnWord::Coded32);
    let window = if coded { format!("codes in place of values; {window}") } else { window };
    let other = candidates.iter().find(|other| other.format.word() != best.format.word());
    let against = match (wish.format, other) {
        (Some(_), _) => ", as requested".into(),
        (None, Some(other)) => format!(", {} would take {:.3} ms", other.format, other.milliseconds),
        (None, None) => String::new(),
    };
    format!("{chosen} ({window}){against}")
}

/// The smallest candidate, if it does not fit either.
struct NoRoom {
    format: Format,
    bytes: u64,
    free: u64,
}

/// Seconds of the adds for half of a matrix, one per element of its triangle.
pub fn add_seconds(card: &Card, elements: u64) -> f64 {
    elements as f64 / (OF_ATOMICS * card.atomic_rate)
}

/// The inputs of layouts.
struct Shape<'a> {
    matrix: &'a Csr,
    statistics: &'a RowStatistics,
    target: Target,
    wish: FormatRequest,
}

impl Shape<'_> {
    /// Bytes per second of gathers of x from L2.
    fn l2_rate(&self) -> f64 {
        OF_L2 * self.target.card.l2_rate
    }

    /// Real parts of a number.
    fn parts(&self) -> u64 {
        self.matrix.parts() as u64
    }

    /// Bytes of a value.
    fn number_bytes(&self) -> u64 {
        self.parts() * self.wish.values.bytes() as u64
    }

    /// Bytes of x per column.
    fn column_bytes(&self) -> u64 {
        self.parts() * self.width() * self.wish.scalar.bytes() as u64
    }

    /// Bytes of the sums per row.
    fn row_bytes(&self) -> u64 {
        8 * self.parts() * self.width()
    }

    /// Numbers of interleaved x per row.
    fn width(&self) -> u64 {
        u64::from(self.wish.vectors).max(1).next_power_of_two()
    }

    /// Columns side by side in the banks of shared memory, which 8 lanes read in pieces of 16 bytes; a single vector is
    /// read in pieces of 8.
    fn residues(&self) -> u32 {
        if self.wish.vectors == 1 || self.parts() > 1 { 1 } else { (16 / self.width()).clamp(1, 8) as u32 }
    }

    /// The requested BOUNDARY, or those worth trying: what every row has within a window or at all, what a half and nine tenths of
    /// the rows do not exceed (zeros fill up the shorter ones), and the longest row.
    fn boundaries(&self) -> Vec<u32> {
        if let Some(boundary) = self.wish.boundary {
            return vec![boundary];
        }
        let within = |window: &u32| {
            let count = |row: usize| self.matrix.row(row).0.partition_point(|column| column < window) as u32;
            (0..self.statistics.rows).into_par_iter().map(count).min().unwrap_or(0)
        };
        let mut boundaries: Vec<u32> = WINDOWS.iter().map(within).collect();
        let [_, _, median, most, _] = self.statistics.percentiles;
        boundaries.extend([self.statistics.shortest, median, most, self.statistics.longest]);
        boundaries.sort_unstable();
        boundaries.dedup();
        // An empty ELLPACK part means CSR.
        boundaries.retain(|boundary| *boundary > 0 || self.statistics.longest == 0);
        boundaries
    }

    fn hybrid(&self, boundary: u32) -> Candidate {
        let last = |row: usize| {
            let columns = self.matrix.row(row).0;
            columns
                .get((boundary as usize).min(columns.len()).wrapping_sub(1))
                .map_or(0, |column| u64::from(*column) + 1)
        };
        let window = (0..self.statistics.rows).into_par_iter().map(last).max().unwrap_or(0);
        let tail = self.statistics.tail(boundary);
        let sums = 512 * self.row_bytes();
        let staged = window * self.column_bytes() + sums <= u64::from(self.target.card.shared_bytes) && window > 0;
        let staged_columns = if staged { window } else { 0 };
        let frame = self.frame(staged_columns);
        let mut parts = vec![self.part(&frame, RowCut::Entries(boundary), StorageKind::Ell, (0, window), staged, None)];
        if tail > 0 || self.statistics.non_zeros == 0 {
            let mean = tail as f64 / self.statistics.rows.max(1) as f64;
            parts.push(self.part(&frame, RowCut::End, StorageKind::Csr, self.all_rows(), false, Some(mean)));
        }
        self.candidate(Format::Hybrid { boundary }, parts, frame)
    }

    fn single(&self, format: Format, storage: StorageKind) -> Candidate {
        let frame = self.frame(0);
        let part = self.part(&frame, RowCut::End, storage, self.all_rows(), false, None);
        self.candidate(format, vec![part], frame)
    }

    /// Half of a symmetric matrix, one vector after the other.
    fn half(&self) -> Candidate {
        let upper = self.matrix.upper_triangle();
        let wish = FormatRequest { vectors: 1, ..self.wish };
        let shape = Shape { matrix: &upper, statistics: &RowStatistics::new(&upper), target: self.target, wish };
        let mut half = shape.single(Format::Symmetric, StorageKind::UpperCsr);
        // The integer sums are read and written like y.
        half.bytes += 8 * self.statistics.rows as u64;
        let seconds = 1e-3 * half.milliseconds + self.half_at_least(upper.non_zeros());
        half.milliseconds = 1e3 * f64::from(self.wish.vectors) * seconds;
        half
    }

    /// Minimum seconds for half of a matrix, from the elements of its triangle.
    fn half_at_least(&self, elements: u64) -> f64 {
        add_seconds(&self.target.card, elements) + MORE_LAUNCHES * self.target.card.launch_seconds
    }

    /// Removes candidates that do not fit in memory. Half of a symmetric matrix is added if nothing else fits (which is
    /// reported), or if it is faster.
    fn retain_fitting(&self, candidates: &mut Vec<Candidate>) -> Option<NoRoom> {
        let vector = self.matrix.vector_length() as u64 * self.wish.scalar.bytes() as u64;
        let vectors = 2 * u64::from(self.wish.vectors) * vector;
        let free = self.target.free_bytes.saturating_sub(vectors);
        let fits = |candidate: &Candidate| candidate.bytes + candidate.bytes / PADDING <= free;
        let room = candidates.iter().any(fits);
        if room {
            candidates.retain(fits);
        }
        if !self.matrix.kind().is_real() {
            return None;
        }
        let quickest = candidates[0].milliseconds;
        let at_best = 1e3 * f64::from(self.wish.vectors) * self.half_at_least(self.statistics.non_zeros / 2);
        if (room && at_best >= quickest) || self.matrix.check_symmetric(SYMMETRY).is_err() {
            return None;
        }
        let half = self.half();
        if room {
            let at = candidates.partition_point(|candidate| candidate.milliseconds <= half.milliseconds);
            candidates.insert(at, half);
            return None;
        }
        if !fits(&half) {
            return None;
        }
        let least = candidates.iter().min_by_key(|candidate| candidate.bytes);
        let told = least.map(|least| NoRoom { format: least.format, bytes: least.bytes, free });
        *candidates = vec![half];
        told
    }

    /// At most `most` windows from the left, as long as each saves more L2 traffic than loading it to every block costs.
    fn panels(&self, most: usize) -> Option<Candidate> {
        let blocks = u64::from(self.target.card.multiprocessors);
        let rows = self.statistics.rows as u64;
        let warp = self.warp();
        // Rows of a block follow from sharing out the non-zeros; shared memory not used by its sums is the window.
        let cap = (rows.div_ceil(blocks) * 2).next_multiple_of(warp).clamp(warp, MOST_BLOCK_ROWS) as u32;
        let (blocks, cap) = if self.wish.vectors == 1 {
            (blocks, cap)
        } else {
            // All rows of a block at once, each with its lanes: then no warp waits for another's second round.
            let lanes = (self.width() / 2).max(1);
            let once = (1024 / lanes).min(rows.div_ceil(blocks).next_multiple_of(warp)).max(warp);
            (rows.div_ceil(once).max(1), once as u32)
        };
        let even =
            Layout { warp: self.target.warp, parts: vec![], threads: 1024, blocks: blocks as u32, most_rows: cap };
        let block_start = even.block_start(self.matrix);
        let longest = block_start.windows(2).map(|pair| u64::from(pair[1] - pair[0])).max()?;
        let most_rows = longest.next_multiple_of(warp);
        let scratch = 256 * u64::from(self.wish.vectors) + 768;
        let left = u64::from(self.target.card.shared_bytes).checked_sub(most_rows * self.row_bytes() + scratch)?;
        let width = (left / self.column_bytes()).min(NARROW).min(rows.next_multiple_of(warp)) / warp * warp;
        if width == 0 || width < rows.min(1024) {
            return None;
        }
        let starts = rows.div_ceil(width) as usize;
        let counts = self.count_columns(width, starts);
        let saves = |(window, count): &(usize, &u64)| {
            let columns = width.min(rows - *window as u64 * width);
            let bytes = (blocks * columns * self.column_bytes()) as f64 / self.l2_rate();
            **count as f64 * self.column_bytes().max(SECTOR) as f64 / self.l2_rate() > 2.0 * bytes + WINDOW
        };
        let windows = counts.iter().enumerate().take(most).take_while(saves).count() as u32;
        if windows == 0 {
            return None;
        }
        let width = width as u32;
        let (blocks, most_rows) = (blocks as u32, most_rows as u32);
        let frame = Frame { threads: 1024, blocks, most_rows, usual_rows: most_rows, resident: 1 };
        let several = self.wish.vectors > 1;
        let storage = |mean: f64| if mean >= 64.0 && !several { StorageKind::Csr } else { StorageKind::SlicedEll };
        let mut parts: Vec<PartLayout> = (0..windows)
            .map(|window| {
                let first = u64::from(window) * u64::from(width);
                let end = (first + u64::from(width)).min(rows);
                let mean = counts[window as usize] as f64 / rows as f64;
                self.part(&frame, RowCut::Column(end as u32), storage(mean), (first, end), true, Some(mean))
            })
            .collect();
        let rest: u64 = counts[windows as usize..].iter().sum();
        if rest > 0 {
            let (first, mean) = (u64::from(windows) * u64::from(width), rest as f64 / rows as f64);
            parts.push(self.part(&frame, RowCut::End, storage(mean), (first, rows), false, Some(mean)));
        }
        Some(self.candidate(Format::Panels { width, windows }, parts, frame))
    }

    /// Non-zeros in each window of `width` columns.
    fn count_columns(&self, width: u64, windows: usize) -> Vec<u64> {
        let zeros = || vec![0u64; windows];
        let count = |mut counts: Vec<u64>, columns: &[u32]| {
            columns.iter().for_each(|column| counts[(u64::from(*column) / width) as usize] += 1);
            counts
        };
        let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
        self.matrix.columns().par_chunks(1 << 20).fold(zeros, count).reduce(zeros, add)
    }

    /// Lanes of a warp, and so rows of a slice with a lane per row.
    fn warp(&self) -> u64 {
        self.target.warp.lanes().into()
    }

    fn all_rows(&self) -> (u64, u64) {
        (0, self.statistics.rows as u64)
    }

    /// Threads and blocks for a window of this many columns.
    fn frame(&self, staged: u64) -> Frame {
        let (shared, rows) = (u64::from(self.target.card.shared_bytes), self.statistics.rows as u64);
        let window = staged * self.column_bytes();
        let resident = match rows < SMALL_ROWS * u64::from(self.target.card.multiprocessors) {
            true => 1,
            false => (shared / (window + 512 * self.row_bytes()).max(1)).clamp(1, 4),
        };
        let warp = self.warp();
        let threads = (1024 / resident / warp * warp) as u32;
        let multiprocessors = u64::from(self.target.card.multiprocessors);
        let few = resident == 1 && staged == 0;
        // Blocks of few rows have many lanes per row, and so narrow slices.
        let granule = if few { 4 } else { warp };
        let even = rows.div_ceil(multiprocessors * resident).next_multiple_of(granule).max(granule);
        // Without a window, more and smaller blocks cost nothing; with one, each block loads it again.
        let room = (shared / resident).saturating_sub(window + 2048) / self.row_bytes() / warp * warp;
        let (most_rows, blocks) = match (few, staged) {
            // One block per multiprocessor, with equal shares; one more would need a second round.
            (true, _) => ((2 * even).next_multiple_of(warp), multiprocessors.min(rows.div_ceil(granule))),
            (_, 0) => (even.min(512), rows.div_ceil(256.min(even))),
            _ => {
                let most_rows = (even * 5 / 4).next_multiple_of(warp).min(room.max(warp));
                (most_rows, rows.div_ceil(even.min(most_rows)))
            }
        };
        // Lanes by the usual rows of a block, not the most it may have.
        let usual_rows = if few { even } else { most_rows };
        Frame {
            threads: threads.clamp(warp as u32, 1024),
            blocks: blocks.max(1) as u32,
            most_rows: most_rows.clamp(warp, MOST_BLOCK_ROWS) as u32,
            usual_rows: usual_rows.max(1) as u32,
            resident: resident as u32,
        }
    }

    /// A part of the columns `from..end`, with lanes for rows of `mean` non-zeros.
    fn part(
        &self,
        frame: &Frame,
        cut: RowCut,
        storage: StorageKind,
        (from, end): (u64, u64),
        staged: bool,
        mean: Option<f64>,
    ) -> PartLayout {
        let mean = match (cut, mean) {
            (RowCut::Entries(boundary), _) => f64::from(boundary).min(f64::from(self.statistics.longest)),
            (_, Some(mean)) => mean,
            (_, None) => self.statistics.mean,
        };
        let (lanes, pack) = self.lanes_and_pack(storage, mean, frame);
        let narrow = end - from <= NARROW;
        PartLayout {
            cut,
            storage,
            columns: if narrow { ColumnWord::Absolute16 } else { ColumnWord::Absolute32 },
            lanes,
            pack,
            first_column: from as u32,
            staged: if staged { (end - from) as u32 } else { 0 },
            shared_by_pairs: !staged,
            residues: if staged { self.residues() } else { 1 },
        }
    }

    /// A candidate with codes in place of values.
    fn coded(&self, candidate: &Candidate) -> Candidate {
        let Layout { ref parts, threads, blocks, most_rows, .. } = candidate.layout;
        let coded = |part: &PartLayout| PartLayout { columns: ColumnWord::Coded32, ..*part };
        let resident = (1024 / threads).max(1);
        let frame = Frame { threads, blocks, most_rows, usual_rows: most_rows, resident };
        self.candidate(candidate.format, parts.iter().map(coded).collect(), frame)
    }

    /// The model.
    fn candidate(&self, format: Format, mut parts: Vec<PartLayout>, frame: Frame) -> Candidate {
        let (card, rows) = (&self.target.card, self.statistics.rows as u64);
        let Frame { threads, blocks, most_rows, resident, .. } = frame;
        let layout =
            |parts: &[PartLayout]| Layout { warp: self.target.warp, parts: parts.to_vec(), threads, blocks, most_rows };
        for number in 0..parts.len() {
            let part = parts[number];
            // Steps of 16 bits if all of them fit, and if each lane has enough of them to pay for its base.
            let per_lane = self.statistics.mean / f64::from(part.lanes);
            let wide = part.columns == ColumnWord::Absolute32;
            let steps = part.staged == 0 && part.storage != StorageKind::UpperCsr;
            if wide && per_lane >= 8.0 && steps && self.steps_fit(&layout(&parts), number) {
                parts[number].columns = ColumnWord::Delta16;
            }
        }
        let layout = layout(&parts);
        let (mut bytes, mut sectors) = (0u64, 0.0);
        let staged: u64 = parts.iter().map(|part| u64::from(part.staged)).sum();
        let widest: u64 = parts.iter().map(|part| u64::from(part.staged)).max().unwrap_or(0);
        let x_bytes = rows * self.column_bytes();
        let shared = u64::from(resident) * (widest * self.column_bytes() + u64::from(most_rows) * self.row_bytes());
        // The matrix passes through L1 too, but is marked as read once.
        let missed = (1.0 - (card.l1_bytes as f64 - shared as f64).max(0.0) / (x_bytes as f64).max(1.0)).max(0.1);
        for (number, part) in parts.iter().enumerate() {
            let (stored, touched) = self.count(&layout, number);
            let lane_bases = if part.columns == ColumnWord::Delta16 { 4 * u64::from(part.lanes) * rows } else { 0 };
            let tables = match part.storage {
                StorageKind::Ell => 0,
                StorageKind::SlicedEll => 2 * rows + rows * u64::from(part.lanes) / 8,
                StorageKind::Csr | StorageKind::UpperCsr => 4 * rows,
            };
            let value = if part.columns == ColumnWord::Coded32 { 0 } else { self.number_bytes() };
            bytes += stored * (value + part.columns.bytes()) + tables + lane_bases;
            if part.staged == 0 {
                sectors += touched as f64 * missed;
            }
        }
        let through_memory = (bytes + 2 * x_bytes) as f64;
        let windows = (u64::from(blocks) * staged * self.column_bytes()) as f64;
        let through_l2 = through_memory + sectors * SECTOR as f64 + windows;
        let waves = f64::from(blocks) / f64::from(self.target.card.multiprocessors * resident);
        let stages = parts.iter().filter(|part| part.staged > 0).count() as f64 * waves.max(1.0);
        let stage = if self.wish.vectors == 1 { STAGE } else { STAGE_OF_SEVERAL };
        let seconds = (through_memory / card.memory_rate).max(through_l2 / self.l2_rate()) + stages * stage;
        Candidate { format, layout, bytes, milliseconds: 1e3 * seconds }
    }

    /// Elements stored in a part, including padding of packs and of ELLPACK, and sectors of x that its rows touch.
    fn count(&self, layout: &Layout, number: usize) -> (u64, u64) {
        let part = &layout.parts[number];
        let a_sector = (SECTOR / self.column_bytes()).max(1) as u32;
        let sectors_each = (self.column_bytes() / SECTOR).max(1);
        let of_row = |row: usize| {
            let columns = self.matrix.row(row).0;
            let columns = &columns[layout.range(columns, number)];
            let apart = columns.windows(2).filter(|pair| pair[0] / a_sector != pair[1] / a_sector).count() as u64;
            let touched = if columns.is_empty() { 0 } else { apart + 1 };
            let step = match part.storage {
                StorageKind::Csr | StorageKind::UpperCsr => part.pack,
                StorageKind::Ell | StorageKind::SlicedEll => part.pack * part.lanes,
            };
            (columns.len().next_multiple_of(step as usize) as u64, touched * sectors_each)
        };
        let rows = (0..self.statistics.rows).into_par_iter().map(of_row);
        let (stored, touched, widest) = rows
            .map(|(stored, touched)| (stored, touched, stored))
            .reduce(|| (0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2.max(b.2)));
        (if part.storage == StorageKind::Ell { widest * self.statistics.rows as u64 } else { stored }, touched)
    }

    /// As many lanes as leave each a few loads, and fill the block's threads with its rows.
    fn lanes_and_pack(&self, storage: StorageKind, mean: f64, frame: &Frame) -> (u32, u32) {
        let (wish, warp) = (self.wish, self.target.warp.lanes());
        let wide = (16 / self.number_bytes()).max(1) as u32;
        let pack = if mean >= 12.0 * f64::from(wide) { wide } else { 1 };
        let loads = 4.0;
        let long_enough = (mean / (loads * f64::from(pack))).max(1.0) as u32;
        let by_length = (1 << long_enough.ilog2()).min(warp);
        let rows = frame.usual_rows.max(1);
        let by_rows = (frame.threads / rows).max(1).next_power_of_two().min(warp);
        let lanes: u32 = match storage {
            // One lane per row is coalesced for slices; CSR needs neighbouring lanes on one row for that.
            StorageKind::Csr | StorageKind::UpperCsr => by_length.max(by_rows).max(2),
            StorageKind::SlicedEll => by_rows.min(by_length.max(1)).max(if mean >= 256.0 { 8 } else { 1 }),
            StorageKind::Ell => by_rows.max(if mean >= 64.0 { 8 } else { 1 }).min(by_length.max(1)),
        };
        // A lane for each pair of vectors.
        let several = if self.parts() == 1 { wish.vectors } else { 1 };
        let pairs = (several.max(1).next_power_of_two() / 2).max(1);
        (lanes.clamp(pairs, warp), pack)
    }

    /// Whether every step of a lane fits 16 bits.
    fn steps_fit(&self, layout: &Layout, number: usize) -> bool {
        let part = &layout.parts[number];
        let stride = ((part.lanes - 1) * part.pack + 1) as usize;
        (0..self.statistics.rows).into_par_iter().all(|row| {
            let columns = self.matrix.row(row).0;
            let columns = &columns[layout.range(columns, number)];
            let far = |(from, to): (&u32, &u32)| to - from > u32::from(u16::MAX);
            !columns.iter().zip(columns.iter().skip(stride)).any(far)
        })
    }
}

/// Threads and blocks of a layout.
#[derive(Clone, Copy)]
struct Frame {
    threads: u32,
    blocks: u32,
    most_rows: u32,
    /// Rows of most blocks.
    usual_rows: u32,
    /// Blocks that a multiprocessor holds at once.
    resident: u32,
}
