//! The cache under fire: damage, races, kills, eviction. No compiler is needed: the entries are made up. What the system can
//! do to a cache is in `torture`.

use super::settings;
use crate::jit::cache::{Build, Cache, Ingredients, RECORD_FILE, TEMPORARY, USED_FILE, keep_failed};
use crate::jit::{Arch, CacheFolder};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

const OPTIONS: [&str; 2] = ["--fmad=true", "--std=c++17"];

/// Builds of made-up kernels, told apart by a number.
pub(super) struct Made {
    pub(super) text: String,
    options: Vec<String>,
    pub(super) cubin: Option<Vec<u8>>,
}

impl Made {
    pub(super) fn new(number: usize) -> Made {
        let text = format!("extern \"C\" __global__ void kernel_{number}() {{}}\n");
        let cubin = (0..20_000).map(|i| (i * (number + 7) % 251) as u8).collect();
        Made { text, options: OPTIONS.map(String::from).to_vec(), cubin: Some(cubin) }
    }

    fn failed(number: usize) -> Made {
        Made { cubin: None, ..Made::new(number) }
    }

    pub(super) fn ingredients(&self) -> Ingredients<'_> {
        Ingredients { text: &self.text, options: &self.options, arch: Arch(90), nvrtc: (13, 0), build: "0123" }
    }

    pub(super) fn build(&self) -> Build<'_> {
        let (plan, log, resources) = ("(tile: 4)", "ptxas info    : 0 bytes gmem\n", "[]");
        let cubin = self.cubin.as_deref();
        Build { name: "made up/kernel", ingredients: self.ingredients(), plan, log, resources, cubin }
    }

    pub(super) fn publish(&self, cache: &Cache) -> PathBuf {
        cache.publish(&self.build()).expect("the folder is writable").expect("the cache is on")
    }

    /// The cubin found: `None` a miss, `Some(None)` a remembered failure.
    pub(super) fn find(&self, cache: &Cache) -> Option<Option<Vec<u8>>> {
        cache.find("made up/kernel", &self.ingredients()).map(|stored| stored.cubin)
    }

    /// Found and equal to the bit.
    pub(super) fn is_kept(&self, cache: &Cache) -> bool {
        self.find(cache).is_some_and(|found| found == self.cubin)
    }
}

pub(super) fn cache(folder: &Path) -> Cache {
    Cache::open(&settings(folder))
}

pub(super) fn faults(cache: &Cache) -> Vec<String> {
    cache.verify().unwrap().into_iter().filter_map(|verdict| verdict.fault).collect()
}

/// Names of all folders in the cache that are being written or deleted.
pub(super) fn temporaries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(TEMPORARY)).collect()
}

#[test]
fn what_is_published_is_found_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(&folder.path().join("not/there/yet"));
    let made = Made::new(1);
    assert!(made.find(&cache).is_none());
    assert!(cache.list().unwrap().is_empty() && faults(&cache).is_empty());
    let entry = made.publish(&cache);
    assert!(made.is_kept(&cache));
    assert!(Made::new(2).find(&cache).is_none());

    let names: BTreeSet<String> =
        fs::read_dir(&entry).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let expected =
        ["entry.ron", "kernel.cu", "kernel.cubin", "log.txt", "options.txt", "plan.ron", "resources.ron", "used"];
    assert_eq!(names, expected.map(String::from).into());
    assert_eq!(fs::read_to_string(entry.join("options.txt")).unwrap(), "--fmad=true\n--std=c++17\n");
    assert_eq!(fs::read_to_string(entry.join("kernel.cu")).unwrap(), made.text);
    let name = entry.file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with("-made_up_kernel-sm_90"), "{name}");

    let listed = cache.list().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].name.as_str(), listed[0].nvrtc.as_str()), ("made up/kernel", "13.0"));
    assert_eq!((listed[0].arch, listed[0].failed), (Arch(90), false));
    assert!(listed[0].key.starts_with(&name[..16]) && listed[0].key.len() == 64);
    assert!(listed[0].bytes > 20_000 && listed[0].age < Duration::from_secs(600));
}

#[test]
fn every_ingredient_changes_the_key() {
    let made = Made::new(1);
    let base = made.ingredients();
    let others = [
        Ingredients { text: "other", ..base },
        Ingredients { options: &made.options[..1], ..base },
        Ingredients { options: &["--fmad=true--std=c++17".to_string()], ..base },
        Ingredients { arch: Arch(100), ..base },
        Ingredients { nvrtc: (13, 1), ..base },
        Ingredients { nvrtc: (14, 0), ..base },
        Ingredients { build: "0124", ..base },
    ];
    let mut keys: BTreeSet<String> = others.iter().map(Ingredients::key).collect();
    keys.insert(base.key());
    assert_eq!(keys.len(), others.len() + 1);
}

