//! Every case of the reference data, exact anchors and random models, on the CPU and, with
//! EIGENFORGE_TEST_DEVICE=cuda, on the GPU.
//!
//! In: tests/data/*.json (sources in `reference/cases.rs`). Out: energies to 1e-9, multiplicities, true residuals,
//! observables to 1e-7. `-- --nocapture` prints the time of each case; EIGENFORGE_ROOT names another checkout.

mod reference {
    pub mod cases;
    pub mod compare;
    pub mod free;
    pub mod majorana;
    pub mod ours;

    mod anchors;
    mod entanglement;
    mod evolution;
    mod export;
    mod gauge;
    mod holes;
    mod hubbard;
    mod imports;
    mod listed;
    mod literature;
    mod matrices;
    mod models;
    mod random;
    mod ranks;
    mod renumbered;
    mod several_cards;
    mod site_sums;
    mod spectra;
    mod spins;
    mod symmetric;
    mod thermal;
    mod units;
}
