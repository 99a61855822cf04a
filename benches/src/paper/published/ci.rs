//! M. Mahmoud, M. Hoffmann, H. Reza, Developing a new storage format and a warp-based SpMV kernel for configuration interaction
//! sparse matrices on the GPU, Computation 6 (2018) 45, doi:10.3390/computation6030045.

use super::{Paper, PublishedTable};

/// Of the ten matrices of 32,768 rows.
const MATRICES: &str = "the matrices themselves; ours are random with the same densities of the two regions";
/// Of the ten of 1,048,576 rows.
const LARGE: &str = "every statistic of the matrices of 1,048,576 rows: non-zeros, row lengths, BOUNDARY. Ours have \
    30 + 19 \
                     non-zeros a row on average and BOUNDARY = 30";
/// Of Tables 6 to 8.
const OF_BLOCKS: &str = "which matrix it is: one of 32,768 rows, by the times of Table 9";
const BLOCKS: &[(&str, &str)] = &[("min", "ms"), ("max", "ms"), ("avg", "ms")];
const PROGRAMS: &[(&str, &str)] = &[("cuSPARSE", "ms"), ("CSR5", "ms"), ("the proposed model", "ms")];

pub(super) const TABLES: &[PublishedTable] = &[
    PublishedTable {
        paper: Paper::Ci,
        number: 1,
        figure: None,
        caption: "singlet configuration state functions of H2O in 6-31G(d), 10 electrons in 19 orbitals",
        place: "section 2.1",
        row_header: "excitation level",
        columns: &[("CSFs", "")],
        text: "
            1  | 71
            2  | 2556
            3  | 42,596
            4  | 391,126
            5  | 2,114,666
            6  | 7,147,876
            7  | 15,836,556
            8  | 24,490,201
            9  | 29,044,751
            10 | 30,046,752",
        unknown: &[],
        remarks: &[],
    },
    PublishedTable {
        paper: Paper::Ci,
        number: 2,
        figure: None,
        caption: "the card",
        place: "section 6",
        row_header: "",
        columns: &[("Tesla K20m", "")],
        text: "
            compute capability                       | 3.5
            maximum memory pitch                     | 2,147,483,647
            clock rate [kHz]                         | 705,500
            texture alignment                        | 512
            concurrent copy and execution            | Yes
            kernel execution timeout                 | No
            multiprocessors                          | 13
            threads of a multiprocessor, at most     | 2048
            threads of a block, at most              | 1024
            dimensions of a block, at most           | 1024, 1024, 64
            dimensions of a grid, at most            | 2,147,483,647, 65,535, 65,535
            registers of a block                     | 65,536
            shared memory of a block [bytes]         | 49,152
            constant memory [bytes]                  | 65,536
            global memory [bytes]                    | 4,972,937,216
            warp size                                | 32",
        unknown: &[],
        remarks: &[],
    },
    PublishedTable {
        paper: Paper::Ci,
        number: 3,
        figure: None,
        caption: "non-zeros of the ten matrices of 32,768 rows",
        place: "section 6",
        row_header: "matrix",
        columns: &[("reference", ""), ("expansion", ""), ("total", ""), ("longest row", ""), ("its number", "")],
        text: "
            Matrix 1  | 21,463,040 | 9,678,327 | 31,141,367 | 1074 | 5314
            Matrix 2  | 21,463,040 | 9,673,031 | 31,136,071 | 1069 | 6144
            Matrix 3  | 21,463,040 | 9,666,827 | 31,129,867 | 1078 | 22,358
            Matrix 4  | 21,463,040 | 9,670,529 | 31,133,569 | 1068 | 21,549
            Matrix 5  | 21,463,040 | 9,669,733 | 31,132,773 | 1060 | 4233
            Matrix 6  | 21,463,040 | 9,673,530 | 31,136,570 | 1069 | 28,394
            Matrix 7  | 21,463,040 | 9,666,857 | 31,129,897 | 1079 | 21,836
            Matrix 8  | 21,463,040 | 9,670,234 | 31,133,274 | 1077 | 20,148
            Matrix 9  | 21,463,040 | 9,661,419 | 31,124,459 | 1067 | 12,787
            Matrix 10 | 21,463,040 | 9,670,316 | 31,133,356 | 1064 | 25,678",
        unknown: &[MATRICES],
        remarks: &[
            "all ten have the same number in the reference region, exactly 655 a row: it is what the ELLPACK part \
             holds with \
                    BOUNDARY = 655. The totals are those of binomial rows, 3,276 columns at 20 % and 29,492 at 1 %: \
                    31,133,533 on \
                    average, printed 31,133,120",
        ],
    },
    PublishedTable {
        paper: Paper::Ci,
        number: 4,
        figure: None,
        caption: "sparsity of the regions of the ten matrices of 32,768 rows",
        place: "section 6",
        row_header: "matrix",
        columns: &[("reference", ""), ("expansion", ""), ("total", "")],
        text: "
            Matrix 1  | 0.800110 | 0.989985 | 0.970997
            Matrix 2  | 0.800110 | 0.989990 | 0.971002
            Matrix 3  | 0.800110 | 0.989997 | 0.971008
            Matrix 4  | 0.800110 | 0.989993 | 0.971005
            Matrix 5  | 0.800110 | 0.989994 | 0.971005
            Matrix 6  | 0.800110 | 0.989990 | 0.971002
            Matrix 7  | 0.800110 | 0.989997 | 0.971008
            Matrix 8  | 0.800110 | 0.989993 | 0.971005
            Matrix 9  | 0.800110 | 0.990002 | 0.971013
            Matrix 10 | 0.800110 | 0.989993 | 0.971005",
        unknown: &[MATRICES],
        remarks: &["the columns are headed (%) and are shares of zeros"],
    },
    PublishedTable {
        paper: Paper::Ci,
        number: 5,
        figure: None,
        caption: "memory of the ten matrices of 32,768 rows",
        place: "section 6",
        row_header: "matrix",
        columns: &[("CSR", "MiB"), ("ELLPACK", "MiB"), ("sliced ELLPACK", "MiB"), ("proposed model", "MiB")],
        text: "
            Matrix 1  | 356.44 | 407.25 | 397.13 | 356.76
            Matrix 2  | 356.46 | 398.25 | 395.06 | 356.70
            Matrix 3  | 356.39 | 405.75 | 404.44 | 356.63
            Matrix 4  | 356.49 | 403.88 | 397.03 | 356.67
            Matrix 5  | 356.39 | 399.38 | 395.06 | 356.66
            Matrix 6  | 356.38 | 399.75 | 397.59 | 356.70
            Matrix 7  | 356.45 | 400.88 | 396.94 | 356.63
            Matrix 8  | 356.51 | 401.25 | 396.56 | 356.67
            Matrix 9  | 356.43 | 402.75 | 398.25 | 356.57
            Matrix 10 | 356.44 | 405    | 403.13 | 356.67
            Average   | 356.44 | 402.41 | 398.12 | 356.67",
        unknown: &[MATRICES, "rows of a slice of sliced ELLPACK"],
        remarks: &[
            "by the paper's own formulas matrix 1 of Table 3 takes 356.51 MiB as CSR and 402.75 as ELLPACK; the \
             columns CSR \
                    and ELLPACK do not belong to the row lengths of Table 3, the proposed model's does",
        ],
    },
    PublishedTable {
        paper: Paper::Ci,
        number: 6,
        figure: None,
        caption: "time of the proposed kernel with blocks of 16 threads, five runs",
        place: "section 6",
        row_header: "run",
        columns: BLOCKS,
        text: "
            1 | 4.8877 | 4.8877 | 4.8877
            2 | 4.8884 | 4.8884 | 4.8884
            3 | 4.8891 | 4.8891 | 4.8891
            4 | 4.8882 | 4.8882 | 4.8882
            5 | 4.8870 | 4.8870 | 4.8870
            Average | | | 4.8881",
        unknown: &[OF_BLOCKS],
        remarks: &["as printed, Algorithm 7 gives a row 32 lanes of consecutive threads and adds them through shared \
             memory: with blocks \
                    of 16 half of each row lies in another block and would be lost. Ours takes 16 lanes a row there"],
    },
    PublishedTable {
        paper: Paper::Ci,
        number: 7,
        figure: None,
        caption: "time of the proposed kernel with blocks of 32 threads, five runs",
        place: "section 6",
        row_header: "run",
        columns: BLOCKS,
        text: "
            1 | 3.2847 | 3.2847 | 3.2847
            2 | 3.2838 | 3.2838 | 3.2838
            3 | 3.2843 | 3.2843 | 3.2843
            4 | 3.2834 | 3.2834 | 3.2834
            5 | 3.2859 | 3.2859 | 3.2859
            Average | | | 3.2844",
        unknown: &[OF_BLOCKS],
        remarks: &[],
    },
    PublishedTable {
        paper: Paper::Ci,
        number: 8,
        figure: None,
        caption: "time of the proposed kernel with blocks of 64 threads, five runs",
        place: "section 6",
        row_header: "run",
        columns: BLOCKS,
        text: "
            1 | 3.5451 | 3.5451 | 3.5451
            2 | 3.5424 | 3.5424 | 3.5424
            3 | 3.5437 | 3.5437 | 3.5437
            4 | 3.5410 | 3.5410 | 3.5410
            5 | 3.5448 | 3.5448 | 3.5448
            Average | | | 3.5434",
        unknown: &[OF_BLOCKS],
        remarks: &[
            "Algorithm 7 declares 32 numbers of shared memory and indexes them by the thread; ours has as many as \
             threads",
        ],
    },
    PublishedTable {
        paper: Paper::Ci,
        number: 9,
        figure: Some(6),
        caption: "time of one multiply, ten matrices of 32,768 rows",
        place: "section 6",
        row_header: "matrix",
        columns: PROGRAMS,
        text: "
            Matrix 1  | 12.6567 | 7.3672 | 3.3661
            Matrix 2  | 12.8334 | 8.1694 | 3.3573
            Matrix 3  | 12.1227 | 7.8954 | 3.4127
            Matrix 4  | 13.1043 | 8.2654 | 3.5434
            Matrix 5  | 13.4352 | 8.1489 | 3.8167
            Matrix 6  | 12.3672 | 8.2336 | 3.1884
            Matrix 7  | 13.2559 | 8.3962 | 3.3655
            Matrix 8  | 13.1655 | 7.3672 | 3.3784
            Matrix 9  | 12.8985 | 8.5934 | 4.1836
            Matrix 10 | 13.3568 | 7.8349 | 3.3471
            Average   | 12.9196 | 8.0272 | 3.3661",
        unknown: &[MATRICES, "which algorithm of cuSPARSE, and the sigma of CSR5"],
        remarks: &["the printed average of the proposed model repeats matrix 1; the ten numbers average 3.4959 ms"],
    },
    PublishedTable {
        paper: Paper::Ci,
        number: 10,
        figure: Some(7),
        caption: "time of one multiply, ten matrices of 1,048,576 rows",
        place: "section 6",
        row_header: "matrix",
        columns: PROGRAMS,
        text: "
            Matrix 1  | 11.9564 | 7.8736 | 3.1583
            Matrix 2  | 12.3787 | 8.2376 | 2.9672
            Matrix 3  | 12.4513 | 9.5462 | 3.1987
            Matrix 4  | 13.5645 | 7.9456 | 2.7761
            Matrix 5  | 12.6587 | 7.9348 | 3.3762
            Matrix 6  | 12.7457 | 7.1764 | 2.9376
            Matrix 7  | 12.4874 | 7.3672 | 2.8729
            Matrix 8  | 12.4138 | 7.6327 | 3.6534
            Matrix 9  | 12.0845 | 8.3432 | 3.6249
            Matrix 10 | 13.0198 | 7.7482 | 3.2653
            Average   | 12.5761 | 7.9806 | 3.1831",
        unknown: &[LARGE, "the block size: the caption of Table 10 says 16, that of Figure 7 says 32"],
        remarks: &[],
    },
];
