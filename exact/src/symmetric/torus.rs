//! The rows of a torus: which of a group's elements bring which bits to the top row, as tables of kernels.
//!
//! In: the elements as they act on words, in the order of a walk whose first two steps turn and raise rows. Out: lines and members with
//! their tables ([`eigenforge_templates::exact::TorusRows`]); `None` where the group has no such steps, or the tables would be large.

use eigenforge_core::operator::{GroupElement, SymmetryGroup};
use eigenforge_templates::exact::{
    GroupStep, ImageStep, MOST_IMAGES, MOST_LINES, MOST_ROW_BITS, MOST_WINDOW_BITS, TURN_AT, TURNS_AT, TorusRows,
    WordAction,
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

/// A group in the order of a walk.
#[derive(Clone, Copy)]
pub(super) struct Elements<'g> {
    pub group: &'g SymmetryGroup,
    /// The number of each element in the group.
    pub numbers: &'g HashMap<&'g GroupElement, usize>,
    pub actions: &'g [WordAction],
    pub steps: &'g [GroupStep],
    /// The number in the group of each element of the walk.
    pub order: &'g [usize],
    pub machine: u32,
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
    (0..bits).map(|bit| moved.image(1 << bit, machine).trailing_zeros()).collect()
}

impl Rows {
    /// The shortest rows of at least two that elements turn and raise.
    pub(super) fn new(actions: &[WordAction], bits: u32, machine: u32) -> Option<Rows> {
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

    /// Lines, members and tables of a group in the order of a walk, by the largest window that does.
    pub(super) fn torus(&self, walk: &Elements<'_>) -> Option<Torus> {
        let (n, rows) = (self.row_bits, self.bits / self.row_bits);
        let all = u64::MAX >> (u64::BITS - self.bits);
        let times = [walk.steps.first()?.times, walk.steps.get(1)?.times];
        if times != [n / self.step, rows] || TorusRows::images(walk.steps, all) > MOST_IMAGES {
            return None;
        }
        let most = (MOST_WINDOW_BITS / n).clamp(1, rows - 1);
        (1..=most).rev().find_map(|of_window| self.with_window(walk, of_window * n))
    }

    fn with_window(&self, walk: &Elements<'_>, window: u32) -> Option<Torus> {
        let Elements { group, numbers, actions, steps, order, machine } = *walk;
        let (n, bits) = (self.row_bits, self.bits);
        let (turns, rows, top) = (n / self.step, bits / n, bits - window);
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
        let fits = lines.len() <= MOST_LINES && window + members.len() as u32 <= u32::BITS;
        if !fits || lines.len() * members.len() != cosets.len() {
            return None;
        }
        let place = |coset: usize| [coset as u32 / rows, coset as u32 % rows];
        let mut position = vec![0usize; order.len()];
        order.iter().enumerate().for_each(|(at, number)| position[*number] = at);
        let image = |(coset, member): (&usize, &usize)| {
            let element = group.elements[*member].after(&group.elements[cosets[*coset]]);
            let [image, raised] = place(position[*numbers.get(&element)?] / turns as usize);
            Some(image | raised << 8)
        };
        let pairs = first.iter().flat_map(|coset| members.iter().map(move |member| (coset, member)));
        let images = pairs.map(image).collect::<Option<Vec<u32>>>()?;
        let mask = (1u32 << window) - 1;
        let of_window = |row: u32| {
            let next = |last: &u64| Some(steps[0].action.image(*last, machine));
            let all = std::iter::successors(Some(u64::from(row) << top), next).take(turns as usize);
            let values: Vec<u32> = all.map(|word| (word >> top) as u32).collect();
            let least = values.iter().copied().min().unwrap_or(row);
            let at = values.iter().position(|value| *value == least).unwrap_or(0) as u32;
            let count = values.iter().filter(|value| **value == least).count() as u32;
            least | at << TURN_AT | count << TURNS_AT
        };
        let row_turns: Vec<u32> = (0..=mask).map(of_window).collect();
        let of_line = |row: u32| {
            let of_member = |member: &usize| {
                let image = actions[*member].image(u64::from(row) << top, machine) >> top;
                row_turns[image as usize & mask as usize] & mask
            };
            let values: Vec<u32> = members.iter().map(of_member).collect();
            let least = values.iter().copied().min().unwrap_or(row);
            let makes = |set: u32, (member, value): (usize, &u32)| set | u32::from(*value == least) << member;
            least | values.iter().enumerate().fold(0, makes) << window
        };
        let rows = TorusRows {
            row_bits: n,
            step: self.step,
            twist: self.twist,
            window,
            images: self.images(walk)?,
            lines: first.iter().map(|coset| place(*coset)).collect(),
            members: members.len() as u32,
        };
        Some(Torus { rows, least: (0..=mask).map(of_line).collect(), turns: row_turns, images })
    }

    /// The images, each made of an earlier one at the least cost.
    fn images(&self, walk: &Elements<'_>) -> Option<Vec<ImageStep>> {
        let Elements { group, numbers, actions, steps, order, .. } = *walk;
        let shifts = (steps[0].times * steps[1].times) as usize;
        let count = TorusRows::images(steps, u64::MAX >> (u64::BITS - self.bits)) as usize;
        let own = |number: usize| &group.elements[order[number * shifts]];
        let mut made = vec![0];
        let mut images = Vec::new();
        while made.len() < count {
            let missing = (0..count).filter(|number| !made.contains(number));
            let pairs = missing.flat_map(|number| made.iter().map(move |from| (number, *from)));
            let with_action = pairs.filter_map(|(number, from)| {
                let action = &actions[*numbers.get(&own(number).after(&own(from).inverse()))?];
                Some((action.cost(), number, from, action))
            });
            let (_, number, from, action) =
                with_action.min_by_key(|(cost, number, from, _)| (*cost, *number, *from))?;
            images.push(ImageStep { number: number as u32, from: from as u32, action: action.clone() });
            made.push(number);
        }
        Some(images)
    }
}

/// The least image of a word and the number of its element in the walk, as the kernels find them.
#[cfg(test)]
pub(super) fn least_of(torus: &Torus, steps: &[GroupStep], bits: u32, machine: u32, word: u64) -> (u64, usize) {
    let rows = &torus.rows;
    let (window, mask) = (rows.window, (1u64 << rows.window) - 1);
    let height = bits / rows.row_bits;
    // Later steps are applied first.
    let image = |number: usize| {
        let (mut word, mut rest, mut digits) = (word, number, Vec::new());
        for step in steps.iter().skip(2) {
            digits.push(rest % step.times as usize);
            rest /= step.times as usize;
        }
        for (step, times) in steps.iter().skip(2).zip(&digits).rev() {
            word = (0..*times).fold(word, |word, _| step.action.image(word, machine));
        }
        word
    };
    let raised =
        |number: u32, by: u32| (0..by).fold(image(number as usize), |word, _| steps[1].action.image(word, machine));
    let of_window = |word: u64| (word >> (bits - window)) as usize;
    let of_line = |[number, by]: &[u32; 2]| torus.least[of_window(raised(*number, *by))];
    let least = rows.lines.iter().map(|line| of_line(line) & mask as u32).min().unwrap();
    for step in &rows.images {
        assert_eq!(image(step.number as usize), step.action.image(image(step.from as usize), machine));
    }
    let mut best = (u64::MAX, 0);
    for (number, line) in rows.lines.iter().enumerate() {
        let entry = of_line(line);
        for member in
            (0..rows.members).filter(|member| entry & mask as u32 == least && entry >> window >> member & 1 == 1)
        {
            let own = torus.images[number * rows.members as usize + member as usize];
            let (number, by) = (own & 255, own >> 8);
            let raised = raised(number, by);
            let turns = torus.turns[of_window(raised)];
            let (count, steps_of_all) = (turns >> TURNS_AT, rows.row_bits / rows.step);
            for turn in
                (0..count).map(|k| (turns >> TURN_AT & ((1 << (TURNS_AT - TURN_AT)) - 1)) + k * (steps_of_all / count))
            {
                let found = (0..turn).fold(raised, |word, _| steps[0].action.image(word, machine));
                if found < best.0 {
                    best = (found, (turn + steps_of_all * (by + height * number)) as usize);
                }
            }
        }
    }
    best
}
