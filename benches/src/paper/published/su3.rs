//! T. Oberhuber, T. Dytrych, K. D. Launey, D. Langr, J. P. Draayer, Transformation of a nucleon-nucleon potential operator into its
//! SU(3) tensor form using GPUs, Discrete Contin. Dyn. Syst. S 14 (2021).

use super::{Paper, PublishedTable};

pub(super) const TABLES: &[PublishedTable] = &[
    PublishedTable {
        paper: Paper::Su3,
        number: 1,
        figure: None,
        caption: "whole runs on Blue Waters, nodes of one AMD Opteron 6276 and one K20 with 8 processes each",
        place: "section 5",
        row_header: "N_max, MPI processes",
        columns: &[("CPU only", "s"), ("efficiency", ""), ("CPU + GPU", "s"), ("speed-up", "")],
        text: "
            8, 7+1    | 295.3 | –    | 75.3  | 3.92
            8, 15+1   | 137.6 | 1    | 36.8  | 3.73
            8, 31+1   | 66.5  | 1    | 17.5  | 3.79
            8, 63+1   | 39.4  | 0.83 | 9.23  | 4.26
            8, 127+1  | 32.8  | 0.56 | 6.35  | 5.17
            8, 255+1  | 31.0  | 0.52 | 5.22  | 5.94
            10, 7+1   | 2219  | –    | 648   | 3.42
            10, 15+1  | 1034  | 1    | 318   | 3.24
            10, 31+1  | 499   | 1    | 151   | 3.28
            10, 63+1  | 248   | 0.99 | 74    | 3.32
            10, 127+1 | 165   | 0.74 | 43    | 3.75
            10, 255+1 | 138   | 0.59 | 32    | 4.25
            12, 7+1   | 13083 | –    | 4493  | 2.91
            12, 15+1  | 6097  | 1    | 2116  | 2.88
            12, 31+1  | 2943  | 1    | 1054  | 2.79
            12, 63+1  | 1447  | 1    | 515   | 2.80
            12, 127+1 | 776   | 0.92 | 269   | 2.88
            12, 255+1 | 565   | 0.68 | 169   | 3.33
            14, 5+1   | 64865 | –    | 26104 | 2.48
            14, 15+1  | 30227 | 1    | 12204 | 2.47
            14, 31+1  | 14596 | 1    | 5944  | 2.45
            14, 63+1  | 7179  | 1    | 2932  | 2.44
            14, 127+1 | 3581  | 0.99 | 1461  | 2.45
            14, 255+1 | 2142  | 0.83 | 838   | 2.55",
        unknown: &["the interaction's values and files; the times depend on their number alone"],
        remarks: &["the first row of N_max = 14 has 5 + 1 processes where the others have 7 + 1; its time fits 7 + 1"],
    },
    PublishedTable {
        paper: Paper::Su3,
        number: 2,
        figure: None,
        caption: "whole runs with 32 MPI processes on two 16-core Power9 and one V100",
        place: "section 5",
        row_header: "N_max",
        columns: &[("CPU only", "s"), ("CPU + GPU", "s"), ("speed-up", "")],
        text: "
            8  | 41.65  | 15.78  | 2.63
            10 | 274.14 | 97.99  | 2.79
            12 | 1649.7 | 611.1  | 2.69
            14 | 7761.9 | 3407.6 | 2.27",
        unknown: &[],
        remarks: &[],
    },
];
