//! The order of imports: within the library a module imports only from layers below its own, and in no crate do more files
//! import each other in a circle than stands here. Tests in a file are left out; a parent that only re-exports imports nothing.

use super::gallery::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates from the ground up. Crates of one layer do not know each other.
const CRATES: &[&[&str]] = &[
    &["grammar", "templates", "su3"],
    &["macros", "runtime"],
    &["core"],
    &["product"],
    &["exact", "ci", "dmrg", "tensors"],
    &[""],
    &["benches"],
    &["command"],
    &["python"],
];

/// The files and folders of a crate from the ground up, where it is large. Those of one layer do not know each other.
const LAYERS: [(&str, &[&[&str]]); 3] = [
    (
        "core/src",
        &[&["files", "lattice", "processes", "words"], &["operator"], &["basis", "models", "observable"], &["path"]],
    ),
    (
        "dmrg/src",
        &[
            &["error"],
            &["chain", "orbitals"],
            &["block"],
            &["sweep_plan"],
            &["engine"],
            &["matrix_product"],
            &["options"],
            &["sweep"],
            &["expansion"],
            &["memory", "measure"],
            &["run"],
            &["evolution"],
            &["builder"],
        ],
    ),
    (
        "src",
        &[
            &["export", "input"],
            &["report", "spmv"],
            &["error"],
            &["problem"],
            &["evolve", "overlap", "thermal"],
            &["spectrum"],
            &["inspection"],
        ],
    ),
];

/// The most files that import each other in a circle, by crate. In the runtime, memory and kernels know the place of memory
/// (`device/place.rs`) and not the device.
const LARGEST_CIRCLES: [(&str, usize); 13] = [
    ("src", 5),
    ("core/src", 5),
    ("product/src", 5),
    ("exact/src", 5),
    ("ci/src", 5),
    ("dmrg/src", 0),
    ("tensors/src", 5),
    ("runtime/src", 5),
    ("templates/src", 5),
    ("grammar/src", 5),
    ("macros/src", 5),
    ("benches/src", 5),
    ("command/src", 5),
];

/// The most that a crate shows, to users or to crates above it: names (modules, types, functions, constants, those of lists of `pub use`
/// each by itself), and methods and fields of public types. A change that needs more says why in its commit, and one that needs fewer
/// lowers the number.
const MOST_REACHED: [(&str, Surface); 11] = [
    ("src", Surface { names: 212, members: 869 }),
    ("core/src", Surface { names: 153, members: 502 }),
    ("product/src", Surface { names: 95, members: 304 }),
    ("exact/src", Surface { names: 64, members: 260 }),
    ("ci/src", Surface { names: 78, members: 336 }),
    ("dmrg/src", Surface { names: 78, members: 573 }),
    ("tensors/src", Surface { names: 71, members: 398 }),
    ("runtime/src", Surface { names: 352, members: 1050 }),
    ("templates/src", Surface { names: 184, members: 1080 }),
    ("su3/src", Surface { names: 21, members: 75 }),
    ("grammar/src", Surface { names: 39, members: 43 }),
];

/// What a user can reach.
#[derive(Debug)]
struct Surface {
    names: usize,
    members: usize,
}

/// Rooms of a crate in which no file imports a file that imports it.
const WITHOUT_CIRCLES: [(&str, &str); 3] =
    [("runtime/src", "backend"), ("runtime/src", "dense"), ("runtime/src", "records")];

/// A file by its module path: `["dmrg", "sweep"]`, `["dmrg"]` for dmrg/mod.rs.
type Module = Vec<String>;

/// An import: its path, the name it has here, whether it is a re-export.
struct Import {
    path: Vec<String>,
    name: String,
    public: bool,
}

