//! Configuration interaction against reference data and against second quantisation by brute force.
//!
//! In: tests/data/ci (FCIDUMP files, matrices and energies made with PySCF and checked by a second program; each file says
//! how). Out: matrices to 1e-12, energies to 1e-9, every refusal of the readers.

mod ci {
    pub mod data;
    pub mod operator;
    pub mod operators;
    pub mod oracle;
    pub mod random;

    mod complex;
    mod csf;
    mod density;
    mod direct;
    mod direct_on_device;
    mod energies;
    mod far_apart;
    mod fcidump;
    mod front_end;
    mod matrices;
    mod natural;
    mod on_the_fly;
    mod orbsym;
    mod ranks;
    mod second_quantised;
    mod spaces;
    mod spin;
}
