//! Names of devices that are several cards.
//!
//! In: the name of a device. Out: the numbers of its cards, and the names of its cards as devices of their own.

use super::Device;
use crate::error::{DeviceError, Result};

impl Device {
    /// The cards of a name, each by its own name: `cuda:0-1` is `cuda:0` and `cuda:1`, `sim:2` is `sim` twice. A device of one card, or
    /// the CPU, is itself. No card is opened.
    ///
    /// # Errors
    /// A name that is no list of cards.
    pub fn cards_of(name: &str) -> Result<Vec<String>> {
        let by_number = |cards: Vec<usize>| cards.iter().map(|card| format!("cuda:{card}")).collect();
        Ok(match name.split_once(':') {
            Some(("cuda", "all")) => by_number(all_ordinals()),
            Some(("cuda", list)) => by_number(ordinals(list).ok_or_else(|| DeviceError::UnknownDevice(name.into()))?),
            Some(("sim", count)) => match simulated_cards(count) {
                Some(cards) if cards > 1 => vec!["sim".into(); cards as usize],
                _ => vec![name.into()],
            },
            _ => vec![name.into()],
        })
    }

    /// What progress calls each card of such a list: simulated cards, which have one name, are numbered.
    pub fn card_labels(cards: &[String]) -> Vec<String> {
        let label = |(number, name): (usize, &String)| match name.starts_with("sim") {
            true => format!("{name} card {number}"),
            false => name.clone(),
        };
        cards.iter().enumerate().map(label).collect()
    }
}

/// The numbers of all cards of this machine; 0 without any, so that opening it says what is missing.
pub(super) fn all_ordinals() -> Vec<usize> {
    (0..Device::cards().max(1)).collect()
}

/// How many cards `sim:COUNT` stands for.
pub(super) fn simulated_cards(count: &str) -> Option<u32> {
    count.parse().ok().filter(|cards| (1..=64).contains(cards))
}

/// The cards of `2`, `0-3`, `0,2` or `0-1,4`.
pub(super) fn ordinals(list: &str) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first > last || last >= 1024 || (first..=last).any(|card| found.contains(&card)) {
            return None;
        }
        found.extend(first..=last);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cards_are_read() {
        assert_eq!(ordinals("3"), Some(vec![3]));
        assert_eq!(ordinals("0-2,5"), Some(vec![0, 1, 2, 5]));
        for wrong in ["", "a", "0-", "2-1", "1,,2", "-1", "0-99999999", "0,0", "0-2,1"] {
            assert_eq!(ordinals(wrong), None, "{wrong}");
        }
        let twice = Device::cuda_team(&[0, 1, 0]).unwrap_err().to_string();
        assert!(twice.contains("each named once") && twice.contains("[0, 1, 0]"), "{twice}");
    }

    #[test]
    fn a_set_has_the_names_of_its_cards() {
        for (name, cards) in [
            ("cuda:0-1,4", &["cuda:0", "cuda:1", "cuda:4"][..]),
            ("cuda:2", &["cuda:2"]),
            ("cuda", &["cuda"]),
            ("cpu", &["cpu"]),
            ("sim:2", &["sim", "sim"]),
            ("sim:1", &["sim:1"]),
            ("sim:random:7", &["sim:random:7"]),
        ] {
            assert_eq!(Device::cards_of(name).unwrap(), cards, "{name}");
        }
        assert!(Device::cards_of("cuda:2-1").is_err());
    }
}