/// All files of a crate with their imports.
fn crate_of(folder: &Path) -> BTreeMap<Module, Vec<Import>> {
    fn walk(folder: &Path, module: &Module, found: &mut BTreeMap<Module, Vec<Import>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let below: Module = module.iter().cloned().chain([name.clone()]).collect();
            if path.is_dir() && name != "tests" {
                walk(&path, &below, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests" && name != "main" {
                let own = if name == "mod" || name == "lib" { module.clone() } else { below };
                found.insert(own, imports(&fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, &Vec::new(), &mut found);
    found
}

/// The imports of a text, and the paths from `crate` and `super` in its code.
fn imports(text: &str) -> Vec<Import> {
    let program = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = program.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut found = Vec::new();
    let code = code.join("\n");
    let mut rest = code.as_str();
    let mut others = String::new();
    while let Some(at) = rest.find("use ") {
        let starts = rest[..at].rsplit('\n').next().unwrap_or_default().trim();
        let Some(end) = rest[at..].find(';').filter(|_| starts.is_empty() || starts.starts_with("pub")) else {
            others += &rest[..at + 4];
            rest = &rest[at + 4..];
            continue;
        };
        others += &rest[..at];
        for tree in expanded(&rest[at + 4..at + end].split_whitespace().collect::<Vec<_>>().join(" ")) {
            let (path, alias) = tree.split_once(" as ").unwrap_or((&tree, ""));
            let path: Vec<String> = path.split("::").map(|word| word.trim().to_string()).collect();
            let last = path.last().cloned().unwrap_or_default();
            let name = if alias.is_empty() { last } else { alias.trim().to_string() };
            found.push(Import { path, name, public: starts.starts_with("pub") });
        }
        rest = &rest[at + end..];
    }
    others += rest;
    for word in others.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        let path: Vec<String> = word.trim_matches(':').split("::").map(str::to_string).collect();
        if path.len() > 1 && ["crate", "super"].contains(&path[0].as_str()) {
            found.push(Import { path, name: String::new(), public: false });
        }
    }
    found
}

/// The single paths of `a::{b, c::{d, e}}`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((before, inner)) = tree.trim().split_once('{') else { return vec![tree.trim().to_string()] };
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in inner.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| expanded(&format!("{before}{}", part.trim()))).collect()
}

/// The file that a path leads to, through re-exports.
fn resolved(files: &BTreeMap<Module, Vec<Import>>, from: &Module, path: &[String], depth: usize) -> Option<Module> {
    let (mut module, mut rest) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (from.clone(), &path[1..]),
        "super" => {
            let ups = path.iter().take_while(|word| *word == "super").count();
            (from[..from.len().checked_sub(ups)?].to_vec(), &path[ups..])
        }
        first => {
            let child: Module = from.iter().cloned().chain([first.to_string()]).collect();
            files.contains_key(&child).then(|| (from.clone(), path))?
        }
    };
    while let Some((first, after)) = rest.split_first() {
        let child: Module = module.iter().cloned().chain([first.clone()]).collect();
        if !files.contains_key(&child) {
            break;
        }
        (module, rest) = (child, after);
    }
    if let Some(name) = rest.first().filter(|_| depth < 6 && module != *from) {
        let through = files.get(&module)?.iter().find(|import| import.public && import.name == *name);
        if let Some(found) = through.and_then(|import| resolved(files, &module, &import.path, depth + 1)) {
            return Some(found);
        }
    }
    files.contains_key(&module).then_some(module)
}

/// Which files a file imports from.
fn arrows(files: &BTreeMap<Module, Vec<Import>>) -> BTreeMap<Module, BTreeSet<Module>> {
    let of = |(module, imports): (&Module, &Vec<Import>)| {
        let own = |import: &&Import| !import.public || ["crate", "super"].contains(&import.path[0].as_str());
        let to = imports.iter().filter(own).filter_map(|import| resolved(files, module, &import.path, 0));
        (module.clone(), to.filter(|to| to != module && !to.is_empty()).collect())
    };
    files.iter().map(of).collect()
}

/// All that can be reached from each file.
fn reached(arrows: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let from = |start| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(module) = open.pop() {
            open.extend(arrows[module].iter().filter(|next| seen.insert(*next)));
        }
        (start, seen)
    };
    arrows.keys().map(from).collect()
}

/// Imports between the files and folders of a crate that are not of a layer below.
fn faults(folder: &str, layers: &[&[&str]]) -> Vec<String> {
    let level = |name: &str| layers.iter().position(|layer| layer.contains(&name));
    let mut faults = Vec::new();
    for (module, to) in arrows(&crate_of(&root().join(folder))).iter().filter(|(module, _)| !module.is_empty()) {
        for below in to.iter().filter(|below| below[0] != module[0]) {
            match (level(&module[0]), level(&below[0])) {
                (Some(own), Some(other)) if other < own => {}
                (Some(_), _) => faults.push(format!("{folder}/{} imports {}", module.join("/"), below.join("/"))),
                _ => faults.push(format!("{} or {} has no place among the layers of {folder}", module[0], below[0])),
            }
        }
    }
    faults
}

#[test]
fn files_import_from_layers_below() {
    let faults: Vec<String> = LAYERS.iter().flat_map(|(folder, layers)| faults(folder, layers)).collect();
    assert!(faults.is_empty(), "imports that are not of a layer below:\n{}", faults.join("\n"));
}

