//! What the system can do to the cache: a kill between writing and renaming, a read-only folder, a full disk, links, folders
//! shared with other versions and other compilers, several tiers, eviction while others read.
//!
//! The entries are made up, so that no compiler is needed. File systems of one's own are mounted in a namespace
//! (`unshare -rm`); where that is not allowed, those two tests print a line and pass.

use super::cache::{Made, cache, faults, temporaries};
use super::settings;
use crate::jit::cache::{Cache, Ingredients, RECORD_FILE, SCHEMA, TEMPORARY, USED_FILE, temporary, write};
use serde::Serialize;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, SystemTime};

/// Runs one test of this file in a process of its own, by a shell line that ends in `exec "$0" …`; the folder is `$DIR` there.
/// Its body ends with [`done`], so that a process that did nothing is told from one that found nothing wrong.
fn in_a_shell(program: &[&str], script: &str, test: &str, folder: &Path) -> ExitStatus {
    let line = format!("{script} exec \"$0\" --exact jit::tests::torture::{test} --nocapture");
    let all = [program, &["sh", "-c", line.as_str()]].concat();
    let mut command = Command::new(all[0]);
    command.args(&all[1..]).arg(std::env::current_exe().unwrap()).env("DIR", folder);
    command.env("EIGENFORGE_TEST_TORTURE", test).stdout(Stdio::null()).status().unwrap()
}

/// Whether this process was started to run the body `test`, and the folder for it.
fn started_for(test: &str) -> Option<std::path::PathBuf> {
    let wanted = std::env::var("EIGENFORGE_TEST_TORTURE").is_ok_and(|name| name == test);
    wanted.then(|| std::env::var_os("DIR").unwrap().into())
}

const DONE: i32 = 77;

fn done() -> ! {
    std::process::exit(DONE)
}

/// Whether a file system of one's own can be mounted; a printed line if not.
fn may_mount() -> bool {
    let tried =
        Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).stderr(Stdio::null()).status();
    let may = tried.is_ok_and(|status| status.success());
    if !may {
        println!("skipped: no file system can be mounted in a namespace here");
    }
    may
}

#[test]
fn a_kill_between_writing_and_renaming_leaves_nothing_that_counts() {
    let folder = tempfile::tempdir().unwrap();
    let status = in_a_shell(&[], "", "written_and_killed", folder.path());
    assert_eq!(status.signal(), Some(9));
    let left = temporaries(folder.path());
    assert_eq!(left.len(), 1);
    let left = folder.path().join(&left[0]);
    assert!(left.join(RECORD_FILE).exists(), "it was written to the end");
    let (cache, made) = (cache(folder.path()), Made::new(1));
    assert!(made.find(&cache).is_none() && cache.list().unwrap().is_empty() && faults(&cache).is_empty());
    made.publish(&cache);
    assert!(made.is_kept(&cache) && left.exists());
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    File::options().write(true).open(left.join(USED_FILE)).unwrap().set_modified(long_ago).unwrap();
    Made::new(2).publish(&self::cache(folder.path()));
    assert!(!left.exists(), "an hour later the next program removes it");
    assert!(made.is_kept(&cache));
}

/// The body of the process that the test above starts.
#[test]
fn written_and_killed() {
    let Some(folder) = started_for("written_and_killed") else { return };
    let made = Made::new(1);
    write(&temporary(&folder), &made.ingredients().key(), &made.build()).unwrap();
    Command::new("kill").args(["-9", &std::process::id().to_string()]).status().unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

/// Where no file system of one's own can be mounted, a limit on file sizes makes a write fail half way just the same.
#[test]
fn a_write_that_fails_half_way_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let status = in_a_shell(&[], "trap '' XFSZ; ulimit -f 8;", "too_large_a_file", folder.path());
    assert_eq!(status.code(), Some(DONE));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The body of the process that the test above starts.
#[test]
fn too_large_a_file() {
    let Some(folder) = started_for("too_large_a_file") else { return };
    let cache = cache(&folder);
    assert!(cache.publish(&Made::new(1).build()).is_err(), "20 kB should not fit into 4 kB");
    assert!(Made::new(1).find(&cache).is_none());
    done();
}

#[test]
fn a_full_disk_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    if may_mount() {
        let mount = "mount -t tmpfs -o size=160k,mode=700 none \"$DIR\" &&";
        assert_eq!(in_a_shell(&["unshare", "-rm"], mount, "full_disk", folder.path()).code(), Some(DONE));
    }
}

