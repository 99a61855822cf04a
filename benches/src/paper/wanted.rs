//! What `bench paper` is asked for.
//!
//! In: the arguments, the tables of a paper. Out: the tables and figures to measure, in the paper's order, or why one is not redrawn.

use super::published::{Paper, PublishedTable};
use super::{PaperArguments, PaperError, dmrg};
use std::str::FromStr;

/// Which figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figures {
    /// Every one that is redrawn.
    All,
    /// By its number.
    One(u32),
}

impl FromStr for Figures {
    type Err = String;

    fn from_str(text: &str) -> Result<Figures, String> {
        match text {
            "all" => Ok(Figures::All),
            _ => text.parse().map(Figures::One).map_err(|_| format!("expected a number or all, found {text}")),
        }
    }
}

/// Something to measure.
pub(super) enum Item<'a> {
    /// A table, also in place of the figure that shows it.
    Table(&'a PublishedTable),
    /// A figure of numbers of its own.
    Figure(u32),
}

/// What the arguments ask for, in the paper's order.
pub(super) fn items<'a>(arguments: &PaperArguments, all: &'a [PublishedTable]) -> Result<Vec<Item<'a>>, PaperError> {
    let paper = arguments.paper;
    let own: &[(u32, &str)] = if paper == Paper::Dmrg { &dmrg::FIGURES } else { &[] };
    let known = || {
        let numbers = all.iter().filter_map(|table| table.figure).chain(own.iter().map(|(number, _)| *number));
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
    };
    let own_figures = own.iter().map(|(number, _)| Item::Figure(*number));
    let of_figure = |number: u32| all.iter().find(|table| table.figure == Some(number)).map(Item::Table);
    match (arguments.table, arguments.figure) {
        (Some(number), _) => match all.iter().find(|table| table.number == number) {
            Some(table) => Ok(vec![Item::Table(table)]),
            None => {
                let known: Vec<String> = all.iter().map(|table| table.number.to_string()).collect();
                Err(PaperError::NoSuchTable { title: paper.title(), number, known: known.join(", ") })
            }
        },
        (None, Some(Figures::One(number))) => match of_figure(number) {
            Some(table) => Ok(vec![table]),
            None if own.iter().any(|(known, _)| *known == number) => Ok(vec![Item::Figure(number)]),
            None => Err(PaperError::NoSuchFigure { number, why: why_not(paper, number, &known()) }),
        },
        (None, Some(Figures::All)) if arguments.picture.is_some() => Err(PaperError::OnePicture { known: known() }),
        (None, Some(Figures::All)) => {
            Ok(all.iter().filter(|table| table.figure.is_some()).map(Item::Table).chain(own_figures).collect())
        }
        (None, None) if arguments.all => Ok(all.iter().map(Item::Table).chain(own_figures).collect()),
        (None, None) => Ok(all.iter().map(Item::Table).collect()),
    }
}

/// Why a figure is not redrawn.
fn why_not(paper: Paper, number: u32, known: &str) -> String {
    let beside = match (paper, number) {
        (Paper::Dmrg, 6) => "; Figure 7 is the same on the paper's second card",
        (Paper::Dmrg, 13) => "; Figure 14 is the same on the paper's second card",
        (Paper::Dmrg, 15 | 16) => "; Figures 17 and 18 are the same on the paper's second card",
        _ => "",
    };
    match known {
        "" => "this paper has no figure of numbers that its tables do not have".into(),
        known => format!("it shows no numbers that are measured here; {known} are redrawn{beside}"),
    }
}

/// Refuses a picture of a table that no figure of the paper shows.
pub(super) fn check_figure(table: &PublishedTable, all: &[PublishedTable]) -> Result<(), PaperError> {
    if table.figure.is_some() {
        return Ok(());
    }
    let figures =
        all.iter().filter_map(|table| Some(format!("Figure {} with --table {}", table.figure?, table.number)));
    let figures: Vec<String> = figures.collect();
    let instead = if figures.is_empty() { String::new() } else { format!("; drawn are {}", figures.join(", ")) };
    Err(PaperError::NoFigure { number: table.number, instead })
}