/// Families are crates that do not know each other, and so are the layers above and below them.
#[test]
fn crates_depend_on_crates_below() {
    let level = |name: &str| CRATES.iter().position(|layer| layer.contains(&name));
    for (at, member) in CRATES.iter().enumerate().flat_map(|(at, layer)| layer.iter().map(move |member| (at, *member)))
    {
        let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
        let manifest: toml::Value = toml::from_str(&manifest).unwrap();
        for name in
            manifest["dependencies"].as_table().unwrap().keys().filter_map(|name| name.strip_prefix("eigenforge"))
        {
            let below = level(name.trim_start_matches('-'));
            assert!(below.is_some_and(|below| below < at), "{member}/Cargo.toml depends on eigenforge{name}");
        }
    }
}

#[test]
fn few_files_import_each_other_in_a_circle() {
    for (folder, most) in LARGEST_CIRCLES {
        let arrows = arrows(&crate_of(&root().join(folder)));
        assert!(arrows.len() > 5, "{folder}: {} files", arrows.len());
        let reached = reached(&arrows);
        let circle = |module: &&Module| -> Vec<String> {
            let both = reached[*module].iter().filter(|other| reached[*other].contains(*module));
            both.map(|other| other.join("/")).collect()
        };
        let largest = arrows.keys().map(|module| circle(&module)).max_by_key(Vec::len).unwrap_or_default();
        assert!(largest.len() <= most, "{folder}: {} files in a circle:\n{}", largest.len(), largest.join("\n"));
        for (_, room) in WITHOUT_CIRCLES.iter().filter(|(own, _)| *own == folder) {
            let inside = |module: &&Module| module.first().is_some_and(|first| first == room);
            let found = arrows.keys().filter(inside).map(|module| circle(&module)).find(|circle| !circle.is_empty());
            assert!(found.is_none(), "{folder}/{room}: files in a circle:\n{}", found.unwrap_or_default().join("\n"));
        }
    }
}

/// The text of a file without its tests.
fn program(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_string()
}

/// The names that a module shows: its own items, its lists, and what its public modules show.
fn names(folder: &Path, file: &Path) -> usize {
    const KINDS: [&str; 9] = ["fn", "struct", "enum", "trait", "const", "type", "mod", "unsafe", "static"];
    let text = program(file);
    let mut found = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with(' ') || words.len() < 3 || words[0] != "pub" || !KINDS.contains(&words[1]) {
            // `pub mod prelude {` repeats names that are counted where they are.
            continue;
        }
        found += 1;
        if let ("mod", Some(child)) = (words[1], words[2].strip_suffix(';')) {
            let below = folder.join(child);
            let file =
                Some(below.join("mod.rs")).filter(|file| file.exists()).unwrap_or(folder.join(format!("{child}.rs")));
            found += names(&below, &file);
        }
    }
    let lists = text.split("\npub use ").skip(1).filter_map(|rest| rest.split_once(';'));
    found + lists.map(|(tree, _)| expanded(&tree.split_whitespace().collect::<Vec<_>>().join(" ")).len()).sum::<usize>()
}

/// The files of a crate without those of its tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let program = entries.filter(|path| path.file_stem().is_some_and(|name| name != "tests"));
    let of = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false => Some(path).filter(|path| path.extension().is_some_and(|ending| ending == "rs")).into_iter().collect(),
    };
    program.flat_map(of).collect()
}

/// Public methods and fields. The compiler's lint `unreachable_pub` sees to it that a `pub` in a type that no list shows is none.
fn members(folder: &Path) -> usize {
    let of = |path: &PathBuf| {
        program(path).lines().filter(|line| line.starts_with("    pub ") && !line.contains(" use ")).count()
    };
    sources(folder).iter().map(of).sum()
}

/// Types that a text defines with `pub`.
fn types(text: &str) -> Vec<String> {
    let of = |line: &str| {
        let (kind, rest) = line.strip_prefix("pub ")?.split_once(' ')?;
        let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
        ["struct", "enum", "trait", "type"].contains(&kind).then(|| name.to_string())
    };
    text.lines().filter_map(of).collect()
}

