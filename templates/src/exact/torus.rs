//! The least image of a word on a torus, by its rows.
//!
//! The bits of a word are rows of equal length. The first step of the walk turns every row, the second raises the rows by one, those above
//! the top coming back at the bottom, turned by some bits where the torus is tilted; all other steps make *images*. The least word of an
//! orbit begins with the least *window*, the top rows, that any element brings there. Of each *line*, a set of sites that some element
//! takes to the window, one look at a table tells the least window that the elements which do so make of its bits, and which of these
//! elements (up to turns of rows, the *members*) make it. Only these are applied: of 576 elements of a torus of 6 x 6 one or two.
//!
//! | table | of | what |
//! |---|---|---|
//! | `row_turns` | each window | it turned so that it is least, by how many steps (from bit 20), how many such turns (from bit 26) |
//! | `row_least` | each window | the least by all members, and a bit of each that makes it (from bit `window`) |
//! | `line_images` | each line and member | the image, and by how many rows it is raised (from bit 8) |

use super::symmetry::{GroupStep, WordAction};
use crate::launch::{Element, Parameter};
use serde::{Deserialize, Serialize};

/// Most bits of a row: tables have an entry of each window.
pub const MOST_ROW_BITS: u32 = 18;
/// Most bits of a window of several rows.
pub const MOST_WINDOW_BITS: u32 = 12;
/// Most images that are kept, 8 bytes of each thread in shared memory.
pub const MOST_IMAGES: u64 = 12;
/// Most lines: bits of a number.
pub const MOST_LINES: usize = 32;
/// Bits of `row_turns` where the numbers begin.
pub const TURN_AT: u32 = 20;
/// Where their count begins.
pub const TURNS_AT: u32 = 26;

/// The rows of a torus, and the lines that elements of its group take to the top row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TorusRows {
    /// Bits of a row.
    pub row_bits: u32,
    /// Bits by which the first step of the walk turns every row.
    pub step: u32,
    /// Bits by which rows are turned that come back at the bottom.
    pub twist: u32,
    /// Bits of the window.
    pub window: u32,
    /// How the images after the word itself are made.
    pub images: Vec<ImageStep>,
    /// Of each line an image, and by how many rows it is raised to have the line on top.
    pub lines: Vec<[u32; 2]>,
    /// Elements that take a line to itself, up to turns of rows.
    pub members: u32,
}

/// An image, made of an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageStep {
    /// Its number: how often each step of the walk behind the second is applied, the third fastest.
    pub number: u32,
    /// The number of the earlier one.
    pub from: u32,
    /// What is done to that.
    pub action: WordAction,
}

/// An image of a word in the text.
#[derive(Serialize)]
pub(super) struct Image {
    number: u32,
    from: String,
}

/// Where a line is on top.
#[derive(Serialize)]
struct Line {
    image: u32,
    raised: u32,
    /// By how many bits the image is shifted down instead, if no row of the line comes back at the bottom.
    shift: Option<u32>,
}

/// What the text needs.
#[derive(Default, Serialize)]
pub(super) struct TorusView {
    row_bits: u32,
    rows: u32,
    step: u32,
    turns: u32,
    twist: u32,
    members: u32,
    window: u32,
    images: Vec<Image>,
    lines: Vec<Line>,
    /// Whether the images behind these are their inverses.
    inverts: bool,
    turn_at: u32,
    turn_mask: u32,
    turns_at: u32,
}

/// Whether the last step inverts all bits and does nothing else.
fn inverts_last(steps: &[GroupStep], all: u64) -> bool {
    steps.last().is_some_and(|GroupStep { action, times }| {
        let WordAction { reversed, shifts, inverts } = action;
        *times == 2 && !reversed && shifts.is_empty() && *inverts == Some((all, all))
    })
}

impl TorusRows {
    /// Images that are kept of a word: all elements but turned and raised rows and an inversion of all bits.
    pub fn images(steps: &[GroupStep], all: u64) -> u64 {
        let steps = if inverts_last(steps, all) { &steps[..steps.len() - 1] } else { steps };
        steps.iter().skip(2).map(|step| u64::from(step.times)).product()
    }

    /// The tables.
    pub(super) fn tables(&self) -> [Parameter; 3] {
        let rows = 1 << self.window;
        [
            Parameter::table("row_turns", Element::U32, rows),
            Parameter::table("row_least", Element::U32, rows),
            Parameter::table("line_images", Element::U32, self.lines.len() as u64 * u64::from(self.members)),
        ]
    }

    pub(super) fn view(&self, steps: &[GroupStep], bits: u32, all: u64) -> TorusView {
        // Behind the functions of the steps.
        let made = |(k, image): (usize, &ImageStep)| Image {
            number: image.number,
            from: format!("act_{}(u{})", steps.len() + k, image.from),
        };
        let line = |[image, raised]: &[u32; 2]| {
            let (rows, of_window) = (bits / self.row_bits, self.window / self.row_bits);
            let shift = (raised + of_window <= rows).then(|| bits - self.window - raised * self.row_bits);
            Line { image: *image, raised: *raised, shift }
        };
        let word = Image { number: 0, from: "word".into() };
        TorusView {
            row_bits: self.row_bits,
            rows: bits / self.row_bits,
            step: self.step,
            turns: self.row_bits / self.step,
            twist: self.twist,
            members: self.members,
            window: self.window,
            images: std::iter::once(word).chain(self.images.iter().enumerate().map(made)).collect(),
            lines: self.lines.iter().map(line).collect(),
            inverts: inverts_last(steps, all),
            turn_at: TURN_AT,
            turn_mask: (1 << (TURNS_AT - TURN_AT)) - 1,
            turns_at: TURNS_AT,
        }
    }
}
