//! kernels_generated/: model, operator, plan, text and budget of each reference problem, held up to date.
//!
//! A folder with a model.toml is a problem; beside it stand ir.ron, and the plan and the text of its multiply. One with a
//! molecule.toml is a stored matrix, or CI without one, whose operator is the FCIDUMP file it names: plan and text only. So it is
//! of one with a space.toml, a transformation into SU(3) tensors: the chain of products, the coefficients, the published sum. One
//! with a chain.toml is DMRG, whose texts know no chain: operation records, Davidson's method, eigenvectors of sectors. The fused
//! LOBPCG update is the same for every problem and has a folder of its own. For the problems of [`SINGLE`] and the update
//! the single-precision texts stand there too. budget.toml says what each kernel may take on sm_90; it is checked where
//! NVRTC and nvdisasm are (`cargo xtask setup`). `UPDATE_EXPECT=1 cargo test --release --test cli_and_input kernels` writes
//! everything anew.

use super::budget::{BLESS, Budget, exceeded, measured, table, verdict};
use super::gallery::root;
use eigenforge::ci::{self, DirectFullCi, Molecule, OnTheFly};
use eigenforge::dmrg::resident;
use eigenforge::exact::{KernelFootprint, OperatorIr, footprints};
use eigenforge::input::{InputFile, ModelFile, StorageChoice};
use eigenforge::runtime::jit::{Arch, CacheFolder, Disassembler, Jit, Settings};
use eigenforge::runtime::testing;
use eigenforge::sparse::{Choice, FormatName, RowStatistics, Stored, Target, Wish};
use eigenforge::su3;
use eigenforge::su3::device::{DeviceCoefficients, DevicePaper, DeviceTransform};
use eigenforge_templates::exact::{GeneralPlan, KroneckerPlan};
use eigenforge_templates::sparse::SparsePlan;
use eigenforge_templates::{KernelText, Launch, ScalarType};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Problems whose multiply is kept in single precision too: one of each structure.
const SINGLE: [&str; 2] = ["hubbard_4x4_paper", "heisenberg_triangular"];
/// Problems whose averages are kept: fermions, spins of one bit and of two.
const AVERAGED: [&str; 3] = ["hubbard_4x4_paper", "heisenberg_triangular", "spin_one_chain"];
/// What their names begin with.
const AVERAGES: &str = "averages";
/// The folder of the text that all problems share, which is its kernel's name too.
const UPDATE: &str = "lobpcg_update";
/// The architecture of the budgets.
const ARCH: Arch = Arch(90);

fn blessing() -> bool {
    std::env::var("UPDATE_EXPECT").is_ok_and(|value| value == "1")
}

/// One text of a folder.
struct Text {
    /// File name without its ending; tables of the budget start with it.
    stem: String,
    /// File name of its plan.
    plan: String,
    text: KernelText,
    launches: Vec<Launch>,
}

/// What one folder holds, beside its budget: (file name, content), and the texts.
struct Folder {
    path: PathBuf,
    files: Vec<(String, String)>,
    texts: Vec<Text>,
}

fn gallery() -> PathBuf {
    root().join("kernels_generated")
}

fn model_of(folder: &Path) -> eigenforge::exact::Model {
    ModelFile::read(&folder.join("model.toml")).unwrap().to_model().unwrap()
}

/// The folders that hold such a file, by name.
fn folders_with(file: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(gallery()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.join(file).exists()).collect();
    folders.sort();
    folders
}

/// Every problem's folder.
fn problems() -> Vec<PathBuf> {
    folders_with("model.toml")
}

/// The multiply of a molecule, by its stored matrix or straight from the integrals, as `inspect` prints it.
fn of_molecule(folder: &Path) -> Text {
    let InputFile::Ci(file) = InputFile::read(&folder.join("molecule.toml")).unwrap() else {
        panic!("{}: no [ci]", folder.display())
    };
    let molecule = Molecule::read(&file.ci).unwrap();
    let named = |text, launches| Text { stem: "multiply".into(), plan: "plan.ron".into(), text, launches };
    if file.ci.storage == StorageChoice::Direct && !molecule.space.is_complete() {
        let plan = OnTheFly::plan(&molecule.integrals, &molecule.space, Target::H200).unwrap();
        let launches = plan.launches().unwrap().into_iter().chain(plan.set_up_launches().unwrap());
        return named(plan.text().unwrap(), launches.collect());
    }
    if file.ci.storage == StorageChoice::Direct {
        let plan = DirectFullCi::plan(&molecule.integrals, &molecule.space, Target::H200).unwrap();
        let launches = plan.launches().unwrap().into_iter().chain([plan.diagonal_launch().unwrap()]);
        return named(plan.text().unwrap(), launches.collect());
    }
    let matrix = ci::matrix(&molecule.integrals, &molecule.space, ci::THRESHOLD).unwrap();
    let wish = Wish { format: Some(FormatName::Hybrid), ..Wish::default() };
    let choice = Choice::new(&matrix, &RowStatistics::of(&matrix), Target::H200, wish);
    let stored = Stored::new("ci", &matrix, &choice.best().layout, wish.scalar, wish.values).unwrap();
    named(stored.plan.text().unwrap(), stored.plan.launches().unwrap())
}

