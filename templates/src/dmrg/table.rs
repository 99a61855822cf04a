//! The table read by grouped products: tiles, then records, each of eight 64-bit words, as declared in the text.

/// Words of a tile and of a record.
pub const WORDS: usize = 8;

/// What a record does to its part of the output block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// C += c A B.
    Product,
    /// C += c A.
    Copy,
    /// C += c 1.
    Diagonal,
}

/// One operand of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the buffer.
    pub space: u32,
    /// First element.
    pub offset: u64,
    /// Elements from one column to the next.
    pub stride: u32,
    /// Whether the transpose is meant.
    pub transposed: bool,
}

/// A record as the kernel reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductRecord {
    /// Its operation.
    pub kind: RecordKind,
    /// A, and B of a product.
    pub operands: [Place; 2],
    /// Length of the sum.
    pub inner: u32,
    /// First row and column of its part of the output block.
    pub first: [u32; 2],
    /// Rows and columns of the part.
    pub size: [u32; 2],
    /// c.
    pub coefficient: f64,
    /// Numbers of its operands' tensor maps, if they are streamed.
    pub maps: [u32; 2],
    /// Whether A's map begins a row before A.
    pub row_before: bool,
}

/// How eight warps share a tile: each holds `down` fragments of 16 rows and `across` of 8 columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragments {
    /// Warps along the rows: 4, 2 or 1; the others are along the columns.
    pub warps: u32,
    /// Fragments of 16 rows: 2 with four warps, else 1.
    pub down: u32,
    /// Fragments of 8 columns.
    pub across: u32,
}

impl Fragments {
    /// The smallest fragments that cover a tile of at most 128 × 128.
    pub fn covering(rows: u32, columns: u32) -> Fragments {
        let warps = match rows {
            0..=16 => 1,
            17..=32 => 2,
            _ => 4,
        };
        let across = columns.max(1).div_ceil(8 * (8 / warps));
        Fragments { warps, down: if rows > 64 { 2 } else { 1 }, across }
    }

    /// The same for columns in panels of 16.
    pub fn of_panels(rows: u32, columns: u32) -> Fragments {
        let found = Fragments::covering(rows, columns);
        Fragments { across: 2 * columns.max(1).div_ceil(16 * (8 / found.warps)), ..found }
    }

    /// Rows that it covers.
    pub fn rows(self) -> u32 {
        16 * self.warps * self.down
    }

    /// Columns that it covers.
    pub fn columns(self) -> u32 {
        8 * (8 / self.warps) * self.across
    }

    /// All fragments; a tile refers to one by its index.
    pub fn all() -> Vec<Fragments> {
        let of = |warps, down, most| (1..=most).map(move |across| Fragments { warps, down, across });
        of(4, 2, 8).chain(of(4, 1, 8)).chain(of(2, 1, 4)).chain(of(1, 1, 2)).collect()
    }

    /// Its index in the list of all.
    pub fn number(self) -> u32 {
        let before = match (self.warps, self.down) {
            (4, 2) => 0,
            (4, _) => 8,
            (2, _) => 16,
            _ => 20,
        };
        before + self.across - 1
    }
}

/// A part of an output block that one block of threads computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// How warps share it.
    pub fragments: Fragments,
    /// First row and column in the output block.
    pub first: [u32; 2],
    /// Rows and columns.
    pub size: [u32; 2],
    /// First element of the output block.
    pub offset: u64,
    /// Elements of the output block.
    pub length: u64,
    /// Elements from one column of the output block to the next.
    pub stride: u32,
    /// Its range in the list of records that touch tiles, products first: start, start of copies and diagonals, end.
    pub touching: [u32; 3],
}

/// Two numbers of 32 bits in one word.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl ProductRecord {
    /// Its words.
    pub fn words(&self) -> [u64; WORDS] {
        let kind = match self.kind {
            RecordKind::Product => 0,
            RecordKind::Copy => 1,
            RecordKind::Diagonal => 2,
        };
        let [a, b] = self.operands;
        let transposed = u32::from(a.transposed) << 2 | u32::from(b.transposed) << 3;
        let flags = kind | transposed | a.space << 4 | b.space << 8 | u32::from(self.row_before) << 12;
        [
            pair(flags, self.inner),
            pair(self.first[0], self.first[1]),
            pair(self.size[0], self.size[1]),
            pair(a.stride, b.stride),
            a.offset,
            b.offset,
            self.coefficient.to_bits(),
            pair(self.maps[0], self.maps[1]),
        ]
    }
}

impl Tile {
    /// Its words.
    pub fn words(&self) -> [u64; WORDS] {
        [
            pair(self.fragments.number(), self.stride),
            pair(self.first[0], self.first[1]),
            pair(self.size[0], self.size[1]),
            self.offset,
            self.length,
            pair(self.touching[0], self.touching[1]),
            pair(self.touching[2], 0),
            pair(self.fragments.rows(), self.fragments.columns()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_hold_their_tile_and_are_numbered() {
        for rows in 1..=128 {
            for columns in 1..=128 {
                let found = Fragments::covering(rows, columns);
                assert!(found.rows() >= rows && found.columns() >= columns, "{rows} x {columns}: {found:?}");
                let panels = Fragments::of_panels(rows, columns);
                assert!(panels.rows() >= rows && panels.columns() >= columns, "{rows} x {columns}: {panels:?}");
                for found in [found, panels] {
                    assert!(found.rows() <= 128 && found.columns() <= 128, "{found:?}");
                    assert_eq!(Fragments::all()[found.number() as usize], found);
                }
            }
        }
    }
}