/// The body of the process that the test above starts: a disk for a few entries of some 20 kB.
#[test]
fn full_disk() {
    let Some(folder) = started_for("full_disk") else { return };
    let cache = cache(&folder);
    let published = (0..20).map(|number| cache.publish(&Made::new(number).build()));
    let published: Vec<bool> = published
        .map(|outcome| match outcome {
            Ok(_) => true,
            Err(fault) => {
                assert_eq!(fault.kind(), std::io::ErrorKind::StorageFull, "{fault}");
                false
            }
        })
        .collect();
    let kept = published.iter().filter(|ok| **ok).count();
    assert!((2..19).contains(&kept), "{kept} entries");
    for (number, ok) in published.iter().enumerate() {
        assert_eq!(Made::new(number).is_kept(&cache), *ok, "entry {number}");
    }
    assert_eq!((faults(&cache), temporaries(&folder)), (vec![], vec![]));
    cache.clear().unwrap();
    Made::new(19).publish(&cache);
    assert!(Made::new(19).is_kept(&cache), "with room again it is written again");
    done();
}

#[test]
fn a_read_only_folder_is_read() {
    let folder = tempfile::tempdir().unwrap();
    Made::new(1).publish(&cache(folder.path()));
    if may_mount() {
        let mount = "mount --bind \"$DIR\" \"$DIR\" && mount -o remount,bind,ro \"$DIR\" &&";
        assert_eq!(in_a_shell(&["unshare", "-rm"], mount, "read_only_folder", folder.path()).code(), Some(DONE));
    }
    assert_eq!(cache(folder.path()).list().unwrap().len(), 1);
}

/// The body of the process that the test above starts.
#[test]
fn read_only_folder() {
    let Some(folder) = started_for("read_only_folder") else { return };
    let cache = cache(&folder);
    assert!(Made::new(1).is_kept(&cache), "what is there is used");
    for made in [Made::new(1), Made::new(2)] {
        let fault = cache.publish(&made.build()).unwrap_err();
        assert_eq!(fault.kind(), std::io::ErrorKind::ReadOnlyFilesystem, "{fault}");
    }
    assert!(cache.check_writable().is_err() && cache.clear().is_err());
    assert!(Made::new(1).is_kept(&cache));
    done();
}

#[test]
fn a_link_to_a_folder_is_as_good_as_the_folder_and_what_links_lead_to_is_never_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    let (direct, linked) = (cache(&real), cache(&link));
    let (one, two) = (Made::new(1), Made::new(2));
    let entry = one.publish(&linked);
    assert!(one.is_kept(&direct) && one.is_kept(&linked) && faults(&linked).is_empty());
    // An entry that is itself a link: to the entry elsewhere, to something else, to nothing.
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(real.join(entry.file_name().unwrap()), &elsewhere).unwrap();
    symlink(&elsewhere, &entry).unwrap();
    assert!(one.is_kept(&direct));
    fs::write(elsewhere.join("kernel.cubin"), "torn").unwrap();
    assert!(one.find(&direct).is_none());
    one.publish(&direct);
    assert!(one.is_kept(&direct) && !fs::symlink_metadata(&entry).unwrap().is_symlink());
    assert!(elsewhere.join("kernel.cu").exists(), "only the link was replaced");
    let second = two.publish(&direct);
    fs::remove_dir_all(&second).unwrap();
    symlink(folder.path().join("nothing"), &second).unwrap();
    assert!(two.find(&direct).is_none());
    two.publish(&direct);
    assert!(two.is_kept(&direct));
    fs::remove_dir_all(&second).unwrap();
    symlink(&elsewhere, &second).unwrap();
    linked.clear().unwrap();
    assert!(elsewhere.join("kernel.cu").exists() && linked.list().unwrap().is_empty() && link.exists());
    // A cache whose link leads nowhere cannot be written, and is an error of the cache only.
    fs::remove_dir_all(&real).unwrap();
    assert!(one.find(&linked).is_none() && linked.list().unwrap().is_empty());
    assert!(linked.publish(&one.build()).is_err());
}

/// A record as another version may write it.
#[derive(Serialize)]
struct OtherRecord<'a> {
    schema: u32,
    key: &'a str,
    what_that_version_needs: (f64, &'a str),
}

