//! Interactions as SU(3) × SU(2) tensors: one test binary, one module per subject.

#[path = "su3/cards.rs"]
mod cards;
#[path = "su3/command.rs"]
mod command;
#[path = "su3/device.rs"]
mod device;
#[path = "su3/forces.rs"]
mod forces;
#[path = "su3/h2.rs"]
mod h2;
#[path = "su3/levels.rs"]
mod levels;
#[path = "su3/me2j.rs"]
mod me2j;
#[path = "su3/operators.rs"]
mod operators;
#[path = "su3/random.rs"]
mod random;
#[path = "su3/ranked.rs"]
mod ranked;
#[path = "su3/relative.rs"]
mod relative;
#[path = "su3/runs.rs"]
mod runs;
#[path = "su3/transform.rs"]
mod transform;
