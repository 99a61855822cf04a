//! What the compiler makes of the kernels of Davidson's method and of eigenvectors: every architecture takes
//! them, and none spills.

use eigenforge::path::footprints;
use eigenforge::runtime::jit::{Arch, CacheFolder, Jit, Settings};
use eigenforge_templates::eigen::{CardLimits, DavidsonChainPlan, DavidsonPlan, EigenpairsPlan, Extent, SymmetricRows};

#[test]
fn no_kernel_spills_on_any_architecture() {
    let cache = tempfile::tempdir().unwrap();
    let settings = Settings {
        cache: CacheFolder::At(cache.path().into()),
        cache_readonly: vec![],
        ..Settings::from_env().expect("the environment's settings are sound")
    };
    let Some(jit) = Jit::for_tests(&settings) else { return };
    let davidson = DavidsonPlan::new("test");
    let all_pairs = [EigenpairsPlan::new("test"), EigenpairsPlan::long("test")];
    let extent = Extent { n: 1000, stride: 1024, width: 3, below: 2 };
    let launches: Vec<_> = DavidsonPlan::ENTRIES.iter().map(|entry| davidson.launch(entry, extent).unwrap()).collect();
    let mut texts = vec![(davidson.text().unwrap(), launches)];
    // Of a chain's own texts the narrowest, those beside a change of the blocks per multiprocessor or of the elements read ahead, that of
    // the widest basis, and the widest that registers are planned to hold.
    let wide = DavidsonPlan { width: 40, ..DavidsonPlan::new("test") };
    let all = DavidsonChainPlan::all(&wide, 100_000);
    let last = all.len();
    for own in all.into_iter().filter(|own| [1, 3, 4, 6, 10, 11, 20, last].contains(&own.columns)) {
        let extent = Extent { n: 90_000, stride: own.stride, width: own.columns, below: 0 };
        let launches = DavidsonChainPlan::ENTRIES.iter().map(|entry| own.launch(entry, extent).unwrap()).collect();
        texts.push((own.text().unwrap(), launches));
    }
    for eigenpairs in all_pairs {
        let list = [SymmetricRows { first: 0, rows: 100, values: 0 }];
        let card = CardLimits { resident: 90, shared_bytes: 227 << 10, multiprocessors: 132 };
        let mut steps = eigenpairs.launches(&list, card, 100 * 100, 100).unwrap().steps;
        steps.dedup_by_key(|step| step.launch.entry.clone());
        texts.push((eigenpairs.text().unwrap(), steps.into_iter().map(|step| step.launch).collect()));
    }
    for (major, minor) in [(8, 0), (9, 0), (10, 0)] {
        for (text, launches) in &texts {
            let cubin =
                jit.compile(text, Arch::from_capability(major, minor)).unwrap_or_else(|error| panic!("{error}"));
            let found = footprints(&cubin, None, launches).unwrap();
            assert_eq!(found.len(), launches.len());
            for kernel in found {
                assert_eq!(
                    (kernel.spilled.unwrap_or(0), kernel.stack),
                    (0, 0),
                    "{} on sm_{major}{minor}: {kernel}",
                    text.name
                );
            }
        }
    }
}
