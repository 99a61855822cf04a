//! kernels_generated/: model, operator, plan, text and budget of each reference problem, held up to date.
//!
//! A folder is a problem of some family: its model.toml, and beside it the plan and the text of each generated file of its own,
//! as `inspect` shows them. Of lattice models the multiply is kept, the averages of those in [`AVERAGED`], and the operator as
//! ir.ron, which a symmetry sector has not. The solvers' fused updates are the same for every problem; LOBPCG's has a folder
//! of its own, and so have the published sum of SU(3) tensors, which only benches run, and the multiply of a quaternion matrix. For the problems of [`SINGLE`] and the
//! update the single-precision texts stand there too. budget.toml says what each kernel may take on sm_90; it is checked where
//! NVRTC and nvdisasm are (`cargo xtask setup`). `UPDATE_EXPECT=1 cargo test --release --test cli_and_input kernels` writes
//! everything anew.

use super::budget::{BLESS, Budget, exceeded, measured, table, verdict};
use super::gallery::root;
use eigenforge::exact::{Lobpcg, Model, ModelProblem};
use eigenforge::input::InputFile;
use eigenforge::inspection;
use eigenforge::path::{GeneratedFile, KernelFootprint, OperatorIr, footprints};
use eigenforge::runtime::jit::{Arch, CacheFolder, Disassembler, Jit, Settings};
use eigenforge::runtime::testing;
use eigenforge::su3::{DevicePaper, OscillatorSpace, Plan, Tables};
use eigenforge_templates::exact::{GeneralPlan, GeneralStrategy, KroneckerPlan};
use eigenforge_templates::sparse::SparsePlan;
use eigenforge_templates::{KernelText, Launch, ScalarType};
use std::collections::BTreeSet;
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
/// The folder of the published sum of SU(3) tensors, which no model file asks for: it is of `bench paper su3`.
const PUBLISHED_SUM: &str = "su3_n2_paper";
/// The folder of a quaternion matrix, and its file, which is no text.
const QUATERNIONS: &str = "quaternion_matrix";
const QUATERNION_FILE: &str = "tests/data/matrices/quat60_sparse.npz";
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

fn file_of(folder: &Path) -> InputFile {
    InputFile::read(&folder.join("model.toml")).unwrap()
}

/// The model of a folder, if it is one on a lattice to be diagonalised.
fn model_of(folder: &Path) -> Option<Model> {
    if let InputFile::Lattice(file) = file_of(folder) { Some(file.to_model().unwrap()) } else { None }
}

/// Every problem's folder, by name.
fn problems() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(gallery()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.join("model.toml").exists()).collect();
    folders.sort();
    folders
}

/// The lattice models among them.
fn lattices() -> Vec<(PathBuf, Model)> {
    problems().into_iter().filter_map(|folder| model_of(&folder).map(|model| (folder, model))).collect()
}

/// The generated files of a problem that are its own: the solvers' vector programs are every problem's.
fn of_problem(file: &InputFile) -> Vec<Text> {
    let problem = inspection::open(file).unwrap();
    // Of a stored matrix also a text for each number of vectors at once; one shows them all.
    let is_own = |file: &GeneratedFile| file.when.is_empty() && !file.text.name.contains("_of_");
    let own = problem.generated().unwrap().into_iter().filter(is_own);
    let files: Vec<GeneratedFile> = own.collect();
    let only = files.len() == 1;
    let named = |file: GeneratedFile| {
        let stem = if only { "multiply".into() } else { stem(&file.text.name) };
        let plan = if only { "plan.ron".into() } else { format!("plan_{stem}.ron") };
        Text { stem, plan, text: file.text, launches: file.launches }
    };
    files.into_iter().map(named).collect()
}

/// The file name of a text among several of its problem: its name without the family's word and the size of the space.
fn stem(name: &str) -> String {
    let own = ["dmrg_", "su3_"].iter().find_map(|family| name.strip_prefix(family)).unwrap_or(name);
    own.split("_n2").next().unwrap_or(own).into()
}