#[test]
fn a_damaged_entry_is_a_miss_and_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let (made, failed) = (Made::new(3), Made::failed(4));
    for made in [&made, &failed] {
        let entry = made.publish(&cache);
        let files: Vec<PathBuf> = fs::read_dir(&entry).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(files.len() >= 7);
        for file in files.iter().filter(|file| !file.ends_with(USED_FILE)) {
            let bytes = fs::read(file).unwrap();
            let flipped = |at: usize| bytes.iter().enumerate().map(|(i, b)| if i == at { b ^ 4 } else { *b }).collect();
            let mut damaged: Vec<(String, Option<Vec<u8>>)> = vec![
                ("removed".into(), None),
                ("emptied".into(), Some(vec![])),
                ("cut".into(), Some(bytes[..bytes.len() / 2].to_vec())),
                ("cut by one".into(), Some(bytes[..bytes.len() - 1].to_vec())),
                ("longer".into(), Some([&bytes[..], b"\n"].concat())),
                ("not text".into(), Some(vec![0xff; bytes.len()])),
            ];
            for at in [0, bytes.len() / 3, bytes.len() / 2, bytes.len() - 2, bytes.len() - 1] {
                damaged.push((format!("bit flipped at {at}"), Some(flipped(at))));
            }
            for (what, content) in damaged {
                let name = format!("{} {what}", file.display());
                match content {
                    None => fs::remove_file(file).unwrap(),
                    Some(content) => fs::write(file, content).unwrap(),
                }
                assert!(made.find(&cache).is_none(), "{name}: used all the same");
                assert_eq!(faults(&cache).len(), 1, "{name}: not reported");
                made.publish(&cache);
                assert!(made.is_kept(&cache), "{name}: not replaced");
                assert_eq!(faults(&cache), Vec::<String>::new(), "{name}");
            }
        }
    }
    assert_eq!(temporaries(folder.path()), Vec::<String>::new());
}

#[test]
fn an_entry_of_another_key_or_text_in_its_place_is_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let (one, two) = (Made::new(1), Made::new(2));
    let (first, second) = (one.publish(&cache), two.publish(&cache));
    fs::remove_dir_all(&first).unwrap();
    fs::rename(&second, &first).unwrap();
    assert!(one.find(&cache).is_none() && two.find(&cache).is_none());
    assert_eq!(faults(&cache), ["its folder has another entry's name"]);
    // A plain file, then an empty folder, in the entry's place.
    fs::remove_dir_all(&first).unwrap();
    fs::write(&first, "in the way").unwrap();
    assert!(one.find(&cache).is_none());
    one.publish(&cache);
    assert!(one.is_kept(&cache));
    fs::remove_dir_all(&first).unwrap();
    fs::create_dir(&first).unwrap();
    assert!(one.find(&cache).is_none());
    one.publish(&cache);
    assert!(one.is_kept(&cache));
}

#[test]
fn a_failure_is_remembered_until_a_build_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let (failed, made) = (Made::failed(5), Made::new(5));
    failed.publish(&cache);
    assert_eq!(made.find(&cache), Some(None));
    assert!(cache.list().unwrap()[0].failed);
    assert_eq!(faults(&cache), Vec::<String>::new());
    made.publish(&cache);
    assert!(made.is_kept(&cache));
    assert_eq!(cache.list().unwrap().len(), 1);
    let kept = keep_failed(&failed.build()).unwrap();
    assert_eq!(fs::read_to_string(kept.join("kernel.cu")).unwrap(), failed.text);
    assert_eq!(keep_failed(&failed.build()).unwrap(), kept, "the same failure is kept once");
    fs::remove_dir_all(kept).unwrap();
}

#[test]
fn threads_that_build_the_same_kernel_are_all_right() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let cache = &cache;
            scope.spawn(move || {
                for number in 0..10 {
                    let made = Made::new(number);
                    if thread % 2 == 0 || made.find(cache).is_none() {
                        made.publish(cache);
                    }
                    assert!(made.is_kept(cache), "thread {thread}, kernel {number}");
                }
            });
        }
    });
    assert_eq!(faults(&cache), Vec::<String>::new());
    assert_eq!(cache.list().unwrap().len(), 10);
    assert_eq!(temporaries(folder.path()), Vec::<String>::new());
}

/// The body of the processes that the two tests below start: publishes and damages entries for as long as it is let.
#[test]
fn process() {
    let Ok(folder) = std::env::var("EIGENFORGE_TEST_CACHE_PROCESS") else { return };
    let cache = cache(Path::new(&folder));
    let rounds: usize = std::env::var("EIGENFORGE_TEST_CACHE_ROUNDS").unwrap().parse().unwrap();
    for round in 0..rounds {
        let made = Made::new(round % 5);
        let entry = made.publish(&cache);
        if let Some(found) = made.find(&cache) {
            assert_eq!(found, made.cubin, "round {round}");
        }
        if round % 7 == std::process::id() as usize % 7 {
            fs::write(entry.join("kernel.cubin"), b"torn").ok();
        }
    }
}

