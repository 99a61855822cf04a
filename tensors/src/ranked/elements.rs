//! Reduced elements of an operator of rank J0 as a table of labels.
//!
//! Columns: `channel,na,nb,nc,nd,la,twoja,lb,twojb,lc,twojc,ld,twojd,J0,Jbra,Jket,value`, one row per element, both orders of every pair,
//! bra and ket. The value is ⟨ab; Jbra‖O^{J0}‖cd; Jket⟩ in the convention of Edmonds, eq. 5.4.1, for a proton and a neutron, and
//! √((1+δab)(1+δcd)) times that of normalised states for two of a kind; radial functions positive at infinity. J0 and the parity of the
//! operator are those of the first row.

use super::layout::{Rank, RankedGroup, RankedPlan};
use crate::Plan;
use crate::channel::{ByChannel, Channel, TableNumbers, check_complete};
use crate::csv::{Reader, Row, TableError};
use crate::elements::{StateIndex, channel, labels, pairs, state};
use crate::space::{JjState, OscillatorSpace, ShellPair};
use std::io::Write;
use std::path::Path;

/// The columns of a file.
pub(super) const COLUMNS: [&str; 17] = [
    "channel", "na", "nb", "nc", "nd", "la", "twoja", "lb", "twojb", "lc", "twojc", "ld", "twojd", "J0", "Jbra",
    "Jket", "value",
];

/// J0 and the parity of a file, from its first row, and the number of its channels; `column` is that of J0.
///
/// # Errors
///
/// A file without rows, a J0 that no two states of the space couple to.
pub(super) fn rank(
    path: &Path,
    columns: &[&str],
    column: usize,
    space: OscillatorSpace,
) -> Result<(Rank, usize), TableError> {
    let mut reader = Reader::open(path, columns)?;
    let empty = || TableError::Empty { path: path.to_path_buf() };
    let row = reader.next_row()?.ok_or_else(empty)?;
    let mut channels = vec![channel(&row, 0)?];
    let [bra, ket] = pairs(&row, 1)?;
    let rank = Rank { j0: row.label(column)?, parity: (bra.quanta() + ket.quanta()) % 2 };
    if rank.count(space)[0] == 0 {
        let most = 2 * (space.quanta_max() + 1) - rank.parity;
        let n_max = space.n_max;
        return Err(
            row.wrong(column, &format!("J0 up to {most}, the most that Jbra and Jket of N_max = {n_max} couple to"))
        );
    }
    while let Some(row) = reader.next_row()?.filter(|_| channels.len() < Channel::ALL.len()) {
        let found = channel(&row, 0)?;
        if !channels.contains(&found) {
            channels.push(found);
        }
    }
    Ok((rank, channels.len()))
}

/// Checks that a row is of the operator of the first row.
///
/// # Errors
///
/// Another J0 or parity.
pub(super) fn check_rank(row: &Row, rank: Rank, [bra, ket]: [ShellPair; 2], column: usize) -> Result<(), TableError> {
    let j0 = row.label(column)?;
    if j0 != rank.j0 {
        return Err(row.wrong(column, &format!("J0 = {} as in the first row: a file holds one operator", rank.j0)));
    }
    if (bra.quanta() + ket.quanta()) % 2 != rank.parity {
        let parities = ["the same parity", "opposite parities"][rank.parity as usize];
        return Err(row.labels(format!(
            "expected bra and ket of {parities} as in the first row, found na + nb = {} and nc + nd = {}",
            bra.quanta(),
            ket.quanta()
        )));
    }
    Ok(())
}

