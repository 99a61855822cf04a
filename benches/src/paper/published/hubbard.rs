//! S. Yamada, M. Machida, T. Imamura, High performance eigenvalue solver for Hubbard model: tuning strategies for LOBPCG method on
//! CUDA GPU, Parallel Computing: Technology Trends, IOS Press 2020, doi:10.3233/APC200030.

use super::{Paper, PublishedTable};

pub(super) const TABLES: &[PublishedTable] = &[
    PublishedTable {
        paper: Paper::Hubbard,
        number: 1,
        figure: None,
        caption: "time of one multiply y = H x, open 4 x 4 sites, 7 + 7 electrons, dimension 130,873,600, on a \
            Tesla P100",
        place: "section 2.3",
        row_header: "part",
        columns: &[("conventional", "ms"), ("cuSPARSE", "ms"), ("tuned", "ms")],
        text: "
            D * V                    |  5.66 |  5.66 |
            V A_dn^T                 | 28.85 |  9.06 | 13.44
            A_up V                   | 33.70 | 19.07 | 13.11
            transpose (and addition) |  4.50 |  7.93 |  4.50
            total                    | 72.71 | 41.72 | 31.05",
        unknown: &["U, and the boundary: 144,144 = 24 * 6,006 non-zeros of A are those of open boundaries"],
        remarks: &["the tuned 13.44 ms are those of D * V and V A_dn^T together, which are fused"],
    },
    PublishedTable {
        paper: Paper::Hubbard,
        number: 2,
        figure: None,
        caption: "the system",
        place: "section 2.3",
        row_header: "",
        columns: &[("", "")],
        text: "
            processor        | Intel Xeon E5-2680 v4
            GPU              | NVIDIA Tesla P100
            Fortran compiler | pgfortran 17.1-0
            CUDA version     | 8.0
            compile option   | -O3 -Mcuda=6.0 -lcublas -lcusparse -llapack -lblas",
        unknown: &[],
        remarks: &[],
    },
    PublishedTable {
        paper: Paper::Hubbard,
        number: 3,
        figure: None,
        caption: "LOBPCG to the ground state, the same Hamiltonian",
        place: "section 4",
        row_header: "",
        columns: &[
            ("conventional + cuBLAS", ""),
            ("cuSPARSE + cuBLAS", ""),
            ("tuned + cuBLAS", ""),
            ("tuned + tuned", ""),
        ],
        text: "
            iterations           | 164   | 164   | 164   | 164
            time [s]             | 30.24 | 24.90 | 23.12 | 16.57
            performance [GFLOPS] | 69.0  | 83.8  | 90.3  | 125.9",
        unknown: &[
            "U, the tolerance, the start vector: iterations and seconds of a whole run cannot be compared, those of an \
                    iteration can",
            "what counts as an operation: 69.0 GFLOPS for 30.24 s are 12.7 GFLOP an iteration",
        ],
        remarks: &["the ten inner products alone take 33.29 ms by cuBLAS and 25.53 ms fused (section 3)"],
    },
];