/// The three texts of a transformation into SU(3) tensors.
fn of_space(folder: &Path) -> Vec<Text> {
    #[derive(serde::Deserialize)]
    struct File {
        n_max: u32,
        channels: usize,
    }
    let file: File = toml::from_str(&std::fs::read_to_string(folder.join("space.toml")).unwrap()).unwrap();
    let plan = su3::Plan::new(su3::Space { n_max: file.n_max });
    let tables = su3::Tables::new(&plan).unwrap();
    let transform = DeviceTransform::plan_of(&plan, &tables, file.channels, None);
    let coefficients = DeviceCoefficients::plan_of(&plan, &eigenforge_su3::Coupler::new());
    let paper = DevicePaper::plan_of(&plan, &tables, file.channels);
    let of_coefficients = [coefficients.launch(coefficients.classes.last().unwrap()), coefficients.defect_launch()];
    [
        ("transform", transform.text(), transform.launches().unwrap()),
        ("coefficients", coefficients.text(), of_coefficients.map(Result::unwrap).to_vec()),
        ("paper", paper.text(), vec![paper.launch().unwrap()]),
    ]
    .map(|(stem, text, launches)| Text {
        stem: stem.into(),
        plan: format!("plan_{stem}.ron"),
        text: text.unwrap(),
        launches,
    })
    .into()
}

/// The texts of DMRG on a device.
fn of_chain(folder: &Path) -> Vec<Text> {
    let file = InputFile::read(&folder.join("chain.toml")).unwrap();
    assert!(matches!(file, InputFile::Dmrg(_)), "{}: no [dmrg]", folder.display());
    let named = |(text, launches): (KernelText, Vec<Launch>)| {
        let stem = text.name.strip_prefix("dmrg_").unwrap_or(&text.name).to_string();
        Text { plan: format!("plan_{stem}.ron"), stem, text, launches }
    };
    resident::generated().unwrap().map(named).into()
}

/// The generated file `name` of a model, or its multiply, in the number types that are kept.
fn texts(model: &eigenforge::exact::Model, name: Option<&str>, single: bool) -> Vec<Text> {
    let kinds = [(ScalarType::F64, ""), (ScalarType::F32, "_f32")];
    let kept = kinds.into_iter().take(if single { 2 } else { 1 });
    let text = |(scalar, suffix): (ScalarType, &str)| {
        let mut files = model.generated_for(scalar).unwrap();
        let at = name.map_or(0, |name| files.iter().position(|file| file.text.name.starts_with(name)).unwrap());
        let file = files.swap_remove(at);
        let stem = format!("{}{suffix}", name.unwrap_or("multiply"));
        let plan = if name == Some(AVERAGES) { "plan_averages.ron".into() } else { format!("plan{suffix}.ron") };
        Text { stem, plan, text: file.text, launches: file.launches }
    };
    kept.map(text).collect()
}

/// What the gallery should hold; a blessing writes it, before any test reads it.
fn expected() -> &'static [Folder] {
    static EXPECTED: OnceLock<Vec<Folder>> = OnceLock::new();
    EXPECTED.get_or_init(|| {
        let folders = generate();
        let files = folders.iter().flat_map(|folder| folder.files.iter().map(|file| (&folder.path, file)));
        for (path, (name, content)) in files.filter(|_| blessing()) {
            std::fs::write(path.join(name), content).unwrap();
        }
        folders
    })
}

fn generate() -> Vec<Folder> {
    let folders = problems();
    let shared = texts(&model_of(&folders[0]), Some(UPDATE), true);
    let mut found = vec![Folder { path: gallery().join(UPDATE), files: Vec::new(), texts: shared }];
    for path in folders {
        let model = model_of(&path);
        let single = SINGLE.iter().any(|name| path.ends_with(name));
        let files = vec![("ir.ron".to_string(), model.ir().to_ron())];
        let mut texts_of = texts(&model, None, single);
        if AVERAGED.iter().any(|name| path.ends_with(name)) {
            texts_of.extend(texts(&model, Some(AVERAGES), false));
        }
        found.push(Folder { texts: texts_of, path, files });
    }
    for path in folders_with("molecule.toml") {
        found.push(Folder { texts: vec![of_molecule(&path)], path, files: Vec::new() });
    }
    for path in folders_with("chain.toml") {
        found.push(Folder { texts: of_chain(&path), path, files: Vec::new() });
    }
    for path in folders_with("space.toml") {
        found.push(Folder { texts: of_space(&path), path, files: Vec::new() });
    }
    for folder in &mut found {
        for Text { stem, plan, text, .. } in &folder.texts {
            folder.files.push((plan.clone(), text.plan.clone() + "\n"));
            folder.files.push((format!("{stem}.cu"), text.text.clone()));
        }
    }
    found
}

