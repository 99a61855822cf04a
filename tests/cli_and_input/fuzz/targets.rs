//! What is fuzzed: the valid files of each reader, and how it is called on a folder in which one of them was changed.

use super::super::gallery::root;
use eigenforge::ci::{AbelianGroup, FcidumpHeader, Integrals, OneElectron, Orbsym, Space, SymmetryKeys};
use eigenforge::input::{InputFile, MatrixSource};
use eigenforge::runtime::jit::{Cache, CacheFolder, Overrides, Settings};
use eigenforge::runtime::tune::{Choice, Choices, Conditions};
use eigenforge::sparse::Triangle;
use eigenforge::su3::{
    ByChannel, Direction, Factors, H2Version, LabelTable, Plan, TableCache, TensorFormat, TensorKind, open_interaction,
};
use eigenforge_su3::{Coupler, Irrep};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Makes the bytes of a file agree with what it says of itself.
type Seal = fn(&[u8]) -> Vec<u8>;
/// Reads a folder, one of whose files was changed.
type Reader = Box<dyn Fn(&Path, &Path)>;
/// A target by name.
type Named = (&'static str, fn() -> Target);

/// Files, and what reads them.
pub struct Target {
    /// Valid files; one of them is changed in each case.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Computes again what a file says of itself, so that changes reach what lies behind a seal.
    pub seal: Option<Seal>,
    /// Reads the folder, one of whose files was changed.
    pub read: Reader,
}

fn target(files: Vec<(PathBuf, Vec<u8>)>, read: impl Fn(&Path, &Path) + 'static) -> Target {
    Target { files, seal: None, read: Box::new(read) }
}

/// All of them, by name.
pub const ALL: [Named; 16] = [
    ("models", || target(models(), |_, file| drop(InputFile::read(file)))),
    // Texts, [[term]], [[forbid]] and lists of other programs, with their counts.
    ("own models", || target(own_models(), |_, file| drop(InputFile::read(file)))),
    ("fcidump", || {
        target(fcidumps(), |_, file| {
            drop(FcidumpHeader::read(file));
            drop(Integrals::read(file));
            let group = Some(AbelianGroup::C2v);
            drop(Integrals::read_with(file, SymmetryKeys { orbsym: Orbsym::Pyscf, point_group: group }));
        })
    }),
    ("dipole", || target(vec![text("dipole", DIPOLE)], |_, file| drop(OneElectron::<f64>::read(file, 2)))),
    ("determinants", || target(vec![text("determinants.txt", DETERMINANTS)], |_, file| drop(Space::from_file(file)))),
    ("matrix market", || {
        target(matrices(), |_, file| drop(MatrixSource::MatrixMarket(file.into()).read(Triangle::Full)))
    }),
    ("npz", || target(archives(), |_, file| drop(MatrixSource::Npz(file.into()).read(Triangle::Full)))),
    ("npz members", npz_members),
    ("interactions", interactions),
    ("strengths", || {
        let files = vec![table("jisp16_hw20_N2_C.csv", 400)];
        target(files, |_, file| read_interaction(file, Direction::Inverse))
    }),
    ("coefficients", || {
        target(vec![labels("su3_reference.csv", 12)], |_, file| drop(LabelTable::of_coefficients(file, 1 << 20)))
    }),
    ("symbols", || target(vec![labels("wigner6j9j.csv", 40)], |_, file| drop(LabelTable::of_symbols(file)))),
    ("overrides", || target(overrides(), |folder, _| drop(Overrides::read(folder)))),
    ("tuned choices", tuned),
    ("kernel cache", kernel_cache),
    ("coefficient cache", coefficient_cache),
];

/// Readers that do what none should, to try the guards.
pub const GUARDS: [Named; 5] = [
    ("guard: panics", || guard(|_, _| panic!("on purpose"))),
    ("guard: aborts", || guard(|_, _| std::process::abort())),
    ("guard: hangs", || guard(|_, _| std::thread::sleep(std::time::Duration::from_secs(60)))),
    ("guard: eats memory", || guard(|_, _| drop(std::hint::black_box(vec![1u8; 400 << 20])))),
    ("guard: asks for too much", || guard(|_, _| drop(std::hint::black_box(vec![1u8; 8 << 30])))),
];

fn guard(read: fn(&Path, &Path)) -> Target {
    target(vec![text("file", "1\n")], read)
}

fn text(name: &str, text: &str) -> (PathBuf, Vec<u8>) {
    (name.into(), text.as_bytes().to_vec())
}

fn files_of(folder: &str, ending: &str, longest: usize) -> Vec<(PathBuf, Vec<u8>)> {
    let listing = std::fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = listing.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let wanted = paths.into_iter().filter(|path| path.extension().is_some_and(|found| found == ending));
    let read = |path: PathBuf| (PathBuf::from(path.file_name().unwrap()), std::fs::read(&path).unwrap());
    wanted.map(read).filter(|(_, bytes)| bytes.len() <= longest).collect()
}

fn models() -> Vec<(PathBuf, Vec<u8>)> {
    let mut models = files_of("examples", "toml", 1 << 16);
    assert!(models.len() > 8);
    models.push(text("force.toml", FORCE));
    models
}

fn own_models() -> Vec<(PathBuf, Vec<u8>)> {
    let models = files_of("examples/models", "toml", 4_000);
    assert!(models.len() > 20);
    models
}

fn fcidumps() -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = files_of("tests/data/ci", "FCIDUMP", 6_000);
    assert!(files.len() > 1);
    let body = "4.0 1 1 1 1\n-1.0D0 2 1 0 0\n1.0-100 2 2 0 0\n0 0 0 0 0\n";
    files.push(text("model", &format!("&FCI NORB=2,NELEC=2,MS2=0,ORBSYM=2*1 /\n{body}")));
    files.push(text("psi4", &format!("\u{feff}&FCI\nNORB=2,\nNELEC=2,\nORBSYM=1,4,\nPNTGRP=C2V,\n&END\n{body}")));
    let indexed = format!("&FCI NORB=2,NELEC=2,ORBSYM(1)=0,ORBSYM(2)=11,ISYM=1&END\n{body}");
    files.push(("packed.gz".into(), gzip(indexed.as_bytes())));
    files
}

