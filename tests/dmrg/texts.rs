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
    const EVERY: &[u32] = &[80, 90, 100];
    let mut texts = vec![(davidson.text().unwrap(), launches, EVERY)];
    // Of a chain's own texts the narrowest, those beside a change of the blocks per multiprocessor or of the elements read ahead, that of
    // the widest basis, and the widest that registers are planned to hold. All architectures have as many registers: on the others two of
    // those that are nearest to the limit, the widest before a change.
    let wide = DavidsonPlan { width: 40, ..DavidsonPlan::new("test") };
    let all = DavidsonChainPlan::all(&wide, 100_000);
    let last = all.len();
    let nearest = [6, last];
    for own in all.into_iter().filter(|own| [1, 3, 4, 6, 10, 11, 20, last].contains(&own.columns)) {
        let architectures = if nearest.contains(&own.columns) { EVERY } else { &[90] };
        let extent = Extent { n: 90_000, stride: own.stride, width: own.columns, below: 0 };
        let launches = DavidsonChainPlan::ENTRIES.iter().map(|entry| own.launch(entry, extent).unwrap()).collect();
        texts.push((own.text().unwrap(), launches, architectures));
    }
    for eigenpairs in all_pairs {
        let list = [SymmetricRows { first: 0, rows: 100, values: 0 }];
        let card = CardLimits { resident: 90, shared_bytes: 227 << 10, multiprocessors: 132 };
        let mut steps = eigenpairs.launches(&list, card, 100 * 100, 100).unwrap().steps;
        steps.dedup_by_key(|step| step.launch.entry.clone());
        texts.push((eigenpairs.text().unwrap(), steps.into_iter().map(|step| step.launch).collect(), EVERY));
    }
    for (text, launches, architectures) in &texts {
        for arch in architectures.iter().copied().map(Arch) {
            let cubin = jit.compile(text, arch).unwrap_or_else(|error| panic!("{error}"));
            let found = footprints(&cubin, None, launches).unwrap();
            assert_eq!(found.len(), launches.len());
            for kernel in found {
                assert_eq!((kernel.spilled.unwrap_or(0), kernel.stack), (0, 0), "{} on {arch}: {kernel}", text.name);
            }
        }
    }
}