/// What folders hold beside what is expected there.
fn strangers(folder: &Folder) -> Vec<String> {
    let known = |name: &String| {
        ["model.toml", "molecule.toml", "space.toml", "chain.toml", "budget.toml"].contains(&name.as_str())
            || folder.files.iter().any(|(file, _)| file == name)
    };
    let entries = std::fs::read_dir(&folder.path).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).filter(|name| !known(name)).collect()
}

#[test]
fn the_gallery_of_generated_kernels_is_up_to_date() {
    let folders = expected();
    assert!(folders.len() >= 10, "only {} folders in kernels_generated", folders.len());
    for folder in folders {
        for (name, content) in &folder.files {
            let path = folder.path.join(name);
            let found = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(found == *content, "{} is out of date: read the change, then {BLESS}", path.display());
        }
        assert_eq!(strangers(folder), [""; 0], "{}: nothing generates these files", folder.path.display());
    }
}

#[test]
fn the_problems_show_every_branch_of_the_generator() {
    use eigenforge_templates::exact::{Amplitudes, DownShape, IndexWord, Staging};
    let (mut kronecker, mut general): (Vec<KroneckerPlan>, Vec<GeneralPlan>) = (Vec::new(), Vec::new());
    for folder in expected() {
        for text in &folder.texts {
            kronecker.extend(ron::from_str(&text.text.plan).ok());
            general.extend(ron::from_str(&text.text.plan).ok());
        }
    }
    let some = |what: &str, branch: &dyn Fn(&KroneckerPlan) -> bool| {
        assert!(kronecker.iter().any(branch), "no Kronecker problem has {what}");
    };
    some("a column in shared memory", &|plan| plan.shape.staging == Staging::Shared && plan.shape.up_columns == 1);
    some("several columns a block", &|plan| plan.shape.staging == Staging::Shared && plan.shape.up_columns > 1);
    some("columns in device memory", &|plan| plan.shape.staging == Staging::Global);
    some("one amplitude", &|plan| matches!(plan.up.amplitudes, Amplitudes::One(_)) && plan.up.elements > 0);
    some("signs", &|plan| matches!(plan.up.amplitudes, Amplitudes::Signed(_)));
    some("a table of amplitudes", &|plan| matches!(plan.down.amplitudes, Amplitudes::Table(_)));
    some("16-bit words", &|plan| plan.up.word == IndexWord::U16);
    some("32-bit words", &|plan| plan.up.word == IndexWord::U32);
    some("a down kernel by tiles", &|plan| plan.has_down() && matches!(plan.shape.down, DownShape::Tile { .. }));
    some("a down kernel by runs", &|plan| plan.has_down() && matches!(plan.shape.down, DownShape::Runs { .. }));
    some("no down kernel", &|plan| !plan.has_down());
    some("a diagonal in the user's words", &|plan| !plan.diagonal.expressions.is_empty());
    some("single precision", &|plan| plan.scalar == ScalarType::F32);
    assert!(general.iter().any(|plan| plan.shape.unrolled) && general.iter().any(|plan| !plan.shape.unrolled));
    assert!(general.iter().any(|plan| plan.scalar == ScalarType::F32));
    let texts = expected().iter().flat_map(|folder| &folder.texts);
    let sparse: Vec<SparsePlan> = texts.filter_map(|text| ron::from_str(&text.text.plan).ok()).collect();
    let hybrid = |plan: &SparsePlan| {
        use eigenforge_templates::sparse::Storage;
        matches!(plan.parts[..], [first, last] if matches!(first.storage, Storage::Ell { .. }) && last.storage == Storage::Csr)
    };
    assert!(sparse.iter().any(hybrid), "no molecule has a matrix of ELLPACK and CSR");
}

#[test]
fn every_ir_of_the_gallery_comes_back_as_its_model() {
    expected();
    for folder in problems() {
        let text = std::fs::read_to_string(folder.join("ir.ron")).unwrap();
        let ir = OperatorIr::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        assert_eq!(ir.to_ron(), text, "{}", folder.display());
        let model = ir.to_model().unwrap();
        assert_eq!(model.ir(), ir);
        let multiply = model.generated().unwrap().remove(0).text;
        let kept = std::fs::read_to_string(folder.join("multiply.cu")).unwrap();
        assert!(multiply.text == kept, "{}: the IR gives another kernel", folder.display());
    }
}

