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
    PAIRS = "exact/pairs.cu.jinja",
    SYMMETRY_PARTNERS = "exact/symmetry_partners.cu.jinja",
    SYMMETRY_SECTOR = "exact/symmetry_sector.cu.jinja",
    SYMMETRY_STRINGS = "exact/symmetry_strings.cu.jinja",
    FULL_CI = "ci/full_ci.cu.jinja",
    FULL_CI_SLABS = "ci/full_ci_slabs.cu.jinja",
    CI_ROWS = "ci/rows.cu.jinja",
    SPIN_TRANSFORM = "ci/spin_transform.cu.jinja",
    SPARSE = "sparse/sparse.cu.jinja",
    SYMMETRIC = "sparse/symmetric.cu.jinja",
    GROUPED_PRODUCTS = "dmrg/grouped_products.cu.jinja",
    MATRIX_COPIES = "dmrg/matrix_copies.cu.jinja",
    OPERATOR_ASSEMBLY = "dmrg/operator_assembly.cu.jinja",
    STREAMED_PRODUCTS = "dmrg/streamed_products.cu.jinja",
    DAVIDSON = "eigen/davidson.cu.jinja",
    DAVIDSON_CHAIN = "eigen/davidson_chain.cu.jinja",
    EIGENPAIRS = "eigen/eigenpairs.cu.jinja",
    PIVOTED_CHOLESKY = "eigen/pivoted_cholesky.cu.jinja",
    SU3_COEFFICIENTS = "su3/coefficients.cu.jinja",
    SU3_PAPER = "su3/paper.cu.jinja",
    SU3_TRANSFORM = "su3/transform.cu.jinja",
    COLUMN_COPIES = "column_copies.cu.jinja",
    VECTOR_PROGRAM = "vector_program.cu.jinja",
);

// Parts that may be included in one.
templates!(PARTS:
    DIAGONAL = "exact/diagonal.cu.jinja",
    ELEMENT_FUNCTION = "element_function.cu.jinja",
    LISTED = "listed.cuh",
    FULL_CI_DIAGONAL = "ci/diagonal.cuh.jinja",
    STATES = "exact/states.cu.jinja",
    GENERAL_STAGED = "exact/general_staged.cu.jinja",
    GENERAL_STATES = "exact/general_states.cu.jinja",
    KRONECKER_TILES = "exact/kronecker_tiles.cu.jinja",
    KRONECKER_RUNS = "exact/kronecker_runs.cu.jinja",
    STRINGS_WORD = "exact/strings_word.cuh.jinja",
    PAIRS_WORD = "exact/pairs_word.cuh.jinja",
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
    WARP_PRODUCT = "warp_product.cuh.jinja",
    WARP_SUMS = "warp_sums.cuh",
    SPARSE_NUMBER = "sparse/number.cuh.jinja",
    LEAST_BY_RUNS = "exact/least_by_runs.cuh.jinja",
    LEAST_BY_ROWS = "exact/least_by_rows.cuh.jinja",
    DAVIDSON_SWEEPS = "eigen/davidson_sweeps.cuh.jinja",
    MEET = "eigen/meet.cuh",
    NEIGHBOURS = "exact/neighbours.cuh.jinja",
    RANKS = "exact/ranks.cuh.jinja",
    SYMMETRY_GROUP = "exact/symmetry_group.cuh.jinja",
    SYMMETRY_ROWS = "exact/symmetry_rows.cuh.jinja",
    SHARE = "share.cuh",
);

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are a warp's width, one less, its mask or its logarithm on an NVIDIA GPU.
    const WIDTHS: [&str; 6] = ["32", "31", "32u", "31u", "0xffffffff", "0xffffffffu"];
    /// What they mean where they are something else.
    const OTHERS: [&str; 6] = [
        "constexpr u32 ALL_LANES = 0xffffffffu >> (32 - WARP);", // bits of a mask
        "constexpr u32 NOTHING = 0xffffffffu;",                  // no tile
        "constexpr u32 NO_COLUMN = 0xffffffffu;",
        "held <= 32 ? 5 : held <= 64 ? 6", // rows of a tile
        "z ^= z >> 31;",                   // bits of a random number
        ">> 32",                           // the upper word of 64 bits
    ];

    /// The lines of code of a template that have one of the numbers, and none of their other meanings.
    fn literal_widths(source: &str) -> Vec<&str> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let literal = |line: &&str| {
            let code = line.split("//").next().unwrap_or_default();
            let others = OTHERS.iter().fold(code.to_string(), |code, other| code.replace(other, ""));
            let shift = |at: &str| code.contains(at) && code.contains("threadIdx");
            others.split(|c| !is_word(c)).any(|word| WIDTHS.contains(&word)) || shift(">> 5") || shift("<< 5")
        };
        source.lines().filter(literal).collect()
    }

    /// The width of a warp is a number of the plan: a template has it as `WARP`, and its mask as `ALL_LANES`.
    #[test]
    fn no_template_has_the_width_of_a_warp_as_a_number() {
        let seen =
            ["int lane = threadIdx.x & 31;", "int warp = threadIdx.x >> 5;", "shfl(0xffffffffu, x)", "i * 32 + 1"];
        assert!(seen.iter().all(|line| !literal_widths(line).is_empty()));
        assert!(literal_widths("x = y >> 32; // 32 lanes").is_empty());
        for Template { name, source } in WHOLE.iter().chain(PARTS).chain(INCLUDED) {
            let found = literal_widths(source);
            assert!(found.is_empty(), "{name}: write WARP or ALL_LANES, or name the number:\n{}", found.join("\n"));
        }
    }
}