fn start(folder: &Path, rounds: usize) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "jit::tests::cache::process", "--nocapture"])
        .env("EIGENFORGE_TEST_CACHE_PROCESS", folder)
        .env("EIGENFORGE_TEST_CACHE_ROUNDS", rounds.to_string())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn processes_that_build_and_damage_the_same_kernels_never_get_a_wrong_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..4).map(|_| start(folder.path(), 300)).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let cache = cache(folder.path());
    for number in 0..5 {
        Made::new(number).publish(&cache);
        assert!(Made::new(number).is_kept(&cache));
    }
    assert_eq!(faults(&cache), Vec::<String>::new());
    assert_eq!(temporaries(folder.path()), Vec::<String>::new());
}

#[test]
fn a_kill_at_any_moment_leaves_a_sound_cache() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    for round in 0..12 {
        let mut child = start(folder.path(), usize::MAX);
        std::thread::sleep(Duration::from_millis(20 + 7 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        for number in 0..5 {
            let made = Made::new(number);
            assert!(made.find(&cache).is_none_or(|found| found == made.cubin), "round {round}, kernel {number}");
        }
    }
    for number in 0..5 {
        Made::new(number).publish(&cache);
        assert!(Made::new(number).is_kept(&cache));
    }
    assert_eq!(cache.list().unwrap().len(), 5);
}

#[test]
fn what_a_killed_program_left_behind_is_ignored_then_removed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let made = Made::new(1);
    let entry = made.publish(&cache);
    let left = folder.path().join(format!("{TEMPORARY}123-left-0"));
    fs::rename(&entry, &left).unwrap();
    assert!(made.find(&cache).is_none() && cache.list().unwrap().is_empty() && faults(&cache).is_empty());
    Made::new(2).publish(&cache);
    assert!(left.exists(), "a young one may be another program's work");
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    File::options().write(true).open(left.join(USED_FILE)).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(faults(&cache), ["left behind by a program that was killed"]);
    Made::new(3).publish(&self::cache(folder.path()));
    assert!(!left.exists(), "the next program's first build removes it");
}

#[test]
fn the_least_recently_used_go_first_and_the_new_one_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(folder.path());
    let cache = Cache::open(&settings);
    let all: Vec<Made> = (0..5).map(Made::new).collect();
    for (number, made) in all.iter().enumerate() {
        let entry = made.publish(&cache);
        let then = SystemTime::now() - Duration::from_secs(1000 - 100 * number as u64);
        File::options().write(true).open(entry.join(USED_FILE)).unwrap().set_modified(then).unwrap();
    }
    assert!(all[0].is_kept(&cache), "a use makes it the youngest");
    let (bytes, entries) = cache.size().unwrap();
    assert_eq!(entries, 5);
    settings.cache_limit = bytes / 5 * 3 + 100;
    let small = Cache::open(&settings);
    Made::new(9).publish(&small);
    let kept: Vec<bool> = all.iter().map(|made| made.is_kept(&small)).collect();
    assert_eq!(kept, [true, false, false, false, true]);
    assert!(Made::new(9).is_kept(&small));
    settings.cache_limit = 1;
    let tiny = Cache::open(&settings);
    Made::new(8).publish(&tiny);
    assert!(Made::new(8).is_kept(&tiny));
    assert_eq!(tiny.list().unwrap().len(), 1);
    Made::new(7).publish(&tiny);
    assert!(Made::new(7).is_kept(&tiny) && Made::new(8).find(&tiny).is_none(), "the running total is kept too");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_of_the_cache_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "a regular file").unwrap();
    for root in [file.clone(), file.join("below")] {
        let cache = cache(&root);
        assert!(Made::new(1).find(&cache).is_none());
        assert!(cache.publish(&Made::new(1).build()).is_err());
        assert!(cache.check_writable().is_err());
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "a regular file");
}

#[test]
fn the_read_only_tier_is_read_and_never_written() {
    let (shared, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let made = Made::new(1);
    let entry = made.publish(&cache(shared.path()));
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    File::options().write(true).open(entry.join(USED_FILE)).unwrap().set_modified(long_ago).unwrap();
    let mut settings = settings(own.path());
    settings.cache_readonly = vec![shared.path().to_path_buf()];
    let both = Cache::open(&settings);
    assert!(made.is_kept(&both));
    Made::new(2).publish(&both);
    assert_eq!(fs::read_dir(shared.path()).unwrap().count(), 1);
    let used = fs::metadata(entry.join(USED_FILE)).unwrap().modified().unwrap();
    assert!(used < SystemTime::now() - Duration::from_secs(7000), "use of a read-only entry is not noted");
    settings.cache = CacheFolder::Off;
    let off = Cache::open(&settings);
    assert!(made.find(&off).is_none() && off.publish(&made.build()).unwrap().is_none());
}

#[test]
fn clear_removes_entries_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    for number in 0..3 {
        Made::new(number).publish(&cache);
    }
    fs::create_dir(folder.path().join("thesis")).unwrap();
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let (entries, bytes) = cache.clear().unwrap();
    assert_eq!(entries, 3);
    assert!(bytes > 60_000);
    assert!(cache.list().unwrap().is_empty());
    assert!(folder.path().join("thesis").exists() && folder.path().join("notes.txt").exists());
    assert!(!folder.path().join(RECORD_FILE).exists());
}