/// A gzip file of one stored block (RFC 1951, 1952).
fn gzip(text: &[u8]) -> Vec<u8> {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    };
    let crc = !text.iter().fold(u32::MAX, step);
    let length = text.len() as u16;
    let mut bytes = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01".to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend((!length).to_le_bytes());
    bytes.extend_from_slice(text);
    bytes.extend(crc.to_le_bytes());
    bytes.extend(u32::from(length).to_le_bytes());
    bytes
}

const DIPOLE: &str = "-0.5 1 1 0 0\n0.25D0 2 1 0 0\n1.75 0 0 0 0\n3.0 2 2 0 0\n0.0 0 0 0 0\n-1 0 0 0 0\n";
const DETERMINANTS: &str = "# three\n# determinants = 3\n1100 1010\n0110 1010 # again\n\n0011 0101\n";
const FORCE: &str = "[force]\nhw = 20.0\nminnesota = { u = 1.0 }\ncentral = [{ strength = -50.0, range = 1.5, majorana = \
                     0.5 }]\ntensor = [{ strength = 3.5e1, range = 0.9 }]\n";

fn matrices() -> Vec<(PathBuf, Vec<u8>)> {
    let head = "%%MatrixMarket matrix coordinate";
    vec![
        text("real.mtx", &format!("{head} real general\n% c\n3 3 4\n1 1 1.5\n2 1 -2D0\n1 2 -2.0e0\n3 3 1\n")),
        text("integer.mtx", &format!("{head} integer symmetric\n4 4 3\n1 1 7\n3 1 -2\n4 4 1\n")),
        text("unsigned.mtx", &format!("{head} unsigned-integer general\n%\n2 2 2\n1 2 88\n2 1 88\n")),
        ("packed.mtx.gz".into(), gzip(format!("{head} real symmetric\n2 2 2\n1 1 1.0D+00\n2 2 1.0-103\n").as_bytes())),
        text("pattern.mtx", &format!("{head} pattern symmetric\n40 40 2\n1 1\n30 2\n")),
    ]
}

