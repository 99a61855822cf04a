//! Two-body elements in JT coupling, as the Darmstadt group writes them (`.me2j`, `.me2j.gz`, `.me2j.bin`), in and out.
//!
//! A file is a comment line and numbers without labels, four for each ⟨a b; J|V|c d; J⟩ of the order of [`order`]: T = 0, then T = 1
//! of two neutrons, of a proton and a neutron, of two protons. They are **not normalised**, √((1+δab)(1+δcd)) times the elements of
//! normalised states, and 0 where a = b or c = d and J + T is even. Radial functions are positive at the origin. (Reader and writer
//! of imsrg++, `ReadBareTBME_Darmstadt_from_stream` and `Write_me2j`.) With phases for other orders of a pair
//!
//! ```text
//! |b a; J T⟩ = −(−1)^{ja+jb−J+1−T} |a b; J T⟩,   V_pn(ab, cd; J) = ½ [V_{T=1,pn} + V_{T=0}](ab, cd; J)
//! ```
//!
//! for a proton in a and c, a neutron in b and d. The format has no element between T = 0 and T = 1.
//!
//! No file says ħω, which is needed for what is added to it, as kinetic energy.
//!
//! | file | question it answers |
//! |---|---|
//! | `order` | which elements are there, in which order, and how many? |
//! | `numbers` | how are they written as text, gzip and 4-byte numbers? |
//! | `m_scheme` | what are the elements between single m-states? |

mod m_scheme;
mod numbers;
mod order;

pub use m_scheme::{MScheme, MState};

use super::channel::{ByChannel, Channel};
use super::csv::TableError;
use super::element::{Collected, Element, Orbital, check_channels, exchange_sign};
use super::elements::StateIndex;
use super::plan::Plan;
use numbers::Numbers;
pub(super) use numbers::{is_name, recognised};
use order::Truncation;
use std::io::{self, Write};
use std::path::Path;

/// One element with its four numbers: T = 0; T = 1 of nn, pn, pp.
struct JtElement {
    four: [Orbital; 4],
    j: u32,
    values: [f64; 4],
}

impl JtElement {
    /// Whether no antisymmetric state has these labels, for isospin T.
    fn is_forbidden(&self, t: u32) -> bool {
        let [a, b, c, d] = self.four;
        (a == b || c == d) && (self.j + t).is_multiple_of(2)
    }

    /// Checks that what no state has is zero.
    fn check(&self) -> Result<(), String> {
        for (at, value) in self.values.into_iter().enumerate() {
            let t = u32::from(at > 0);
            if self.is_forbidden(t) && value != 0.0 {
                let labels = self.labels();
                return Err(format!(
                    "expected 0 for T = {t} of {labels}, where one orbit holds both nucleons and J + T is even, found {value}: \
                     the numbers are in another order, or those of another format"
                ));
            }
        }
        Ok(())
    }

    fn labels(&self) -> String {
        let [a, b, c, d] = self.four.map(|x| format!("{} {} {}", x.radial, x.l, x.two_j));
        format!("the element with radial n l 2j = {a}, {b} | {c}, {d}; J = {}", self.j)
    }

    /// V_pn in all orders of bra and ket, each once.
    fn proton_neutron(&self) -> Vec<([Orbital; 4], f64)> {
        let [singlet, _, triplet, _] = self.values;
        // Each order with the signs of T = 1 and T = 0.
        let orders = |[x, y]: [Orbital; 2]| {
            let sign = exchange_sign([x, y], self.j);
            let all = [([x, y], [1.0, 1.0]), ([y, x], [sign, -sign])];
            all.into_iter().take(if x == y { 1 } else { 2 })
        };
        let [a, b, c, d] = self.four;
        let of_bra = |([a, b], bra): ([Orbital; 2], [f64; 2])| {
            orders([c, d])
                .map(move |([c, d], ket)| ([a, b, c, d], 0.5 * (bra[0] * ket[0] * triplet + bra[1] * ket[1] * singlet)))
        };
        orders([a, b]).flat_map(of_bra).collect()
    }
}