#[test]
fn entries_of_older_and_newer_schemas_are_left_alone_and_never_used() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    for schema in [SCHEMA - 1, SCHEMA + 1] {
        let made = Made::new(schema as usize);
        let entry = made.publish(&cache);
        let key = made.ingredients().key();
        let other =
            crate::sealed::seal(&OtherRecord { schema, key: &key, what_that_version_needs: (1.5, "x") }).unwrap();
        fs::write(entry.join(RECORD_FILE), other).unwrap();
        assert!(made.find(&cache).is_none(), "schema {schema} was used");
        assert!(faults(&cache).is_empty(), "another version's entry is no damage: {:?}", faults(&cache));
        assert!(cache.list().unwrap().is_empty());
        made.publish(&cache);
        assert!(made.is_kept(&cache), "schema {schema} stands in the way");
        cache.clear().unwrap();
    }
    // The same fields, and the number alone another: still another schema's.
    let entry = Made::new(7).publish(&cache);
    let record = fs::read_to_string(entry.join(RECORD_FILE)).unwrap();
    fs::write(entry.join(RECORD_FILE), record.replace("schema: 1", "schema: 2")).unwrap();
    assert!(Made::new(7).find(&cache).is_none());
    assert_eq!(faults(&cache), ["entry.ron is torn or altered"], "its hash is that of schema 1");
}

#[test]
fn another_compiler_never_gets_this_one_s_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let made = Made::new(1);
    let mine = made.ingredients();
    made.publish(&cache);
    let others = [Ingredients { nvrtc: (13, 1), ..mine }, Ingredients { build: "another build of 13.0", ..mine }];
    for other in others {
        assert!(cache.find("made up/kernel", &other).is_none());
        let cubin = Some(&b"of the other compiler"[..]);
        let build = crate::jit::cache::Build { ingredients: other, cubin, ..made.build() };
        cache.publish(&build).unwrap();
        assert_eq!(cache.find("made up/kernel", &other).unwrap().cubin.as_deref(), cubin);
        assert!(made.is_kept(&cache), "both are kept side by side");
    }
    assert_eq!((cache.list().unwrap().len(), faults(&cache)), (3, vec![]));
}

#[test]
fn read_only_tiers_are_asked_in_order_and_a_damaged_one_is_passed_over() {
    let folders = [0, 1, 2].map(|_| tempfile::tempdir().unwrap());
    let [own, group, site] = folders.each_ref().map(|folder| folder.path());
    let tiers = Cache::open(&crate::jit::Settings {
        cache_readonly: vec![group.into(), site.join("missing"), site.into()],
        ..settings(own)
    });
    let made = Made::new(1);
    made.publish(&cache(site));
    assert!(made.is_kept(&tiers), "the last has it");
    let entry = made.publish(&cache(group));
    let stored = tiers.find("made up/kernel", &made.ingredients()).unwrap();
    assert_eq!(stored.folder, entry, "the first that has it");
    fs::write(entry.join("kernel.cubin"), "torn").unwrap();
    assert!(made.is_kept(&tiers));
    assert!(tiers.find("made up/kernel", &made.ingredients()).unwrap().folder.starts_with(site));
    assert_eq!(fs::read(entry.join("kernel.cubin")).unwrap(), b"torn", "and is not repaired");
    made.publish(&tiers);
    assert!(tiers.find("made up/kernel", &made.ingredients()).unwrap().folder.starts_with(own));
}

/// Each thread has a cache of its own, as each process would.
#[test]
fn eviction_while_others_read_and_write_never_gives_a_wrong_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let mut small = settings(folder.path());
    let entry = Made::new(0).publish(&Cache::open(&small));
    let size: u64 = fs::read_dir(&entry).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    small.cache_limit = 4 * size + size / 2;
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let small = &small;
            scope.spawn(move || {
                let cache = Cache::open(small);
                for round in 0..60 {
                    let made = Made::new((round * (thread + 1)) % 11);
                    match made.find(&cache) {
                        Some(found) => assert_eq!(found, made.cubin, "thread {thread}, round {round}"),
                        None => drop(made.publish(&cache)),
                    }
                }
            });
        }
    });
    let last = Cache::open(&small);
    Made::new(99).publish(&last);
    let (bytes, entries) = last.size().unwrap();
    assert!(bytes <= small.cache_limit && (1..=4).contains(&entries), "{entries} entries of {bytes} bytes");
    assert!(Made::new(99).is_kept(&last));
    assert_eq!((faults(&last), temporaries(folder.path())), (vec![], vec![]));
    assert!(!folder.path().join(TEMPORARY).exists());
}
