//! The rows of a torus: which of a group's elements bring which bits to the top row, as tables of kernels.
//!
//! In: the elements as they act on words, in the order of a walk whose first two steps turn and raise rows. Out: lines and members with
//! their tables ([`eigenforge_templates::exact::TorusRows`]); `None` where the group has no such steps, or the tables would be large.

use crate::operator::{Element, SymmetryGroup};
use eigenforge_templates::exact::{
    GroupStep, MOST_IMAGES, MOST_LINES, MOST_ROW_BITS, TURN_AT, TURNS_AT, TorusRows, WordAction,
};
use std::collections::HashMap;

/// Elements that move rows.
pub(super) struct Rows {
    /// Turns every row by the fewest bits.
    pub turn: usize,
    /// Raises the rows by one.
    pub raise: usize,
    /// Inverts all bits and moves none.
    pub inversion: Option<usize>,
    row_bits: u32,
    step: u32,
    twist: u32,
    bits: u32,
}

/// The plan of the rows with their tables.
#[derive(Debug)]
pub(super) struct Torus {
    pub rows: TorusRows,
    pub turns: Vec<u32>,
    pub least: Vec<u32>,
    pub images: Vec<u32>,
}

/// Where the bits of a word go.
fn places(action: &WordAction, bits: u32, machine: u32) -> Vec<u32> {
    let moved = WordAction { inverts: None, ..action.clone() };
    (0..bits).map(|bit| moved.of(1 << bit, machine).trailing_zeros()).collect()
}

impl Rows {
    /// The shortest rows of at least two that elements turn and raise.
    pub(super) fn of(actions: &[WordAction], bits: u32) -> Option<Rows> {
        let machine = if bits > u32::BITS { u64::BITS } else { u32::BITS };
        let all = u64::MAX >> (u64::BITS - bits);
        let moves: Vec<(usize, Vec<u32>)> = (actions.iter().enumerate())
            .filter(|(_, action)| action.inverts.is_none())
            .map(|(number, action)| (number, places(action, bits, machine)))
            .collect();
        let turned = |n: u32, step: u32| move |bit: u32| bit / n * n + (bit + step) % n;
        let is = |places: &[u32], to: &dyn Fn(u32) -> u32| (0..bits).zip(places).all(|(bit, place)| to(bit) == *place);
        let inversion = actions
            .iter()
            .position(|action| !action.reversed && action.shifts.is_empty() && action.inverts == Some((all, all)));
        (2..=MOST_ROW_BITS.min(bits / 2)).filter(|n| bits.is_multiple_of(*n)).find_map(|n| {
            let found = (1..n).filter(|step| n.is_multiple_of(*step)).find_map(|step| {
                let turn = moves.iter().find(|(_, places)| is(places, &turned(n, step)))?;
                Some((turn.0, step))
            });
            let (turn, step) = found?;
            let raised =
                |twist: u32| move |bit: u32| if bit + n < bits { bit + n } else { (bit + n - bits + twist) % n };
            let raise = (0..n)
                .step_by(step as usize)
                .find_map(|twist| Some((moves.iter().find(|(_, places)| is(places, &raised(twist)))?.0, twist)));
            let (raise, twist) = raise?;
            Some(Rows { turn, raise, inversion, row_bits: n, step, twist, bits })
        })
    }