/// Arrays of a small symmetric matrix: name, type, shape, bytes.
fn arrays() -> Vec<(&'static str, String, Vec<u8>)> {
    let header =
        |descr: &str, shape: &str| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let integers = |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let reals = [2.0f64, -1.0, -1.0, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    vec![
        ("shape", header("<i8", "(2,)"), [2i64, 2].iter().flat_map(|value| value.to_le_bytes()).collect()),
        ("format", header("|S3", "()"), b"csr".to_vec()),
        ("indptr", header("<i4", "(3,)"), integers(&[0, 2, 4])),
        ("indices", header("<i4", "(4,)"), integers(&[0, 1, 0, 1])),
        ("data", header("<f8", "(4,)"), reals),
    ]
}

fn archive(arrays: &[(&'static str, String, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let method = if deflated { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    for (name, header, bytes) in arrays {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
        zip.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        zip.write_all(header.as_bytes()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn archives() -> Vec<(PathBuf, Vec<u8>)> {
    [("stored.npz", false), ("deflated.npz", true)].map(|(name, how)| (name.into(), archive(&arrays(), how))).into()
}

/// The members of an archive, changed before they are packed, with sums and lengths of the archive in order.
fn npz_members() -> Target {
    let files =
        arrays().into_iter().map(|(name, header, bytes)| (PathBuf::from(name), [header.as_bytes(), &bytes].concat()));
    target(files.collect(), |folder, changed| {
        let mut arrays = arrays();
        let name = changed.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(changed).unwrap();
        let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        let array = arrays.iter_mut().find(|(array, ..)| *array == name).unwrap();
        array.1 = String::from_utf8_lossy(&bytes[..end]).into_owned();
        array.2 = bytes[end..].to_vec();
        let file = folder.join("packed.npz");
        std::fs::write(&file, archive(&arrays, true)).unwrap();
        drop(MatrixSource::Npz(file).read(Triangle::Full));
    })
}

fn plan() -> Plan {
    Plan::new(eigenforge::su3::OscillatorSpace { n_max: 0 })
}

fn read_interaction(file: &Path, direction: Direction) {
    let plan = plan();
    if let Ok(source) = open_interaction(file, &plan, direction, &TableCache::off()) {
        drop(ByChannel::of_source(&plan, &*source));
    }
}

/// The first lines of a table of the repository.
fn table(name: &str, lines: usize) -> (PathBuf, Vec<u8>) {
    let text = std::fs::read_to_string(root().join("tests/data/su3").join(name)).unwrap();
    (name.into(), text.split_inclusive('\n').take(lines).collect::<String>().into_bytes())
}

fn labels(name: &str, lines: usize) -> (PathBuf, Vec<u8>) {
    let text = std::fs::read_to_string(root().join("su3/tests/data").join(name)).unwrap();
    let kept: String = text.split_inclusive('\n').take(1 + lines).collect();
    (name.into(), format!("# rows = {lines}\n{kept}").into_bytes())
}

/// Every format in which two-body elements come, of the smallest space.
fn interactions() -> Target {
    let plan = plan();
    let force = root().join("tests/data/su3/jisp16_Nmax02_h2v15099.dat");
    let source = open_interaction(&force, &plan, Direction::Forward, &TableCache::off()).unwrap();
    let numbers = ByChannel::of_source(&plan, &*source).unwrap();
    let mut files = Vec::new();
    let mut write = |format: TensorFormat, name: String| {
        let mut bytes = Vec::new();
        format.write(&mut bytes, Path::new(&name), &plan, TensorKind::Elements, &numbers).unwrap();
        files.push((name.into(), bytes));
    };
    for version in H2Version::ALL {
        for ending in ["dat", "bin"] {
            write(TensorFormat::H2(version), format!("h2-{}.{ending}", version.number()));
        }
    }
    for ending in ["me2j", "me2j.gz", "me2j.bin"] {
        write(TensorFormat::Me2j, format!("elements.{ending}"));
    }
    write(TensorFormat::Binary, "elements.bin".into());
    write(TensorFormat::Labels, "elements.csv".into());
    files.push(relative());
    files.push(text("force.toml", FORCE));
    files.push(("relative.gz".into(), gzip(&relative().1)));
    files.push(text("centre.dat", "# RELATIVE-CM LSJT\n1\n0 0 0 0 0\n2\n0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 1 0 1.0\n"));
    files.push(text("model.snt", "! model space\n 1 1 0 0\n 1 0 0 1 -1\n 2 0 0 1 1\n! interaction\n 2 0\n"));
    target(files, |_, file| read_interaction(file, Direction::Forward))
}

/// A file of relative motion with the elements up to N_max = 2, J_max = 1.
pub fn relative() -> (PathBuf, Vec<u8>) {
    let source = std::fs::read_to_string(root().join("tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat")).unwrap();
    let mut kept = String::new();
    let mut headers = 0;
    for line in source.split_inclusive('\n') {
        let words: Vec<i64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let comment = line.starts_with('#');
        if comment || headers < 2 {
            kept += line;
        } else if headers == 2 {
            kept += "2 1\n";
        } else if words.len() >= 11 && words[1].max(words[6]) <= 2 && words[4] <= 1 {
            kept += line;
        }
        headers += usize::from(!comment);
    }
    ("relative.dat".into(), kept.into_bytes())
}

fn overrides() -> Vec<(PathBuf, Vec<u8>)> {
    let kernel = "extern \"C\" __global__ void k(double *y, const double *x) { y[0] = x[0]; }\n";
    let plan = format!(
        "// generated by eigenforge 0.1.0, blake3 of the text {}. Edit the .cu; this file says what it was.\n(plan: 1)\n",
        blake3::hash(kernel.as_bytes()).to_hex()
    );
    vec![text("k.cu", kernel), text("k.ron", &plan)]
}

fn settings(folder: &Path) -> Settings {
    let mut settings = Settings::from_env().unwrap();
    settings.cache = CacheFolder::At(folder.join("cache"));
    settings
}

fn tuned() -> Target {
    let conditions = || Conditions {
        problem: "abc".into(),
        device: "a card".into(),
        driver: "13.0".into(),
        generator: "0.1.0".into(),
    };
    let choice = Choice {
        conditions: conditions(),
        name: "a problem".into(),
        shape: "(threads: 256)".into(),
        milliseconds: 1.5,
        rule_milliseconds: 2.0,
        tried: vec![("one".into(), 2.0), ("two".into(), 1.5)],
    };
    let folder = tempfile::tempdir().unwrap();
    let path = Choices::open(&settings(folder.path())).keep(&choice).unwrap().unwrap();
    let name = path.strip_prefix(folder.path()).unwrap().to_path_buf();
    target(vec![(name, std::fs::read(&path).unwrap())], move |folder, _| {
        drop(Choices::open(&settings(folder)).find(&conditions()));
    })
}

/// One sealed record, and the files that it names.
fn kernel_cache() -> Target {
    let (source, log) = ("// a kernel\n", "");
    let file = |name: &str, text: &str| {
        let hash = blake3::hash(text.as_bytes()).to_hex();
        format!("(name: \"{name}\", bytes: {}, blake3: \"{hash}\")", text.len())
    };
    let record = format!(
        "(schema: 1, key: \"{}\", name: \"k\", arch: (90), nvrtc: (13, 0), build: \"b\", failed: true, files: [{}, {}])",
        "0123456789abcdef".repeat(4),
        file("kernel.cu", source),
        file("log.txt", log)
    );
    let folder = Path::new("cache/0123456789abcdef-k-sm_90");
    let files = [
        ("entry.ron", String::from_utf8(sealed(record.as_bytes())).unwrap().as_str()),
        ("kernel.cu", source),
        ("log.txt", log),
    ]
    .map(|(name, text)| (folder.join(name), text.as_bytes().to_vec()));
    let read = |folder: &Path, _: &Path| {
        let cache = Cache::open(&settings(folder));
        drop(cache.list());
        drop(cache.verify());
    };
    Target { files: files.into(), seal: Some(sealed), read: Box::new(read) }
}

/// A record with its hash behind it, in place of the one that it has.
fn sealed(record: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(record);
    let text = text.split("\n// blake3 ").next().unwrap_or_default();
    format!("{text}\n// blake3 {}\n", blake3::hash(text.as_bytes()).to_hex()).into_bytes()
}

fn coefficient_cache() -> Target {
    let factors = || vec![Factors { irreps: [Irrep::new(2, 1), Irrep::new(1, 0)], l3_max: 1 }];
    let folder = tempfile::tempdir().unwrap();
    let cache = TableCache::new(folder.path().into(), u64::MAX);
    cache.tables("w0-1", &Coupler::new(), &factors());
    let path = cache.list().unwrap().remove(0).path;
    let file = (PathBuf::from(path.file_name().unwrap()), std::fs::read(&path).unwrap());
    target(vec![file], move |folder, _| {
        let cache = TableCache::new(folder.into(), u64::MAX);
        drop(cache.verify());
        drop(cache.tables("w0-1", &Coupler::new(), &factors()));
    })
}
