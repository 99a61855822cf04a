//! `[sector]`: particle numbers or total Sz, and the dimension that follows.
//!
//! In: the section, the number of sites and the spin. Out: a [`Sector`] that has at least one state.

use super::model::{ModelKind, spin_name};
use super::problem::Wrong;
use super::section::{Placed, Problems, Section};
use super::site_sums::{self, NamedCharges};
use crate::basis::Sector;
use crate::operator::{Charge, Operator, OperatorError, SiteSum, kind_names};
use serde::{Deserialize, Serialize};

/// Charges by the keys and with the values of a file.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ChargeKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    up: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    down: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flavours: Vec<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    particles: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    polarisation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bosons: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    two_sz: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parity: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    charges: Vec<SiteSumKeys>,
}

/// A charge with a number for each site.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteSumKeys {
    total: i64,
    sum: SiteSum,
}

/// A sector in a report: its charges by their keys.
pub(crate) mod sector_keys {
    use super::{Charge, ChargeKeys, Sector, SiteSumKeys};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(sector: &Sector, serializer: S) -> Result<S::Ok, S::Error> {
        let charges = sector.charge_values();
        let of = |wanted: Charge| charges.iter().find(|(charge, _)| *charge == wanted).map(|(_, value)| *value);
        let keys = ChargeKeys {
            up: of(Charge::Up),
            down: of(Charge::Down),
            flavours: (0..=u8::MAX).map_while(|flavour| of(Charge::Flavour(flavour))).collect(),
            particles: of(Charge::Particles),
            polarisation: of(Charge::Polarisation),
            bosons: of(Charge::Bosons),
            two_sz: of(Charge::TwoSz),
            parity: of(Charge::Parity).map(|odd| 1 - 2 * odd),
            charges: charges
                .iter()
                .filter_map(|(charge, total)| match charge {
                    Charge::OfSites(sum) => Some(SiteSumKeys { sum: *sum, total: *total }),
                    _ => None,
                })
                .collect(),
        };
        keys.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sector, D::Error> {
        let keys = ChargeKeys::deserialize(deserializer)?;
        let single = [(Charge::Up, keys.up), (Charge::Down, keys.down)];
        let sums = [
            (Charge::Particles, keys.particles),
            (Charge::Polarisation, keys.polarisation),
            (Charge::Bosons, keys.bosons),
            (Charge::TwoSz, keys.two_sz),
            (Charge::Parity, keys.parity.map(|sign| (1 - sign) / 2)),
        ];
        let given = |(charge, value): (Charge, Option<i64>)| Some((charge, value?));
        let flavours = (0..).zip(&keys.flavours).map(|(flavour, number)| (Charge::Flavour(flavour), *number));
        let of_sites = keys.charges.iter().map(|SiteSumKeys { sum, total }| (Charge::OfSites(*sum), *total));
        let charges = single.into_iter().filter_map(given).chain(flavours).chain(sums.into_iter().filter_map(given));
        let charges = charges.chain(of_sites);
        let charges: Vec<(Charge, i64)> = charges.collect();
        let numbers = || charges.iter().map(|(_, number)| usize::try_from(*number)).collect::<Result<Vec<_>, _>>();
        Ok(match (&charges[..], numbers()) {
            ([(Charge::TwoSz, two_sz)], _) => Sector::Spins { two_sz: *two_sz },
            ([(Charge::Up, _), (Charge::Down, _)], Ok(numbers)) => {
                Sector::Fermions { up: numbers[0], down: numbers[1] }
            }
            ([_, ..], Ok(numbers)) if keys.flavours.len() == numbers.len() => Sector::Flavours(numbers),
            _ => Sector::Charges(charges),
        })
    }
}

/// Number of states: C(N, up) · C(N, down), or the ways to reach 2 Sz with N spins; `None` above 2¹²⁷.
///
/// `two_s` is twice the spin of a site (unused for fermions). Of sites of any kind it needs their kinds, and is `None`.
pub(super) fn dimension(sector: &Sector, sites: usize, two_s: u32) -> Option<u128> {
    match sector {
        Sector::Fermions { up, down } => binomial(sites, *up)?.checked_mul(binomial(sites, *down)?),
        Sector::Flavours(numbers) => {
            numbers.iter().try_fold(1u128, |product, number| product.checked_mul(binomial(sites, *number)?))
        }
        Sector::Spins { two_sz } => spin_states(sites, two_s, *two_sz),
        Sector::Charges(_) => None,
    }
}

/// A sector as reports print it.
pub(crate) fn sector_text(sector: &Sector) -> String {
    match sector {
        Sector::Flavours(numbers) => {
            let last = numbers.len().saturating_sub(1);
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            format!("{} of the flavours 0 to {last}", numbers.join(", "))
        }
        Sector::Spins { two_sz } => format!("2 Sz = {two_sz}"),
        Sector::Fermions { .. } | Sector::Charges(_) => sector.to_string(),
    }
}

/// C(n, k), exact.
fn binomial(n: usize, k: usize) -> Option<u128> {
    if k > n {
        return Some(0);
    }
    // After each step the product is C(n, i + 1), so the division leaves no remainder.
    (0..k.min(n - k)).try_fold(1u128, |product, i| Some(product.checked_mul((n - i) as u128)? / (i as u128 + 1)))
}

/// Number of configurations of `sites` spins of 2S + 1 levels whose 2m add up to `two_sz`: coefficients of
/// (1 + z + … + z^2S)^N, by repeated multiplication.
fn spin_states(sites: usize, two_s: u32, two_sz: i64) -> Option<u128> {
    let most = i64::from(two_s) * i64::try_from(sites).ok()?;
    if two_sz.abs() > most || (most - two_sz) % 2 != 0 {
        return Some(0);
    }
    let raised = usize::try_from((most - two_sz.abs()) / 2).ok()?;
    if two_s == 1 {
        return binomial(sites, raised);
    }
    // Numbers of states with 0 … raised quanta; a prefix sum makes each multiplication linear.
    let mut ways = vec![0u128; raised + 1];
    ways[0] = 1;
    for _ in 0..sites {
        let mut window = 0u128;
        let mut next = Vec::with_capacity(raised + 1);
        for quanta in 0..=raised {
            window = window.checked_add(ways[quanta])?;
            if quanta > two_s as usize {
                window -= ways[quanta - two_s as usize - 1];
            }
            next.push(window);
        }
        ways = next;
    }
    Some(ways[raised])
}

/// The section as read, before the lattice is known.
pub(super) enum Draft {
    Fermions { up: Placed<usize>, down: Placed<usize> },
    Flavours { flavours: Placed<Vec<usize>> },
    Spins { two_sz: Placed<i64> },
    Charges { charges: Vec<(Charge, i64)>, named: NamedCharges },
}

/// Reads the section.
pub(super) fn read(section: Section<'_>, family: ModelKind) -> Option<Draft> {
    let draft = match family {
        ModelKind::Hubbard => {
            section.require("up", "the number of up particles: up = 4");
            section.require("down", "the number of down particles: down = 4");
            let (up, down) = (section.count("up", 0), section.count("down", 0));
            up.zip(down).map(|(up, down)| Draft::Fermions { up, down })
        }
        ModelKind::SpinHubbard => {
            section
                .require("flavours", "the number of particles of each of the 2F + 1 flavours: flavours = [1, 1, 1, 1]");
            section.counts("flavours", 0).map(|flavours| Draft::Flavours { flavours })
        }
        ModelKind::Xxz => {
            section.require("two_sz", "twice the total Sz, a whole number: two_sz = 0");
            section.integer("two_sz").map(|two_sz| Draft::Spins { two_sz })
        }
        ModelKind::Terms => Some(Draft::Charges { charges: charges(&section), named: site_sums::named(&section) }),
    };
    section.finish("key", |key| match (family, key) {
        (ModelKind::Hubbard, "two_sz") => Some("the sector of the hubbard model is `up` and `down`".into()),
        (ModelKind::SpinHubbard, "up" | "down" | "two_sz") => {
            Some("the sector of the spin_hubbard model is `flavours`, a list of particle numbers".into())
        }
        (ModelKind::Xxz, "up" | "down") => Some("the sector of the xxz model is `two_sz`, twice the total Sz".into()),
        _ => None,
    });
    draft
}

/// The charges of sites of any kind.
pub(super) fn charges(section: &Section<'_>) -> Vec<(Charge, i64)> {
    let count = |key: &'static str| section.count(key, 0).map(|number| number.value as i64);
    let mut charges = Vec::new();
    charges.extend(count("up").map(|number| (Charge::Up, number)));
    charges.extend(count("down").map(|number| (Charge::Down, number)));
    let flavours = section.counts("flavours", 0).map_or_else(Vec::new, |list| list.value);
    charges.extend((0..).zip(flavours).map(|(flavour, number)| (Charge::Flavour(flavour), number as i64)));
    charges.extend(count("particles").map(|number| (Charge::Particles, number)));
    charges.extend(count("bosons").map(|number| (Charge::Bosons, number)));
    charges.extend(section.integer("two_sz").map(|two_sz| (Charge::TwoSz, two_sz.value)));
    match section.integer("parity") {
        Some(Placed { value: 1, .. }) => charges.push((Charge::Parity, 0)),
        Some(Placed { value: -1, .. }) => charges.push((Charge::Parity, 1)),
        Some(Placed { value, .. }) => {
            let expected = "1 (an even number of particles, or of levels m + S) or -1 (odd)".into();
            section.problem("parity", Wrong::OutOfRange { key: "parity".into(), expected, found: value.to_string() });
        }
        None => {}
    }
    charges
}

/// Whether an operator conserves charges, and has states of them.
pub(super) fn check_charges(operator: &Operator, charges: &[(Charge, i64)]) -> Result<(), Wrong> {
    let fixed: Vec<Charge> = charges.iter().map(|(charge, _)| *charge).collect();
    operator.reduced().check(&fixed).map_err(Wrong::Operator)?;
    if operator.dimension(charges) != Some(0) {
        return Ok(());
    }
    let sites = operator.kinds_or_implied();
    let kinds = kind_names(&sites);
    let (sector, sites) = (Sector::Charges(charges.to_vec()).to_string(), sites.len());
    let reason = format!("no combination of local states of sites of kind {kinds} has these charges");
    Err(Wrong::Operator(OperatorError::EmptySector { sector, sites, reason }))
}

impl Draft {
    /// The sector, if the lattice can hold it. `declared` are the charges of the model that have names; `None` of a
    /// model that could not be read.
    pub(super) fn resolve(
        self,
        (sites, two_s): (usize, u32),
        declared: Option<&[SiteSum]>,
        problems: &Problems,
    ) -> Option<Sector> {
        match self {
            Draft::Charges { mut charges, named } => {
                if !named.is_empty() {
                    charges.extend(site_sums::resolve(named, declared?, problems)?);
                }
                Some(Sector::Charges(charges))
            }
            Draft::Fermions { up, down } => {
                let mut fits = true;
                for (species, number) in [("up", &up), ("down", &down)] {
                    if number.value > sites {
                        fits = false;
                        let what = Wrong::TooManyParticles { species, found: number.value, sites };
                        problems.add(number.span.clone(), what);
                    }
                }
                fits.then_some(Sector::Fermions { up: up.value, down: down.value })
            }
            Draft::Flavours { flavours: Placed { value: flavours, span } } => {
                let expected = two_s as usize + 1;
                if flavours.len() != expected {
                    let order = format!("flavour 0 to {two_s} of spin {}", spin_name(two_s));
                    let (key, found) = ("flavours".into(), flavours.len());
                    problems.add(span, Wrong::WrongLength { key, item: "flavour", expected, found, order });
                    return None;
                }
                if let Some(found) = flavours.iter().copied().find(|number| *number > sites) {
                    problems.add(span, Wrong::TooManyOfAFlavour { found, sites });
                    return None;
                }
                Some(Sector::Flavours(flavours))
            }
            Draft::Spins { two_sz: Placed { value: two_sz, span } } => {
                let most = i64::from(two_s) * sites as i64;
                let parity = |number: i64| if number % 2 == 0 { "even" } else { "odd" };
                let (spin, found, expected) = (spin_name(two_s), parity(two_sz), parity(most));
                if two_sz.unsigned_abs() > most as u64 {
                    problems.add(span, Wrong::TooMuchSpin { two_sz, most, sites, spin });
                    return None;
                }
                if found != expected {
                    problems.add(span, Wrong::SpinParity { two_sz, found, expected, sites, spin });
                    return None;
                }
                Some(Sector::Spins { two_sz })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sector::{self, Charges, Fermions, Flavours, Spins};
    use super::{Charge, SiteSum, dimension, sector_keys};

    #[test]
    fn reports_have_the_charges_of_a_sector_by_their_keys() {
        let of_bosons = vec![(Charge::Up, 1), (Charge::Down, 2), (Charge::Bosons, 3), (Charge::Parity, 1)];
        let momentum = Charge::OfSites(SiteSum::new("momentum", &[0, 1, 2], Some(3)));
        let sectors: [(Sector, &str); 6] = [
            (Fermions { up: 1, down: 2 }, r#"{"up":1,"down":2}"#),
            (Flavours(vec![1, 0, 2]), r#"{"flavours":[1,0,2]}"#),
            (Spins { two_sz: -3 }, r#"{"two_sz":-3}"#),
            (Charges(of_bosons), r#"{"up":1,"down":2,"bosons":3,"parity":-1}"#),
            (
                Charges(vec![(Charge::Particles, 2), (momentum, 1)]),
                r#"{"particles":2,"charges":[{"total":1,"sum":{"name":"momentum","values":[0,1,2],"modulo":3}}]}"#,
            ),
            (Charges(Vec::new()), "{}"),
        ];
        for (sector, text) in sectors {
            let mut written = Vec::new();
            sector_keys::serialize(&sector, &mut serde_json::Serializer::new(&mut written)).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), text);
            assert_eq!(sector_keys::deserialize(&mut serde_json::Deserializer::from_str(text)).unwrap(), sector);
        }
    }

    #[test]
    fn dimensions_are_those_of_the_reference_data_and_the_paper() {
        // The paper's case, and the cases of tests/data.
        assert_eq!(dimension(&Fermions { up: 7, down: 7 }, 16, 1), Some(130_873_600));
        assert_eq!(dimension(&Fermions { up: 4, down: 4 }, 16, 1), Some(3_312_400));
        assert_eq!(dimension(&Fermions { up: 0, down: 0 }, 4, 1), Some(1));
        assert_eq!(dimension(&Spins { two_sz: 0 }, 20, 1), Some(184_756));
        assert_eq!(dimension(&Spins { two_sz: 0 }, 10, 2), Some(8953));
        assert_eq!(dimension(&Spins { two_sz: 0 }, 6, 3), Some(580));
        assert_eq!(dimension(&Fermions { up: 5, down: 0 }, 4, 1), Some(0));
        assert_eq!(dimension(&Spins { two_sz: 1 }, 4, 1), Some(0));
        assert_eq!(dimension(&Fermions { up: 500, down: 500 }, 1000, 1), None);
    }

    #[test]
    fn the_sectors_of_a_spin_system_add_up_to_all_states() {
        for two_s in 1..=5 {
            for sites in 1..=7usize {
                let most = i64::from(two_s) * sites as i64;
                let sum: u128 = (-most..=most).map(|two_sz| dimension(&Spins { two_sz }, sites, two_s).unwrap()).sum();
                assert_eq!(sum, u128::from(two_s + 1).pow(sites as u32));
            }
        }
    }
}
