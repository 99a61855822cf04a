//! C. Nemes, G. Barcza, Z. Nagy, Ö. Legeza, P. Szolgay, The density matrix renormalization group algorithm on kilo-processor
//! architectures: implementation and trade-offs, Comput. Phys. Commun. 185 (2014) 1570.

use super::{Paper, PublishedTable};

/// Of every table of whole runs.
const LENGTHS: &str = "the lengths of the chains and how many steps have full blocks";

pub(super) const TABLES: &[PublishedTable] = &[
    PublishedTable {
        paper: Paper::Dmrg,
        number: 1,
        figure: None,
        caption: "matrix-vector operations of Davidson's algorithm (lines of Algorithm 3), m = 4,096",
        place: "section 6.1",
        row_header: "model, line",
        columns: &[("Xeon E5", "s"), ("Xeon E5 + K20", "s"), ("speed-up", "")],
        text: "
            Heisenberg, line 3  | 20.21  | 4.64  | 4.36
            Heisenberg, line 5  | 19.07  | 10.45 | 1.83
            Heisenberg, line 12 | 20.05  | 5.94  | 3.38
            Heisenberg, line 13 | 17.55  | 9.68  | 1.81
            Hubbard, line 3     | 113.80 | 22.66 | 5.02
            Hubbard, line 5     | 94.29  | 54.22 | 1.74
            Hubbard, line 12    | 114.00 | 37.67 | 3.03
            Hubbard, line 13    | 87.29  | 50.21 | 1.74",
        unknown: &[LENGTHS, "the unit of the times, which is taken to be seconds as in the other tables"],
        remarks: &[],
    },
    PublishedTable {
        paper: Paper::Dmrg,
        number: 2,
        figure: None,
        caption: "total time by scheduling strategy, m = 4,096",
        place: "section 7",
        row_header: "card, model",
        columns: &[("NoStream", "s"), ("4Streams", "s"), ("decrease", "%")],
        text: "
            GTX 570, Heisenberg | 671.54  | 652.58  | 2.82%
            GTX 570, Hubbard    | 2980.27 | 2957.82 | 0.75%
            K20, Heisenberg     | 244.67  | 227.33  | 7.09%
            K20, Hubbard        | 1056.33 | 1012.56 | 4.14%",
        unknown: &[LENGTHS],
        remarks: &["Table 5 gives 1067.89 s for the Hubbard model where this table has 1056.33"],
    },
    PublishedTable {
        paper: Paper::Dmrg,
        number: 3,
        figure: None,
        caption: "Heisenberg model, whole run at m = 4,096",
        place: "section 9",
        row_header: "",
        columns: &[("time", "s"), ("speed-up over Core-i7", ""), ("speed-up over Xeon E5", "")],
        text: "
            Core-i7           | 1489.64 | 1    | 0.53
            Core-i7 + GTX 570 | 652.58  | 2.28 | 1.21
            Xeon E5           | 789.65  | 1.89 | 1
            Xeon E5 + K20     | 227.33  | 6.55 | 3.47",
        unknown: &[LENGTHS],
        remarks: &[],
    },
    PublishedTable {
        paper: Paper::Dmrg,
        number: 4,
        figure: None,
        caption: "Hubbard model, whole run at m = 4,096",
        place: "section 9",
        row_header: "",
        columns: &[("time", "s"), ("speed-up over Core-i7", ""), ("speed-up over Xeon E5", "")],
        text: "
            Core-i7           | 7210.72 | 1    | 0.48
            Core-i7 + GTX 570 | 2957.82 | 2.44 | 1.16
            Xeon E5           | 3433.16 | 2.10 | 1
            Xeon E5 + K20     | 1012.56 | 7.12 | 3.39",
        unknown: &[LENGTHS],
        remarks: &[],
    },
    PublishedTable {
        paper: Paper::Dmrg,
        number: 5,
        figure: None,
        caption: "the two models compared on Xeon E5 + K20",
        place: "section 9",
        row_header: "",
        columns: &[("Heisenberg", ""), ("Hubbard", ""), ("ratio", "")],
        text: "
            time [s]                                  | 244.67    | 1067.89   | 4.36
            floating-point operations                 | 1.22E+014 | 4.89E+014 | 4.01
            largest superblock                        | 12.24E+06 | 15.32E+06 | 1.25
            largest sector                            | 4.00E+06  | 3.47E+06  | 0.87
            sectors, on average                       | 9.36      | 50.71     | 5.42
            largest matrix                            | 1704.23   | 1145.24   | 0.67
            peak footprint on the card                | 950.47    | 1155.48   | 1.22
            Davidson iterations from random, average  | 60.79     | 122.43    | 2.01",
        unknown: &[
            LENGTHS,
            "the unit of the footprint, presumably MB, and over which matrices the broken size is averaged",
        ],
        remarks: &[],
    },
];