/// Reads the elements of a space; those beyond it are ignored.
///
/// # Errors
///
/// An invalid field or label, an element twice or missing, a file that ends below N_max.
pub(super) fn read(path: &Path, plan: &RankedPlan) -> Result<ByChannel, TableError> {
    let mut reader = Reader::open(path, &COLUMNS)?;
    let states = StateIndex::new(&Plan::new(plan.space));
    let mut numbers = TableNumbers::new(plan.length);
    while let Some(row) = reader.next_row()? {
        let channel = channel(&row, 0)?;
        let both = pairs(&row, 1)?;
        let sides = [state(&row, both[0], 5)?, state(&row, both[1], 9)?];
        check_rank(&row, plan.rank, both, 13)?;
        let (j, value) = ([row.label(14)?, row.label(15)?], row.real(16)?);
        check_triangles(&row, plan.rank, sides, j)?;
        if !numbers.take(channel, both, place(plan, &states, both, sides, j), value) {
            return Err(row.twice(labels(both, sides, both_j(j))));
        }
    }
    let read = numbers.finish(path, plan.space)?;
    let missing = |place: usize| {
        let group = plan.group_of(place);
        let found = places(group).find(|(at, ..)| group.start + at == place);
        found.map_or_else(String::new, |(_, pairs, sides, j)| labels(pairs, sides, both_j(j)))
    };
    for (channel, vector) in &read.vectors {
        check_complete(path, plan.space, (*channel, vector), missing)?;
    }
    Ok(read)
}

/// Jbra of ja and jb, Jket of jc and jd, J0 of both.
fn check_triangles(row: &Row, rank: Rank, sides: [JjState; 2], j: [u32; 2]) -> Result<(), TableError> {
    for ((name, state), j) in [("Jbra", sides[0]), ("Jket", sides[1])].into_iter().zip(j) {
        let JjState { two_ja, two_jb, .. } = state;
        if two_ja.abs_diff(two_jb) > 2 * j || 2 * j > two_ja + two_jb {
            return Err(row.labels(format!("{name} = {j} cannot be formed from 2j = {two_ja} and {two_jb}")));
        }
    }
    if rank.allows(j) {
        return Ok(());
    }
    Err(row.labels(format!(
        "Jbra = {}, Jket = {} and J0 = {} form no triangle: expected |Jbra - Jket| <= J0 <= Jbra + Jket; leave out such rows",
        j[0], j[1], rank.j0
    )))
}

/// The position of an element; `None` beyond the space.
fn place(
    plan: &RankedPlan,
    states: &StateIndex,
    pairs: [ShellPair; 2],
    sides: [JjState; 2],
    j: [u32; 2],
) -> Option<usize> {
    let [row, column] = [0, 1].map(|side| states.position(pairs[side], j[side], sides[side]));
    let (group, at) = plan.quadruple(pairs)?;
    let quadruple = &group.quadruples[at];
    let block = &quadruple.blocks[quadruple.blocks.binary_search_by_key(&j, |block| block.j).ok()?];
    Some(group.start + quadruple.offset + block.offset + row? * block.columns + column?)
}

/// An element's place from the group's start, pairs of shells, states, J' and J.
type RankedPlace = (usize, [ShellPair; 2], [JjState; 2], [u32; 2]);

/// Every element of a group, in the order of the layout.
pub(super) fn places(group: &RankedGroup) -> impl Iterator<Item = RankedPlace> + '_ {
    group.quadruples.iter().enumerate().flat_map(move |(at, quadruple)| {
        let pairs = group.pairs(at);
        quadruple.blocks.iter().flat_map(move |block| {
            let [left, right] = [0, 1].map(|side| pairs[side].jj_states(block.j[side]));
            let (first, j) = (quadruple.offset + block.offset, block.j);
            (0..block.rows * block.columns)
                .map(move |at| (first + at, pairs, [left[at / right.len()], right[at % right.len()]], j))
        })
    })
}

/// Writes header and all elements.
///
/// # Errors
///
/// I/O errors.
pub(super) fn write(out: &mut dyn Write, plan: &RankedPlan, numbers: &ByChannel) -> std::io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))?;
    for group in &plan.groups {
        for (at, [bra, ket], sides, [j_bra, j_ket]) in places(group) {
            for (channel, vector) in &numbers.vectors {
                write!(out, "{},{},{},{},{}", channel.word(), bra.a, bra.b, ket.a, ket.b)?;
                for JjState { la, two_ja, lb, two_jb } in sides {
                    write!(out, ",{la},{two_ja},{lb},{two_jb}")?;
                }
                writeln!(out, ",{},{j_bra},{j_ket},{:e}", plan.rank.j0, vector[group.start + at])?;
            }
        }
    }
    Ok(())
}

/// `1 | 2`
fn both_j([bra, ket]: [u32; 2]) -> String {
    format!("{bra} | {ket}")
}
