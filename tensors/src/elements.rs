//! Two-body matrix elements as a table of labels.
//!
//! Columns: `channel,na,nb,nc,nd,la,twoja,lb,twojb,lc,twojc,ld,twojd,J,value`, one row per element, both orders of every
//! pair, bra and ket. The value is u: V for a proton and a neutron, √((1+δab)(1+δcd)) V of normalised states for two of a
//! kind, in any unit of energy; radial functions positive at infinity.

use super::channel::{ByChannel, Channel, TableNumbers, check_complete};
use super::csv::{Reader, Row, TableError};
use super::plan::{Group, Plan};
use super::space::{JjState, ShellPair, momenta};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// The columns of a file.
pub(super) const COLUMNS: [&str; 15] =
    ["channel", "na", "nb", "nc", "nd", "la", "twoja", "lb", "twojb", "lc", "twojc", "ld", "twojd", "J", "value"];

/// Reads the elements of a plan's space; elements beyond it are ignored.
///
/// # Errors
///
/// An invalid field or label, an element twice or missing, a file that ends below N_max.
pub(super) fn read(path: &Path, plan: &Plan) -> Result<ByChannel, TableError> {
    let mut reader = Reader::open(path, &COLUMNS)?;
    let states = StateIndex::new(plan);
    let mut numbers = TableNumbers::new(plan.length);
    while let Some(row) = reader.next_row()? {
        let channel = channel(&row, 0)?;
        let [bra, ket] = pairs(&row, 1)?;
        let [left, right] = [state(&row, bra, 5)?, state(&row, ket, 9)?];
        let (j, value) = (row.label(13)?, row.real(14)?);
        if bra.quanta() % 2 != ket.quanta() % 2 {
            return Err(
                row.labels("expected bra and ket of the same parity: na + nb and nc + nd must both be even or odd")
            );
        }
        for (name, state) in [("bra", left), ("ket", right)] {
            if state.two_ja.abs_diff(state.two_jb) > 2 * j || 2 * j > state.two_ja + state.two_jb {
                return Err(row.labels(format!(
                    "J = {j} cannot be formed from 2j = {} and {} of the {name}",
                    state.two_ja, state.two_jb
                )));
            }
        }
        let place = states.place(plan, [bra, ket], [left, right], j);
        if !numbers.take(channel, [bra, ket], place, value) {
            return Err(row.twice(labels([bra, ket], [left, right], j)));
        }
    }
    let read = numbers.finish(path, plan.space())?;
    for (channel, vector) in &read.vectors {
        complete(path, plan, *channel, vector)?;
    }
    Ok(read)
}

/// The line of column names.
///
/// # Errors
///
/// I/O errors.
pub(super) fn write_header(out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))
}

/// Writes a group, quadruple by quadruple, all channels of one element together.
///
/// # Errors
///
/// I/O errors.
pub(super) fn write(
    out: &mut dyn Write,
    group: &Group,
    channels: &[Channel],
    vectors: &[Vec<f64>],
) -> std::io::Result<()> {
    for (at, [bra, ket], j, left, right) in places_of(group) {
        for (channel, vector) in channels.iter().zip(vectors) {
            let JjState { la, two_ja, lb, two_jb } = left;
            write!(out, "{},{},{},{},{}", channel.word(), bra.a, bra.b, ket.a, ket.b)?;
            write!(out, ",{la},{two_ja},{lb},{two_jb}")?;
            let JjState { la, two_ja, lb, two_jb } = right;
            writeln!(out, ",{la},{two_ja},{lb},{two_jb},{j},{:e}", vector[at])?;
        }
    }
    Ok(())
}

/// An element's place, pairs of shells, J and states.
pub(super) type Place = (usize, [ShellPair; 2], u32, JjState, JjState);

/// Every element of a plan, in the order of the layout.
pub(super) fn places(plan: &Plan) -> impl Iterator<Item = Place> + '_ {
    let of = |group| places_of(group).map(|(at, pairs, j, left, right)| (group.start + at, pairs, j, left, right));
    plan.groups.iter().flat_map(of)
}

/// Every element of a group, places from the group's start.
pub(super) fn places_of(group: &Group) -> impl Iterator<Item = Place> + '_ {
    group.quadruples.iter().enumerate().flat_map(move |(at, quadruple)| {
        let pairs = [group.bras[at / group.kets.len()], group.kets[at % group.kets.len()]];
        quadruple.blocks.iter().flat_map(move |block| {
            let [left, right] = pairs.map(|pair| pair.jj_states(block.j));
            let first = quadruple.offset + block.offset;
            (0..block.rows * block.columns)
                .map(move |at| (first + at, pairs, block.j, left[at / right.len()], right[at % right.len()]))
        })
    })
}

