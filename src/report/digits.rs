//! Energies as text: the digits that their uncertainty allows, of numbers of any size.
//!
//! In: energies and how far each may be off, |E − E_true| ≤ u. Out: text whose last digit is worth at least u, with at
//! most [`MOST`] digits behind the point. Energies of ordinary size have a fixed point; where the largest of a list is
//! below 1e-3 or at least 1e10 all are written d.ddde-12, so that t = 1 and t = 1e-12 show the same digits of E / t.
//!
//! | E | u | text |
//! |---|---|---|
//! | −4.60352629987… | 1e-14 | −4.6035262999 |
//! | −4.60352629987… | 3e-6 | −4.60353 |
//! | −4.60352629987…e-12 | 1e-26 | −4.6035262999e-12 |
//! | 1e-15 of a Hamiltonian of norm 8 | 2e-15 | 0.0000000000 |

/// Digits behind the point, at most.
const MOST: i32 = 10;
/// Significant digits of a double.
const SIGNIFICANT: i32 = 16;

/// How the energies of one list are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyFormat {
    scientific: bool,
}

impl EnergyFormat {
    /// The notation that suits a list of (energy, uncertainty): all of it has the same. What is smaller than its
    /// uncertainty is 0 and has no say.
    pub fn new(energies: impl IntoIterator<Item = (f64, f64)>) -> EnergyFormat {
        let known = energies.into_iter().filter(|(energy, uncertainty)| {
            energy.is_finite() && !matches!(energy.abs().partial_cmp(&uncertainty.abs()), Some(order) if order.is_le())
        });
        let largest = known.fold(0.0f64, |largest, (energy, _)| largest.max(energy.abs()));
        EnergyFormat { scientific: largest > 0.0 && !(1e-3..1e10).contains(&largest) }
    }

    /// One of them, known to ± `uncertainty` in its own units; an uncertainty that is not a number says nothing, and all
    /// digits are written.
    pub fn text(self, energy: f64, uncertainty: f64) -> String {
        if !energy.is_finite() {
            return energy.to_string();
        }
        let known = uncertainty.abs();
        // Digits behind the point so that the last is worth `known` or more.
        let places = if known > 0.0 { (-known.log10() + 1e-9).floor() as i32 } else { i32::MAX };
        let size = if energy == 0.0 { 0 } else { energy.abs().log10().floor() as i32 };
        if self.scientific {
            if energy.abs() <= known || energy == 0.0 {
                return "0".into();
            }
            let digits = places.saturating_add(size).clamp(0, MOST);
            return format!("{energy:.*e}", digits as usize);
        }
        let digits = places.min(SIGNIFICANT - 1 - size).clamp(0, MOST) as usize;
        let text = format!("{energy:.digits$}");
        // No −0.000.
        if text.bytes().all(|b| !b.is_ascii_digit() || b == b'0') { text.trim_start_matches('-').into() } else { text }
    }
}

/// One energy by itself.
pub fn energy_text(energy: f64, uncertainty: f64) -> String {
    EnergyFormat::new([(energy, uncertainty)]).text(energy, uncertainty)
}

/// Lines up texts of different lengths: to the right, at least `width` characters.
pub(crate) fn aligned(texts: &[String], width: usize) -> Vec<String> {
    let width = texts.iter().map(String::len).fold(width, usize::max);
    texts.iter().map(|text| format!("{text:>width$}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const E: f64 = -4.603_526_299_873_42;

    #[test]
    fn the_last_digit_is_worth_the_uncertainty() {
        let cases = [
            (0.0, "-4.6035262999"),
            (1e-14, "-4.6035262999"),
            (1e-9, "-4.603526300"),
            (2e-9, "-4.60352630"),
            (3e-6, "-4.60353"),
            (0.2, "-5"),
            (4.0, "-5"),
            (f64::NAN, "-4.6035262999"),
        ];
        for (uncertainty, expected) in cases {
            assert_eq!(energy_text(E, uncertainty), expected, "{uncertainty:e}");
        }
        assert_eq!(energy_text(f64::NAN, 1e-3), "NaN");
    }

    #[test]
    fn digits_do_not_depend_on_the_unit() {
        for exponent in -300..300i32 {
            let unit = 10f64.powi(exponent);
            let text = energy_text(E * unit, 1e-13 * unit);
            let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
            if (-3..10).contains(&exponent) {
                assert!(!text.contains('e'), "{text}");
            } else {
                assert_eq!((mantissa, power), ("-4.6035262999", exponent.to_string().as_str()));
                assert_eq!(energy_text(E * unit, 3e-6 * unit), format!("-4.60353e{exponent}"));
            }
        }
    }

    #[test]
    fn nothing_is_nothing_in_any_unit() {
        assert_eq!(energy_text(-1e-17, 2e-16), "0.0000000000");
        assert_eq!(energy_text(-0.0, 0.0), "0.0000000000");
        let tiny = EnergyFormat::new([(-4.6e-12, 1e-28), (1e-29, 1e-28)]);
        assert_eq!(tiny.text(-4.6e-12, 1e-28), "-4.6000000000e-12");
        assert_eq!(tiny.text(1e-29, 1e-28), "0");
    }

    #[test]
    fn a_double_has_sixteen_digits() {
        assert_eq!(energy_text(-160_000.0 - 4.603_526_299_873, 1e-14), "-160004.6035262999");
        assert_eq!(energy_text(-9_160_000.0 - 4.603_526_299_873, 1e-14), "-9160004.603526300");
    }
}