/// A name that a user imports means one type, whatever module it comes from.
#[test]
fn a_name_of_a_public_type_is_unique() {
    assert_eq!(types("pub struct A;\npub(crate) enum B {}\n    pub type C = u8;\npub trait D: E {}\n"), ["A", "D"]);
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // The grammar's types are no one else's.
    for folder in MOST_REACHED.map(|(folder, _)| folder).into_iter().filter(|folder| *folder != "grammar/src") {
        for file in sources(&root().join(folder)) {
            let place = file.strip_prefix(root()).unwrap().display().to_string();
            types(&program(&file)).into_iter().for_each(|name| found.entry(name).or_default().push(place.clone()));
        }
    }
    assert!(found.len() > 300, "{} types", found.len());
    // Each crate names its own `Result`, as `std` does.
    let twice = found.iter().filter(|(name, places)| places.len() > 1 && *name != "Result");
    let faults: Vec<String> = twice.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    assert!(faults.is_empty(), "names of two public types; rename the less natural one:\n{}", faults.join("\n"));
}

#[test]
fn the_public_surface_does_not_grow() {
    let mut faults = Vec::new();
    for (folder, most) in MOST_REACHED {
        let folder = root().join(folder);
        let found = Surface { names: names(&folder, &folder.join("lib.rs")), members: members(&folder) };
        for (what, found, most) in
            [("names", found.names, most.names), ("methods and fields", found.members, most.members)]
        {
            if found > most || found + found / 20 + 5 < most {
                faults.push(format!("{}: {found} public {what}; {most} are written here", folder.display()));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "fewer of what users see, or the number as it is, with its reason:\n{}",
        faults.join("\n")
    );
}

/// Prints what the bounds above are set by, for the checkout that EIGENFORGE_ROOT names (benches/results/build.toml).
#[test]
#[ignore = "prints, checks nothing"]
fn counts_of_a_checkout() {
    for (name, _) in LARGEST_CIRCLES {
        let folder = root().join(name);
        if !folder.exists() {
            continue;
        }
        let arrows = arrows(&crate_of(&folder));
        let reached = reached(&arrows);
        let circle = |module| reached[module].iter().filter(|other| reached[**other].contains(module)).count();
        let largest = arrows.keys().map(circle).max().unwrap_or(0);
        let (names, members) = (names(&folder, &folder.join("lib.rs")), members(&folder));
        println!("{name}: {names} public names, {members} methods and fields, {largest} files in the largest circle");
    }
}

/// The reader itself: trees, aliases, re-exports, paths in code.
#[test]
fn imports_are_found_and_followed() {
    assert_eq!(expanded("a::{b, c::{d, e}, f as g}"), ["a::b", "a::c::d", "a::c::e", "a::f as g"]);
    let text = "//! use crate::none;\npub use child::Name;\nuse super::{one,\n  two::Three};\nfn f() -> crate::four::T { super::five() }\n";
    let found = imports(text);
    let paths: Vec<String> = found.iter().map(|import| import.path.join("::")).collect();
    assert_eq!(paths, ["child::Name", "super::one", "super::two::Three", "crate::four::T", "super::five"]);
    assert_eq!(found.iter().filter(|import| import.public).count(), 1);
    let module = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Module>();
    let files: BTreeMap<Module, Vec<Import>> = [
        (module(&["a"]), imports("pub use b::Name;")),
        (module(&["a", "b"]), Vec::new()),
        (module(&["c"]), imports("use crate::a::Name;")),
    ]
    .into();
    assert_eq!(arrows(&files)[&module(&["c"])], [module(&["a", "b"])].into());
}

/// The ways of a family: their names, the names of what they plan, and their folders.
type Ways = &'static [(&'static str, &'static str, &'static str)];

/// The families with a list of ways, and the files that give public names on.
const WAYS: [(&str, Ways, &[&str]); 2] = [
    (
        "exact/src",
        &[
            ("KroneckerWay", "KroneckerMultiply", "exact/src/kronecker"),
            ("GeneralWay", "GeneralMultiply", "exact/src/general"),
            ("OrbitsWay", "SectorRows", "exact/src/symmetric/orbits"),
            ("PartnersWay", "PartnerRows", "exact/src/symmetric/partners"),
            ("StringsWay", "StringRows", "exact/src/symmetric/strings"),
            ("PairsWay", "PairRows", "exact/src/symmetric/pairs"),
            ("TableWay", "StoredHamiltonian", "exact/src/stored"),
            ("StoredWay", "StoredHamiltonian", "exact/src/stored"),
        ],
        // The table of partners is made of the rows by orbits.
        &[
            "exact/src/symmetric/mod.rs",
            "exact/src/symmetric/partners/mod.rs",
            "exact/src/symmetric/partners/tables.rs",
        ],
    ),
    (
        "ci/src",
        &[
            ("CsfWay", "matrix_rows", "ci/src/csf"),
            ("StoredWay", "StoredHamiltonian", "ci/src/stored.rs"),
            ("CoresWay", "HostFullCi", "ci/src/direct/cores.rs"),
            ("FieldsWay", "FieldsMultiply", "ci/src/direct/fields.rs"),
            ("SlabsWay", "SlabsMultiply", "ci/src/direct/slabs"),
            ("RowByRowWay", "HostDeterminants", "ci/src/on_the_fly/cores.rs"),
            ("ExcitationsWay", "ExcitationsMultiply", "ci/src/on_the_fly/excitations"),
            ("ElementTableWay", "TableRoom", "ci/src/on_the_fly/excitations"),
        ],
        &["ci/src/direct/mod.rs", "ci/src/on_the_fly/mod.rs"],
    ),
];

