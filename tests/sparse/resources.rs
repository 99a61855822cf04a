//! What the compiler makes of every format, without a card: no spills, registers for 1,024 threads a multiprocessor,
//! and values in loads of 16 bytes where a lane takes two at a time.

use super::matrices::with_numbers;
use super::symmetric::symmetric;
use eigenforge::path::footprints;
use eigenforge::runtime::jit::{Arch, CacheFolder, Disassembler, Jit, Settings};
use eigenforge::sparse::{FormatName, FormatRanking, FormatRequest, NumberKind, RowStatistics, Stored, Target};
use eigenforge_benches::synthetic::Synthetic;
use eigenforge_runtime::machine::Card;
use eigenforge_templates::ScalarType;
use eigenforge_templates::sparse::ColumnWord;
use std::path::PathBuf;

/// NVRTC with a cache of its own, which the test removes, and the disassembler; nothing where there is no NVRTC.
fn compiler(name: &str) -> Option<(Jit, Option<Disassembler>, PathBuf)> {
    let cache = std::env::temp_dir().join(format!("eigenforge-{name}-{}", std::process::id()));
    let settings = Settings {
        cache: CacheFolder::At(cache.clone()),
        cache_readonly: vec![],
        ..Settings::from_env().expect("the environment's settings are sound")
    };
    Some((Jit::for_tests(&settings)?, Disassembler::find(&settings).ok(), cache))
}

#[test]
fn the_kernels_of_every_format_fit_the_card() {
    let Some((jit, disassembler, cache)) = compiler("sparse") else { return };
    // Half of a symmetric matrix.
    let half = symmetric(2048, 4, |_| 60);
    let wish = FormatRequest { format: Some(FormatName::Symmetric), ..FormatRequest::default() };
    let layout = &FormatRanking::new(&half, &RowStatistics::new(&half), Target::H200, wish).best().layout.clone();
    let plan = Stored::new("footprint", &half, layout, ScalarType::F64, ScalarType::F64).unwrap().plan;
    let cubin =
        jit.compile(&plan.text().unwrap(), Arch::from_capability(9, 0)).unwrap_or_else(|error| panic!("{error}"));
    for kernel in footprints(&cubin, disassembler.as_ref(), &plan.launches().unwrap()).unwrap() {
        assert_eq!((kernel.spilled, kernel.stack), (Some(0), 0), "{kernel}");
        assert!(kernel.registers <= 64, "{kernel}");
    }
    // The paper's smaller family at an eighth of its rows, on an eighth of a card.
    let matrix = Synthetic { rows: 4096, reference_columns: 409, reference: 327_680, expansion: 150_000, seed: 3 };
    let matrix = matrix.matrix().unwrap();
    let target = Target::all_of(Card { multiprocessors: 16, shared_bytes: 28 << 10, ..Card::H200 });
    let choice = FormatRanking::new(&matrix, &RowStatistics::new(&matrix), target, FormatRequest::default());
    let mut seen = std::collections::BTreeSet::new();
    for candidate in choice.candidates.iter().filter(|candidate| seen.insert(candidate.format.word())) {
        for vectors in [1, 4] {
            let stored = Stored::new("footprint", &matrix, &candidate.layout, ScalarType::F64, ScalarType::F64);
            let mut plan = stored.unwrap().plan.with_vectors(vectors);
            if vectors > 1 {
                plan.parts.iter_mut().for_each(|part| part.staged = 0);
            }
            let (text, launches) = (plan.text().unwrap(), plan.launches().unwrap());
            let cubin = jit.compile(&text, Arch::from_capability(9, 0)).unwrap_or_else(|error| panic!("{error}"));
            let found = footprints(&cubin, disassembler.as_ref(), &launches).unwrap();
            let multiply = found.iter().find(|kernel| kernel.name == "multiply").unwrap();
            let what = format!("{} for {vectors}: {multiply}", candidate.format);
            // For four vectors 64 registers are just enough: some releases of NVRTC keep an address or two on the stack.
            let most = if vectors == 1 { 0 } else { 16 };
            assert!(multiply.spilled.is_some_and(|bytes| bytes <= most) && u64::from(multiply.stack) <= most, "{what}");
            assert!(multiply.registers <= 64, "{what}");
            if let (Some(mix), true) = (multiply.mix, plan.parts.iter().all(|part| part.pack == 2)) {
                assert!(mix.global_loads.b128 >= 1, "{what}");
            }
        }
    }
    assert!(seen.len() >= 4, "only {seen:?} were candidates");
    std::fs::remove_dir_all(&cache).unwrap();
}

/// Complex numbers and quaternions, with values and with codes: no spills, and values in loads of 16 bytes.
#[test]
fn the_kernels_of_numbers_fit_the_card() {
    let Some((jit, disassembler, cache)) = compiler("numbers") else { return };
    let places = Synthetic { rows: 2048, reference_columns: 204, reference: 30_000, expansion: 20_000, seed: 3 };
    let places = places.matrix().unwrap();
    for (kind, vectors, codes, format) in [
        (NumberKind::Complex, 1, false, FormatName::Csr),
        (NumberKind::Complex, 1, true, FormatName::Hybrid),
        (NumberKind::Complex, 4, false, FormatName::SlicedEll),
        (NumberKind::Quaternion, 1, false, FormatName::SlicedEll),
        (NumberKind::Quaternion, 1, false, FormatName::Hybrid),
        (NumberKind::Quaternion, 2, true, FormatName::Csr),
    ] {
        let matrix = with_numbers(&places, kind, 5, codes.then_some(9));
        let wish = FormatRequest { format: Some(format), ..FormatRequest::default() };
        let ranking = FormatRanking::new(&matrix, &RowStatistics::new(&matrix), Target::H200, wish);
        let mut layout = ranking.best().layout.clone();
        layout.parts.iter_mut().filter(|_| codes).for_each(|part| part.columns = ColumnWord::Coded32);
        let stored = Stored::new("footprint", &matrix, &layout, ScalarType::F64, ScalarType::F64).unwrap();
        let plan = stored.plan.with_vectors(vectors);
        let (text, launches) = (plan.text().unwrap(), plan.launches().unwrap());
        let cubin = jit.compile(&text, Arch::from_capability(9, 0)).unwrap_or_else(|error| panic!("{error}"));
        let found = footprints(&cubin, disassembler.as_ref(), &launches).unwrap();
        let multiply = found.iter().find(|kernel| kernel.name == "multiply").unwrap();
        let what = format!("{kind}, {vectors} at once, {plan}: {multiply}");
        assert_eq!((multiply.spilled, multiply.stack), (Some(0), 0), "{what}");
        assert!(multiply.registers <= 64, "{what}");
        assert!(multiply.mix.is_none_or(|mix| mix.global_loads.b128 >= 1), "{what}");
    }
    std::fs::remove_dir_all(&cache).unwrap();
}
