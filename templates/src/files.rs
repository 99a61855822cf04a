//! The CUDA templates, compiled into this crate, by their names in `templates/cuda`: one folder per family.

/// A template.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Its path in `templates/cuda`, as errors name it.
    pub name: &'static str,
    /// Its text.
    pub source: &'static str,
}

macro_rules! templates {
    ($list:ident: $($constant:ident = $name:literal,)*) => {
        $(pub(crate) const $constant: Template = Template { name: $name, source: include_str!(concat!("../cuda/", $name)) };)*
        /// All templates.
        pub(crate) const $list: &[Template] = &[$($constant),*];
    };
}

// Whole files: each text is made from one of these.
templates!(WHOLE:
    AVERAGES = "exact/averages.cu.jinja",
    GENERAL = "exact/general.cu.jinja",
    KRONECKER = "exact/kronecker.cu.jinja",
    FULL_CI = "ci/full_ci.cu.jinja",
    CI_ROWS = "ci/rows.cu.jinja",
    SPARSE = "sparse/sparse.cu.jinja",
    SYMMETRIC = "sparse/symmetric.cu.jinja",
    GROUPED_PRODUCTS = "dmrg/grouped_products.cu.jinja",
    MATRIX_COPIES = "dmrg/matrix_copies.cu.jinja",
    STREAMED_PRODUCTS = "dmrg/streamed_products.cu.jinja",
    DAVIDSON = "eigen/davidson.cu.jinja",
    EIGENPAIRS = "eigen/eigenpairs.cu.jinja",
    SU3_COEFFICIENTS = "su3/coefficients.cu.jinja",
    SU3_PAPER = "su3/paper.cu.jinja",
    SU3_TRANSFORM = "su3/transform.cu.jinja",
    VECTOR_PROGRAM = "vector_program.cu.jinja",
);

// Parts that may be included in one.
templates!(PARTS:
    DIAGONAL = "exact/diagonal.cu.jinja",
    ELEMENT_FUNCTION = "element_function.cu.jinja",
    STATES = "exact/states.cu.jinja",
    GENERAL_STAGED = "exact/general_staged.cu.jinja",
    GENERAL_STATES = "exact/general_states.cu.jinja",
    KRONECKER_TILES = "exact/kronecker_tiles.cu.jinja",
    KRONECKER_RUNS = "exact/kronecker_runs.cu.jinja",
    PRODUCT_RECORDS = "dmrg/product_records.cu.jinja",
    EIGENPAIRS_MERGED = "eigen/eigenpairs_merged.cu.jinja",
    EIGENPAIRS_TRANSFORMED = "eigen/eigenpairs_transformed.cu.jinja",
    EIGENPAIRS_TRIDIAGONAL = "eigen/eigenpairs_tridiagonal.cu.jinja",
    PRELUDE = "prelude.cuh",
    REAL_NUMBERS = "numbers_real.cuh",
    COMPLEX_NUMBERS = "numbers_complex.cuh",
    RANDOM_START = "random_start.cuh",
);

// Parts that templates include or import by name.
templates!(INCLUDED:
    MULTIPLY_FINISH = "multiply_finish.cuh",
    NEIGHBOURS = "exact/neighbours.cuh.jinja",
);