pub(super) fn complete(path: &Path, plan: &Plan, channel: Channel, vector: &[f64]) -> Result<(), TableError> {
    check_complete(path, plan.space(), (channel, vector), |missing| {
        let found = places(plan).find(|(at, ..)| *at == missing);
        found.map_or_else(String::new, |(_, pairs, j, left, right)| labels(pairs, [left, right], j))
    })
}

/// `n l 2j = 0 0 1, 1 1 3 | 0 0 1, 1 1 1; J = 1`
pub(super) fn labels([bra, ket]: [ShellPair; 2], [left, right]: [JjState; 2], j: impl std::fmt::Display) -> String {
    let side = |pair: ShellPair, state: JjState| {
        format!("{} {} {}, {} {} {}", pair.a, state.la, state.two_ja, pair.b, state.lb, state.two_jb)
    };
    format!("the element n l 2j = {} | {}; J = {j}", side(bra, left), side(ket, right))
}

/// The channel in a column.
pub(super) fn channel(row: &Row, index: usize) -> Result<Channel, TableError> {
    Channel::from_word(row.text(index)).ok_or_else(|| row.wrong(index, "pn, pp or nn"))
}

/// na, nb, nc, nd from a column onwards.
pub(super) fn pairs(row: &Row, index: usize) -> Result<[ShellPair; 2], TableError> {
    Ok([
        ShellPair { a: row.label(index)?, b: row.label(index + 1)? },
        ShellPair { a: row.label(index + 2)?, b: row.label(index + 3)? },
    ])
}

/// l, 2j, l, 2j from a column onwards, each checked against its shell.
pub(super) fn state(row: &Row, pair: ShellPair, index: usize) -> Result<JjState, TableError> {
    let orbit = |n: u32, index: usize| {
        let (l, two_j) = (row.label(index)?, row.label(index + 1)?);
        if l > n || !(n - l).is_multiple_of(2) {
            let all: Vec<String> = momenta(n).map(|l| l.to_string()).collect();
            return Err(row.wrong(index, &format!("l = {} of the shell n = {n}", all.join(", "))));
        }
        if two_j + 1 != 2 * l && two_j != 2 * l + 1 {
            let expected = if l == 0 {
                "2j = 1 of l = 0".into()
            } else {
                format!("2j = {} or {} of l = {l}", 2 * l - 1, 2 * l + 1)
            };
            return Err(row.wrong(index + 1, &expected));
        }
        Ok((l, two_j))
    };
    let ((la, two_ja), (lb, two_jb)) = (orbit(pair.a, index)?, orbit(pair.b, index + 2)?);
    Ok(JjState { la, two_ja, lb, two_jb })
}

/// Positions of jj states among those of their pair and J.
pub(super) struct StateIndex {
    positions: HashMap<(ShellPair, u32), HashMap<JjState, usize>>,
}

impl StateIndex {
    pub(super) fn new(plan: &Plan) -> StateIndex {
        let pairs = plan.groups.iter().flat_map(|group| &group.bras);
        let keys = pairs.flat_map(|pair| (0..=pair.j_max()).map(|j| (*pair, j)));
        let of = |(pair, j): (ShellPair, u32)| pair.jj_states(j).into_iter().zip(0..).collect();
        StateIndex { positions: keys.map(|key| (key, of(key))).collect() }
    }

    /// The position of a state among those of its pair and J; `None` beyond the space.
    pub(super) fn position(&self, pair: ShellPair, j: u32, state: JjState) -> Option<usize> {
        self.positions.get(&(pair, j))?.get(&state).copied()
    }

    /// The position of an element; `None` beyond the space.
    pub(super) fn place(
        &self,
        plan: &Plan,
        [bra, ket]: [ShellPair; 2],
        [left, right]: [JjState; 2],
        j: u32,
    ) -> Option<usize> {
        let (row, column) = (self.position(bra, j, left)?, self.position(ket, j, right)?);
        let group = plan.group(bra.quanta(), ket.quanta())?;
        let at = group.bras.binary_search(&bra).ok()? * group.kets.len() + group.kets.binary_search(&ket).ok()?;
        let quadruple = &group.quadruples[at];
        let block = &quadruple.blocks[quadruple.blocks.binary_search_by_key(&j, |block| block.j).ok()?];
        Some(group.start + quadruple.offset + block.offset + row * block.columns + column)
    }
}
