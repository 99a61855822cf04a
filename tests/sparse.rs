//! Sparse matrices in every format: y = A x and x·y on the CPU and by the generated text on a simulated device, against
//! sums over the rows of the matrix; and real configuration-interaction matrices with the products that others
//! computed.

#[path = "sparse/cards.rs"]
mod cards;
#[path = "sparse/choice.rs"]
mod choice;
#[path = "sparse/command.rs"]
mod command;
#[path = "sparse/eigenvalues.rs"]
mod eigenvalues;
#[path = "sparse/formats.rs"]
mod formats;
#[path = "sparse/matrices.rs"]
mod matrices;
#[path = "sparse/model.rs"]
mod model;
#[path = "sparse/numbers.rs"]
mod numbers;
#[path = "sparse/reference.rs"]
mod reference;
#[path = "sparse/resources.rs"]
mod resources;
#[path = "sparse/symmetric.rs"]
mod symmetric;