/// A way to multiply is named in its own folder and in the list of ways; elsewhere nobody knows which one is planned. The public names
/// are given on by `lib.rs` and their folders; the stored matrix of every family is planned in `product/src/stored.rs`.
#[test]
fn a_way_to_multiply_is_named_in_its_folder_and_in_the_list() {
    let mut faults = Vec::new();
    for (family, ways, given_on) in WAYS {
        let list = program(&root().join(family).join("ways.rs"));
        for (way, planned, own) in ways {
            assert!(list.matches(way).count() == 2 && !list.contains(planned), "{way} is imported and listed once");
            let folders = [family, "product/src", "src"].map(|folder| sources(&root().join(folder)));
            for path in folders.iter().flatten().filter(|path| !path.ends_with("tests.rs")) {
                let place = path.strip_prefix(root()).unwrap().to_str().unwrap();
                let text = program(path);
                // Links of the documentation may name what a user gets.
                let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                let may = place.starts_with(own)
                    || given_on.contains(&place)
                    || ["product/src/stored.rs", "product/src/lib.rs"].contains(&place)
                    || [format!("{family}/ways.rs"), format!("{family}/lib.rs")].contains(&place.to_string());
                if !may && (code.contains(way) || code.contains(planned)) {
                    faults.push(format!("{way} in {place}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "ways to multiply are named outside their folders:\n{}", faults.join("\n"));
}

/// Prepositions and participles that are no name of a function: `Momenta::new(&lattice)`, `matrix.element(i, j)`.
const NO_NAMES: &[&str] = &[
    "of", "at", "on", "in", "with", "same", "kept", "held", "beside", "alone", "whole", "share", "by", "own", "made",
    "told", "those", "within", "among", "across", "without", "until", "since", "than", "as", "per", "over", "under",
    "near", "said",
];

/// A word of `#[gpu_operator]`, whose name is in generated CUDA.
const STILL_SO_NAMED: [(&str, usize); 1] = [("ci/src/fcidump/one_electron.rs", 1)];

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let (before, rest) = line.trim_start().split_once("fn ")?;
    let qualifiers = ["pub", "unsafe", "const", "async", "extern", ""];
    let begins = before.split([' ', '(']).next().unwrap_or_default();
    let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    qualifiers.contains(&begins).then_some(name)
}

#[test]
fn functions_are_not_named_by_prepositions() {
    assert_eq!(function("    pub(in super::super) const fn of<T>(x: T) -> T {"), Some("of"));
    assert_eq!(function("fn at_work() {"), Some("at_work"));
    assert_eq!(function("    // fn of(x)"), None);
    assert_eq!(function("    let of: fn (f64) = sin;"), None);
    let folders = [
        "src",
        "core",
        "product",
        "exact",
        "ci",
        "dmrg",
        "tensors",
        "runtime",
        "templates",
        "macros",
        "grammar",
        "su3",
        "benches",
        "command",
        "xtask",
        "tests",
        "examples",
    ];
    let mut still = [0; STILL_SO_NAMED.len()];
    let mut faults = Vec::new();
    let mut functions = 0;
    for file in folders.iter().flat_map(|folder| sources(&root().join(folder))) {
        let place = file.strip_prefix(root()).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let Some(name) = function(line) else { continue };
            functions += 1;
            if !NO_NAMES.contains(&name) {
                continue;
            }
            match STILL_SO_NAMED.iter().position(|(folder, _)| place.starts_with(folder)) {
                Some(k) => still[k] += 1,
                None => faults.push(format!("{}:{}: fn {name}", place.display(), number + 1)),
            }
        }
    }
    assert!(functions > 5000, "{functions} functions");
    assert!(faults.is_empty(), "functions named by a preposition; say what they give:\n{}", faults.join("\n"));
    for ((folder, most), found) in STILL_SO_NAMED.iter().zip(still) {
        assert!(found <= *most, "{folder}: {found} functions named by a preposition; {most} are allowed");
    }
}