/// What a profiler shows is the kernel's name and nothing else.
#[test]
fn kernels_have_names_that_tell_them_apart() {
    for folder in problems() {
        let mut names: Vec<String> =
            model_of(&folder).generated().unwrap().into_iter().flat_map(|file| file.text.entries).collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "{}: two kernels of one name in {names:?}", folder.display());
        let told =
            |name: &String| name.split('_').count() > 1 || ["multiply", "scale", "residual"].contains(&name.as_str());
        assert!(names.iter().all(told), "a name that says too little in {names:?}");
    }
}

/// The compiler, with a cache of this run's own, and the disassembler; `None` where one is missing and may be.
fn tools(cache: &Path) -> Option<(Jit, Disassembler)> {
    let settings = Settings {
        cache: CacheFolder::At(cache.to_path_buf()),
        cache_readonly: vec![],
        ..Settings::from_env().expect("the environment's settings are sound")
    };
    let jit = Jit::for_tests(&settings)?;
    match Disassembler::find(&settings) {
        Ok(disassembler) => Some((jit, disassembler)),
        Err(fault) => {
            testing::missing(testing::Tool::Nvrtc, &fault);
            None
        }
    }
}

fn head(nvrtc: &str) -> String {
    format!(
        "# What the kernels of this folder may take. ../README.md says what the lines mean; what is tolerated stands in\n\
         # tests/cli_and_input/budget.rs. Written by: {BLESS}\nnvrtc = \"{nvrtc}\"\narch = \"{ARCH}\"\n"
    )
}

/// Faults of one folder against its budget, which a blessing writes first.
fn check(folder: &Folder, nvrtc: &str, measured_texts: &[(String, Vec<KernelFootprint>)]) -> Vec<String> {
    let path = folder.path.join("budget.toml");
    if blessing() {
        let kernels = |(stem, kernels): &(String, Vec<KernelFootprint>)| {
            kernels.iter().map(|kernel| table(stem, kernel)).collect::<String>()
        };
        let tables: String = measured_texts.iter().map(kernels).collect();
        std::fs::write(&path, head(nvrtc) + &tables).unwrap();
    }
    let budget = match std::fs::read_to_string(&path).map_err(|e| e.to_string()).and_then(|text| Budget::parse(&text)) {
        Ok(budget) => budget,
        Err(fault) => return vec![format!("{}: {fault}", path.display())],
    };
    let mut faults = Vec::new();
    if budget.arch != ARCH.to_string() {
        faults.push(format!("{}: expected a budget for {ARCH}, found {}", path.display(), budget.arch));
    }
    let mut tables = budget.names();
    for (stem, kernels) in measured_texts {
        for kernel in kernels {
            let name = (stem.clone(), kernel.name.clone());
            tables.retain(|table| *table != name);
            let place =
                format!("{}, {stem}.{} (NVRTC {} then, {nvrtc} now)", path.display(), kernel.name, budget.nvrtc);
            match budget.kernel(stem, &kernel.name) {
                Some(allowed) => {
                    faults.extend(exceeded(&place, &allowed, &measured(kernel), budget.nvrtc == nvrtc));
                }
                None => faults.push(format!("{place}: no such table")),
            }
        }
    }
    let gone = |(stem, kernel)| format!("{}: there is no kernel {stem}.{kernel} any more", path.display());
    faults.extend(tables.into_iter().map(gone));
    faults
}

#[test]
fn the_kernels_are_within_their_budgets() {
    let cache = tempfile::tempdir().unwrap();
    let Some((jit, disassembler)) = tools(cache.path()) else { return };
    let (major, minor) = jit.nvrtc().version();
    let nvrtc = format!("{major}.{minor}");
    let mut faults = Vec::new();
    for folder in expected() {
        let measure = |text: &Text| {
            let kernels =
                footprints(&jit.compile(&text.text, ARCH).unwrap(), Some(&disassembler), &text.launches).unwrap();
            let names: Vec<&String> = kernels.iter().map(|kernel| &kernel.name).collect();
            assert_eq!(names, text.text.entries.iter().collect::<Vec<_>>(), "every kernel is measured");
            (text.stem.clone(), kernels)
        };
        let measured: Vec<_> = folder.texts.iter().map(measure).collect();
        faults.extend(check(folder, &nvrtc, &measured));
    }
    if let Err(refusal) = verdict(&faults) {
        panic!("{refusal}");
    }
}
