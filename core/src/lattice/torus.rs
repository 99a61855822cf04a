//! Periods of a cluster.
//!
//! In: the two period vectors of a tilted cluster, in cells. Out: the same torus as rows of cells with a twist (the Hermite
//! normal form of the two vectors): periods (lx, 0) and (twist, ly), 0 ≤ twist < lx. Also the shortest periods, for distances
//! (Lagrange reduction), and where a cell lies between the two vectors, for pictures.

/// The number of cells between two period vectors, |det|.
pub(super) fn cells([[a, b], [c, d]]: [[i64; 2]; 2]) -> u128 {
    (i128::from(a) * i128::from(d) - i128::from(b) * i128::from(c)).unsigned_abs()
}

/// Lengths and twist of the torus of two period vectors: \[0, 0\] if they are parallel; \[cells, 1\] if it has more than `most`
/// cells, which is refused elsewhere.
pub(super) fn rows_with_twist(rows: [[i64; 2]; 2], most: usize) -> ([usize; 2], usize) {
    let cells = match usize::try_from(cells(rows)) {
        Ok(0) => return ([0, 0], 0),
        Ok(cells) if cells <= most => cells as i128,
        beyond => return ([beyond.unwrap_or(usize::MAX), 1], 0),
    };
    // Euclid's algorithm on the second components. (cells, 0) is a period, so first components may lose multiples of it.
    let [mut row, mut next] = rows.map(|row| row.map(i128::from));
    while next[1] != 0 {
        let times = row[1] / next[1];
        (row, next) = (next, [(row[0] - times * next[0]) % cells, row[1] - times * next[1]]);
    }
    let ly = row[1].abs();
    let lx = cells / ly;
    ([lx as usize, ly as usize], (row[0] * row[1].signum()).rem_euclid(lx) as usize)
}

/// The image of a cell that lies in the parallelogram of two period vectors, edges at the origin included.
pub(super) fn in_parallelogram(rows: [[i64; 2]; 2], [x, y]: [i64; 2]) -> [f64; 2] {
    let ([[a, b], [c, d]], [x, y]) = (rows.map(|row| row.map(i128::from)), [x, y].map(i128::from));
    let (cells, sign) = (cells(rows) as i128, (a * d - b * c).signum());
    // cell = (n1 row 1 + n2 row 2) / cells; whole turns are taken out of n1 and n2.
    let [n1, n2] = [x * d - y * c, y * a - x * b].map(|turns| (sign * turns).rem_euclid(cells));
    [(n1 * a + n2 * c) / cells, (n1 * b + n2 * d) / cells].map(|cells| cells as f64)
}

/// A vector in cells as one of the plane.
pub(super) fn cartesian(cells: [i64; 2], [a1, a2]: [[f64; 2]; 2]) -> [f64; 2] {
    [0, 1].map(|axis| cells[0] as f64 * a1[axis] + cells[1] as f64 * a2[axis])
}

pub(super) fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

/// The two shortest vectors, the shorter one first, that span what `periods` span; all in cells. A period of an open direction is
/// zero.
pub(super) fn shortest(periods: [[i64; 2]; 2], vectors: [[f64; 2]; 2]) -> [[i64; 2]; 2] {
    let product = |a, b| dot(cartesian(a, vectors), cartesian(b, vectors));
    let [mut short, mut long] = periods;
    if product(long, long) < product(short, short) {
        (short, long) = (long, short);
    }
    while short != [0, 0] {
        let times = (product(short, long) / product(short, short)).round() as i64;
        long = [0, 1].map(|d| long[d] - times * short[d]);
        if product(long, long) >= product(short, short) {
            break;
        }
        (short, long) = (long, short);
    }
    [short, long]
}