/// The generated file `name` of a model, or its multiply, in the number types that are kept.
fn texts(model: &Model, name: Option<&str>, single: bool) -> Vec<Text> {
    let kinds = [(ScalarType::F64, ""), (ScalarType::F32, "_f32")];
    let kept = kinds.into_iter().take(if single { 2 } else { 1 });
    let text = |(scalar, suffix): (ScalarType, &str)| {
        let mut files = match name {
            Some(UPDATE) => ModelProblem::generated(&Lobpcg::new(model).scalar(scalar)).unwrap(),
            _ => model.generated_for(scalar).unwrap(),
        };
        let at = name.map_or(0, |name| files.iter().position(|file| file.text.name.starts_with(name)).unwrap());
        let mut file = files.swap_remove(at);
        // In the order of the text, which is not always that in which they run.
        let place = |entry: &String| file.text.entries.iter().position(|own| own == entry);
        file.launches.sort_by_key(|launch| place(&launch.entry));
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

/// The published sum of all three channels at N_max = 2.
fn published_sum() -> Folder {
    let plan = Plan::new(OscillatorSpace { n_max: 2 });
    let sum = DevicePaper::plan_of(&plan, &Tables::new(&plan).unwrap(), 3);
    let launches = vec![sum.launch().unwrap()];
    let text = Text { stem: "multiply".into(), plan: "plan.ron".into(), text: sum.text().unwrap(), launches };
    Folder { path: gallery().join(PUBLISHED_SUM), files: Vec::new(), texts: vec![text] }
}

fn generate() -> Vec<Folder> {
    let quaternions = of_problem(&InputFile::read(&root().join(QUATERNION_FILE)).unwrap());
    let quaternions = Folder { path: gallery().join(QUATERNIONS), files: Vec::new(), texts: quaternions };
    let mut found = vec![published_sum(), quaternions];
    for path in problems() {
        let Some(model) = model_of(&path) else {
            found.push(Folder { texts: of_problem(&file_of(&path)), path, files: Vec::new() });
            continue;
        };
        if !found.iter().any(|folder: &Folder| folder.path.ends_with(UPDATE)) {
            let shared = texts(&model, Some(UPDATE), true);
            found.push(Folder { path: gallery().join(UPDATE), files: Vec::new(), texts: shared });
        }
        let single = SINGLE.iter().any(|name| path.ends_with(name));
        let ir = || ("ir.ron".to_string(), model.ir().to_ron());
        let files = Vec::from_iter(model.symmetry_text().is_none().then(ir));
        let mut texts_of = texts(&model, None, single);
        if AVERAGED.iter().any(|name| path.ends_with(name)) {
            texts_of.extend(texts(&model, Some(AVERAGES), false));
        }
        found.push(Folder { texts: texts_of, path, files });
    }
    // What an earlier folder holds word by word is not held again.
    let mut held = BTreeSet::new();
    for folder in &mut found {
        folder.texts.retain(|text| held.insert(text.text.text.clone()));
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
        ["model.toml", "budget.toml"].contains(&name.as_str()) || folder.files.iter().any(|(file, _)| file == name)
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

/// Most characters of a generated line.
const LONGEST_LINE: usize = 160;

#[test]
fn no_generated_line_is_too_long() {
    let mut long = Vec::new();
    for (path, name, text) in kernel_files() {
        let lines = text.lines().enumerate().filter(|(_, line)| line.chars().count() > LONGEST_LINE);
        long.extend(lines.map(|(at, line)| format!("{}:{}: {line}", path.join(name).display(), at + 1)));
    }
    assert!(long.is_empty(), "lines of more than {LONGEST_LINE} characters:\n{}", long.join("\n"));
}

/// Lines of templates are as long as generated ones. Those of cuda/exact/kronecker* hold one long formula each.
#[test]
fn no_line_of_a_template_is_too_long() {
    let long = |name: &str, text: &str| {
        let lines = text.lines().enumerate().filter(|(_, line)| line.chars().count() > LONGEST_LINE);
        lines.map(|(at, _)| format!("{name}:{}", at + 1)).collect::<Vec<_>>()
    };
    let (mut found, mut files) = (Vec::new(), 0);
    for folder in std::fs::read_dir(root().join("templates/cuda")).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let name = file.strip_prefix(root()).unwrap().display().to_string();
            files += 1;
            if !name.contains("exact/kronecker") {
                found.extend(long(&name, &std::fs::read_to_string(&file).unwrap()));
            }
        }
    }
    assert!(found.is_empty() && files > 15, "lines of more than {LONGEST_LINE} characters in {files} files: {found:?}");
}

/// What a person would not write: products with 0, sums with 0, loops over one element, a plural of one, blank lines in a row.
const RESIDUE: [&str; 9] =
    [" 0 * ", "[0 * ", "(0 * ", "+ 0 *", "+ 0)", "+ 0]", "< 1; ++", " 1 low electrons", "\n\n\n"];

#[test]
fn generated_kernels_hold_no_machine_residue() {
    for (path, name, text) in kernel_files() {
        for residue in RESIDUE {
            let found = text.find(residue).map(|at| text[..at].lines().count());
            assert_eq!(found, None, "'{residue}' in {}, at this line", path.join(name).display());
        }
        assert!(text.lines().all(|line| line == line.trim_end()), "{}: spaces at the end of a line", path.display());
    }
}

/// Every generated CUDA file: folder, name and text.
fn kernel_files() -> impl Iterator<Item = (&'static Path, &'static str, &'static str)> {
    let of = |folder: &'static Folder| {
        let texts = folder.files.iter().filter(|(name, _)| name.ends_with(".cu"));
        texts.map(|(name, text)| (folder.path.as_path(), name.as_str(), text.as_str()))
    };
    expected().iter().flat_map(of)
}

#[test]
fn the_kernels_of_a_long_file_stand_before_the_runs_that_they_call() {
    let long = kernel_files().filter(|(_, _, text)| text.contains("// contents: "));
    let mut count = 0;
    for (path, _, text) in long {
        let last_kernel = text.rfind("extern \"C\" __global__").unwrap();
        let first_run = text.find("\n__device__ __forceinline__ double run_").unwrap();
        assert!(last_kernel < first_run, "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 3, "hubbard_3x6, hubbard_4x4_paper and its single precision");
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
    let has = |wanted: fn(GeneralStrategy) -> bool| general.iter().any(|plan| wanted(plan.shape.strategy));
    assert!(has(|found| matches!(found, GeneralStrategy::Staged { .. })));
    // Terms in a table are for operators too long to be looked at; the simulator's tests run them.
    assert!(has(|found| found == GeneralStrategy::States));
    assert!(general.iter().any(|plan| plan.scalar == ScalarType::F32));
    let texts = expected().iter().flat_map(|folder| &folder.texts);
    let sparse: Vec<SparsePlan> = texts.filter_map(|text| ron::from_str(&text.text.plan).ok()).collect();
    let hybrid = |plan: &SparsePlan| {
        use eigenforge_templates::sparse::RowStorage;
        matches!(plan.parts[..], [first, last] if matches!(first.storage, RowStorage::Ell { .. }) && last.storage == RowStorage::Csr)
    };
    assert!(sparse.iter().any(hybrid), "no molecule has a matrix of ELLPACK and CSR");
}

#[test]
fn every_ir_of_the_gallery_comes_back_as_its_model() {
    expected();
    for (folder, _) in lattices().into_iter().filter(|(_, model)| model.symmetry_text().is_none()) {
        let text = std::fs::read_to_string(folder.join("ir.ron")).unwrap();
        let ir = OperatorIr::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        assert_eq!(ir.to_ron(), text, "{}", folder.display());
        let model = Model::from_ir(&ir).unwrap();
        assert_eq!(model.ir(), ir);
        let multiply = model.generated().unwrap().remove(0).text;
        let kept = std::fs::read_to_string(folder.join("multiply.cu")).unwrap();
        assert!(multiply.text == kept, "{}: the IR gives another kernel", folder.display());
    }
}

/// What a profiler shows is the kernel's name and nothing else. Of a table of partners averages are taken by rows made anew, whose text
/// lists the states as that of the table does.
#[test]
fn kernels_have_names_that_tell_them_apart() {
    for (folder, model) in lattices() {
        let files = model.generated().unwrap();
        let (averages, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.when == "for averages");
        let of = |files: Vec<GeneratedFile>| {
            let mut names: Vec<String> = files.into_iter().flat_map(|file| file.text.entries).collect();
            names.sort();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{}: two kernels of one name in {names:?}", folder.display());
            names
        };
        let names = [of(averages), of(others)].concat();
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