    /// Lines, members and tables of a group in the order of a walk.
    pub(super) fn torus(
        &self,
        group: &SymmetryGroup,
        numbers: &HashMap<&Element, usize>,
        actions: &[WordAction],
        steps: &[GroupStep],
        order: &[usize],
        machine: u32,
    ) -> Option<Torus> {
        let (n, bits) = (self.row_bits, self.bits);
        let all = u64::MAX >> (u64::BITS - bits);
        let (turns, rows) = (n / self.step, bits / n);
        if [steps.first()?.times, steps.get(1)?.times] != [turns, rows] || TorusRows::images(steps, all) > MOST_IMAGES {
            return None;
        }
        let top = bits - n;
        // Elements up to turns: the first of each, raises fastest.
        let cosets: Vec<usize> = order.iter().copied().step_by(turns as usize).collect();
        let taken = |number: usize| {
            let places = places(&actions[number], bits, machine);
            (0..bits).filter(|bit| places[*bit as usize] >= top).fold(0u64, |set, bit| set | 1 << bit)
        };
        let sets: Vec<u64> = cosets.iter().map(|number| taken(*number)).collect();
        let mut lines: Vec<u64> = Vec::new();
        let mut first: Vec<usize> = Vec::new();
        for (coset, set) in sets.iter().enumerate() {
            if !lines.contains(set) {
                lines.push(*set);
                first.push(coset);
            }
        }
        let members: Vec<usize> =
            (0..cosets.len()).filter(|coset| sets[*coset] == sets[0]).map(|c| cosets[c]).collect();
        let place = |coset: usize| (coset as u32 / rows, coset as u32 % rows);
        if lines.len() > MOST_LINES
            || n + members.len() as u32 > u32::BITS
            || lines.len() * members.len() != cosets.len()
        {
            return None;
        }
        let mut position = vec![0usize; order.len()];
        order.iter().enumerate().for_each(|(at, number)| position[*number] = at);
        let image = |(coset, member): (&usize, &usize)| {
            let element = group.elements[*member].after(&group.elements[cosets[*coset]]);
            let (image, raised) = place(position[*numbers.get(&element)?] / turns as usize);
            Some(image | raised << 8)
        };
        let pairs = first.iter().flat_map(|coset| members.iter().map(move |member| (coset, member)));
        let images = pairs.map(image).collect::<Option<Vec<u32>>>()?;
        let mask = (1u32 << n) - 1;
        let turned = |row: u32, times: u32| (row << (times * self.step) | row >> (n - times * self.step)) & mask;
        let of_row = |row: u32| {
            let values = (0..turns).map(|times| turned(row, times));
            let least = values.clone().min().unwrap_or(row);
            let at = values.clone().position(|value| value == least).unwrap_or(0) as u32;
            let count = values.filter(|value| *value == least).count() as u32;
            least | at << TURN_AT | count << TURNS_AT
        };
        let row_turns: Vec<u32> = (0..=mask).map(of_row).collect();
        let of_line = |row: u32| {
            let of_member = |member: &usize| {
                let image = actions[*member].of(u64::from(row) << top, machine) & all;
                row_turns[(image >> top) as usize] & mask
            };
            let values: Vec<u32> = members.iter().map(of_member).collect();
            let least = values.iter().copied().min().unwrap_or(row);
            let makes = |set: u32, (member, value): (usize, &u32)| set | u32::from(*value == least) << member;
            least | values.iter().enumerate().fold(0, makes) << n
        };
        let row_least = (0..=mask).map(of_line).collect();
        let line = |coset: &usize| {
            let (image, raised) = place(*coset);
            [image, rows - 1 - raised]
        };
        let lines = first.iter().map(line).collect();
        let rows = TorusRows { row_bits: n, step: self.step, twist: self.twist, lines, members: members.len() as u32 };
        Some(Torus { rows, turns: row_turns, least: row_least, images })
    }
}

/// The least image of a word and the number of its element in the walk, as the kernels find them.
#[cfg(test)]
pub(super) fn least_of(torus: &Torus, steps: &[GroupStep], bits: u32, machine: u32, word: u64) -> (u64, usize) {
    let rows = &torus.rows;
    let (n, mask, height) = (rows.row_bits, (1u64 << rows.row_bits) - 1, bits / rows.row_bits);
    // Later steps are applied first.
    let image = |number: usize| {
        let (mut word, mut rest, mut digits) = (word, number, Vec::new());
        for step in steps.iter().skip(2) {
            digits.push(rest % step.times as usize);
            rest /= step.times as usize;
        }
        for (step, times) in steps.iter().skip(2).zip(&digits).rev() {
            word = (0..*times).fold(word, |word, _| step.action.of(word, machine));
        }
        word
    };
    let row = |word: u64, number: u32| (word >> (number * n)) as usize & mask as usize;
    let of_line = |[number, at]: &[u32; 2]| torus.least[row(image(*number as usize), *at)];
    let least = rows.lines.iter().map(|line| of_line(line) & mask as u32).min().unwrap();
    let mut best = (u64::MAX, 0);
    for (number, line) in rows.lines.iter().enumerate() {
        let entry = of_line(line);
        for member in (0..rows.members).filter(|member| entry & mask as u32 == least && entry >> n >> member & 1 == 1) {
            let own = torus.images[number * rows.members as usize + member as usize];
            let (number, by) = (own & 255, own >> 8);
            let raised = (0..by).fold(image(number as usize), |word, _| steps[1].action.of(word, machine));
            let turns = torus.turns[(raised >> (bits - n)) as usize];
            let (count, steps_of_all) = (turns >> TURNS_AT, n / rows.step);
            for turn in
                (0..count).map(|k| (turns >> TURN_AT & ((1 << (TURNS_AT - TURN_AT)) - 1)) + k * (steps_of_all / count))
            {
                let found = (0..turn).fold(raised, |word, _| steps[0].action.of(word, machine));
                if found < best.0 {
                    best = (found, (turn + steps_of_all * (by + height * number)) as usize);
                }
            }
        }
    }
    best
}
