//! DMRG against exact solutions, another program, and this project's exact diagonalisation.
//!
//! In: tests/data/dmrg/references.json (each energy says where it is from) and random models. Out: energies to 1e-9 with
//! variances below 1e-9, entropies, averages; operator sums as dense matrices; runs that were killed.

mod dmrg {
    pub mod random;

    mod averaged;
    mod averages;
    mod charges;
    mod checkpoint;
    mod complex;
    mod devices;
    mod evidence;
    mod exact;
    mod excited;
    mod expanding;
    mod full_block;
    mod infinite;
    mod lowest;
    mod memory;
    mod mixed;
    mod operator_sum;
    mod orbitals;
    mod phases;
    mod references;
    mod refused;
    mod scales;
    mod several_cards;
    mod stuck;
    mod texts;

    /// A file of tests/data/dmrg.
    fn data(name: &str) -> String {
        // The tests also run on machines where they were not built.
        let root =
            std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/..").into());
        let path = std::path::Path::new(&root).join("tests").join("data").join("dmrg").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