/// A file whose numbers have been counted.
struct CountedFile<'a> {
    path: &'a Path,
    truncation: Truncation,
}

impl<'a> CountedFile<'a> {
    /// Counts the numbers, which tell e_max and E2max.
    fn open(path: &'a Path) -> Result<CountedFile<'a>, TableError> {
        let count = Numbers::count(path)?;
        let truncation =
            Truncation::of_numbers(count).map_err(|reason| TableError::Content { path: path.to_path_buf(), reason })?;
        Ok(CountedFile { path, truncation })
    }

    /// Visits every element in the order of the file.
    fn for_each(&self, mut visit: impl FnMut(&JtElement) -> Result<(), String>) -> Result<(), TableError> {
        let mut numbers = Numbers::open(self.path)?;
        self.truncation.for_each(|four, j| {
            let mut values = [0.0; 4];
            for value in &mut values {
                *value =
                    numbers.next()?.ok_or_else(|| numbers.fault("expected more numbers: it changed as it was read"))?;
            }
            let element = JtElement { four, j, values };
            element.check().and_then(|()| visit(&element)).map_err(|reason| numbers.fault(&reason))
        })
    }
}

/// Reads the elements of a plan's space; those beyond it are ignored.
///
/// # Errors
///
/// A number that is not finite, a count that is that of no e_max and E2max, an element that is not 0 but should be, a file that
/// ends below N_max.
pub(super) fn read(path: &Path, plan: &Plan) -> Result<ByChannel, TableError> {
    let file = CountedFile::open(path)?;
    let (found, needed) = (file.truncation, Truncation::of_plan(plan));
    if found.e_max < needed.e_max || found.e2_max < needed.e2_max {
        let advice = match found.largest_n_max() {
            Some(n_max) => format!("use --n-max {n_max} or a larger file"),
            None => "use a larger file: N_max = 0 needs e_max = 1, E2max = 2".into(),
        };
        let n_max = plan.n_max;
        let reason = format!("its numbers are those of {found}, but N_max = {n_max} needs {needed}: {advice}");
        return Err(TableError::Content { path: path.to_path_buf(), reason });
    }
    let mut collected = Collected::new(plan);
    file.for_each(|element| {
        let JtElement { four, j, values } = *element;
        let alike = [(Channel::Nn, values[1]), (Channel::Pp, values[3])];
        for (channel, value) in alike.into_iter().filter(|_| !element.is_forbidden(1)) {
            collected.take(channel, &Element { four, j, identical: true, normalised: false, value })?;
        }
        for (four, value) in element.proton_neutron() {
            collected.take(Channel::Pn, &Element { four, j, identical: false, normalised: false, value })?;
        }
        Ok(())
    })?;
    collected.finish(path)
}

/// Writes the elements of a plan, which must have pn, pp and nn and be those of a Hermitian force without elements between T = 0
/// and T = 1, with 7 decimals or in single precision as the format has them.
///
/// # Errors
///
/// I/O errors; missing channels; elements that the format cannot hold.
pub(super) fn write(out: &mut dyn Write, path: &Path, plan: &Plan, elements: &ByChannel) -> io::Result<()> {
    check_channels(elements, "an me2j file")?;
    let (states, truncation) = (StateIndex::new(plan), Truncation::of_plan(plan));
    let largest = |channel: Channel| {
        elements.vectors[channel as usize].1.iter().fold(0.0, |largest: f64, u| largest.max(u.abs()))
    };
    let value = |channel: Channel, four: [Orbital; 4], j: u32| {
        let element = Element { four, j, identical: channel != Channel::Pn, normalised: false, value: 0.0 };
        let found = element.get(plan, &states, &elements.vectors[channel as usize].1);
        found.map_err(|found| io::Error::other(found.explain(largest(channel))))
    };
    numbers::write(out, path, &truncation.to_string(), |put| {
        truncation.for_each(|four, j| {
            let [a, b, c, d] = four;
            let pn = |four| value(Channel::Pn, four, j);
            let (bra, ket) = (exchange_sign([a, b], j), exchange_sign([c, d], j));
            let (direct, exchanged) = (pn([a, b, c, d])?, bra * pn([b, a, c, d])?);
            // Without elements between T = 0 and T = 1 both nucleons may be exchanged.
            for (four, sign, expected) in [([b, a, d, c], bra * ket, direct), ([a, b, d, c], ket, exchanged)] {
                let element = Element { four, j, identical: false, normalised: false, value: 0.0 };
                let same = element.agree([sign * pn(four)?, expected]);
                same.map_err(|found| {
                    let reason = found.explain(largest(Channel::Pn));
                    io::Error::other(format!("{reason}, and me2j has no element between T = 0 and T = 1"))
                })?;
            }
            let mut element = JtElement { four, j, values: [direct - exchanged, 0.0, direct + exchanged, 0.0] };
            element.values[1] = value(Channel::Nn, four, j)?;
            element.values[3] = value(Channel::Pp, four, j)?;
            for (at, value) in element.values.into_iter().enumerate() {
                put(if element.is_forbidden(u32::from(at > 0)) { 0.0 } else { value })?;
            }
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn data(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/su3").join(name)
    }

    /// Every element, in the order of the file, against tables with labels that an independent program wrote (`me2j.json`).
    #[test]
    fn every_element_is_that_of_the_table() {
        for (name, expected, elements) in [("tiny_emax1", [1, 2], 25), ("tiny_emax2", [2, 4], 226)] {
            let path = data(&format!("{name}.me2j"));
            let file = CountedFile::open(&path).unwrap();
            assert_eq!([file.truncation.e_max, file.truncation.e2_max], expected);
            let orbits = file.truncation.orbits();
            let table = std::fs::read_to_string(data(&format!("{name}.csv"))).unwrap();
            let mut rows = table.lines().skip(1);
            let mut count = 0;
            file.for_each(|element| {
                let numbers: Vec<f64> = rows.next().unwrap().split(',').map(|word| word.parse().unwrap()).collect();
                let labels = element.four.map(|orbit| orbits.iter().position(|own| *own == orbit).unwrap());
                assert_eq!(labels.map(|label| label as f64), numbers[..4], "row {count}");
                assert_eq!(f64::from(element.j), numbers[4], "row {count}");
                let [a, b, c, d] = labels;
                let norm = f64::from((1 + u32::from(a == b)) * (1 + u32::from(c == d))).sqrt();
                for (value, normalised) in element.values.iter().zip(&numbers[5..]) {
                    assert!((value - norm * normalised).abs() < 1.6e-7, "row {count}: {value} and {normalised}");
                }
                count += 1;
                Ok(())
            })
            .unwrap();
            assert_eq!((count, rows.count()), (elements, 0));
        }
    }

    /// ⟨aa|V|aa⟩ is that of the one T that J allows, ⟨ab|V|ab⟩ the mean of both, and one exchange takes T = 0 from T = 1.
    #[test]
    fn a_proton_and_a_neutron_have_the_mean_of_both_isospins() {
        let [s, p]: [Orbital; 2] = [0, 1].map(|n| Orbital::of_shell(n).next().unwrap());
        let of = |four, j, values| JtElement { four, j, values }.proton_neutron();
        assert_eq!(of([s; 4], 0, [0.0, 1.0, 3.0, 5.0]), [([s; 4], 1.5)]);
        let all = of([p, s, p, s], 1, [2.0, 0.0, 6.0, 0.0]);
        // (−1)^{1/2 + 1/2 − 1} = 1: T = 1 changes its sign, T = 0 keeps it.
        let expected = [([p, s, p, s], 4.0), ([p, s, s, p], -2.0), ([s, p, p, s], -2.0), ([s, p, s, p], 4.0)];
        assert_eq!(all, expected);
    }
}
