//! The functions f_k of H(t) = Σ_k f_k(t) H_k, and whether the places at which a step looks show all that they do.
//!
//! In: the f_k, a step, the places. Out: whether some f_k leaves what it has at the places by more than the step's tolerance allows: a pulse
//! between them would be missed, for every sum of values at the places is without it. Bounds of f_k over parts of the step show that; a part whose
//! bounds are too wide is halved, those with the widest first, until a value, and no bound, is outside, or until all are inside.

/// The f_k of H(t).
pub trait TimeCoefficients {
    /// Their values at a time.
    fn values(&self, time: f64) -> Vec<f64>;

    /// A lower and an upper bound of each from one time to another, which approach its values where the times do. Unless written they are those
    /// of a few values, between which a pulse is not seen.
    fn bounds(&self, from: f64, to: f64) -> Vec<[f64; 2]> {
        let mut bounds = Vec::new();
        for look in 0..=LOOKS {
            let values = self.values(from + (to - from) * look as f64 / LOOKS as f64);
            bounds.resize(values.len(), [f64::INFINITY, f64::NEG_INFINITY]);
            bounds.iter_mut().zip(values).for_each(|(bound, value)| include(bound, value));
        }
        bounds
    }
}

impl<F: Fn(f64) -> Vec<f64>> TimeCoefficients for F {
    fn values(&self, time: f64) -> Vec<f64> {
        self(time)
    }
}

/// Values of a function of which only these are known, in each part of a step.
const LOOKS: usize = 8;
/// Parts that a step is divided into at first, and at most.
const PARTS: [usize; 2] = [16, 512];
/// A function may leave its values at the places by so many times their spread: a parabola does by 1.
const SPREAD: f64 = 2.0;

fn include(bound: &mut [f64; 2], value: f64) {
    *bound = [bound[0].min(value), bound[1].max(value)];
}

/// Whether some f_k leaves what it has at these places of a step by more than its spread there and `slack` of its number.
pub fn hides_between(
    functions: &dyn TimeCoefficients,
    (time, step): (f64, f64),
    places: &[f64],
    slack: &[f64],
) -> bool {
    let mut allowed = vec![[f64::INFINITY, f64::NEG_INFINITY]; slack.len()];
    for place in places {
        allowed.iter_mut().zip(functions.values(*place)).for_each(|(bound, value)| include(bound, value));
    }
    for ([low, high], slack) in allowed.iter_mut().zip(slack) {
        let more = SPREAD * (*high - *low) + slack;
        (*low, *high) = (*low - more, *high + more);
    }
    let beyond = |bounds: Vec<[f64; 2]>| {
        let of = |([low, high], [least, most]): ([f64; 2], &[f64; 2])| (least - low).max(high - most);
        // A bound that is no number says nothing: it is looked at closer.
        bounds
            .into_iter()
            .zip(&allowed)
            .map(of)
            .fold(0.0, |sum: f64, own| if own.is_nan() { f64::INFINITY } else { sum.max(own) })
    };
    let value_is_beyond =
        |time: f64| beyond(functions.values(time).into_iter().map(|value| [value; 2]).collect()) > 0.0;
    let part = |from: f64, to: f64| (beyond(functions.bounds(from, to)), from, to);
    let edge = |number: usize| time + step * number as f64 / PARTS[0] as f64;
    let mut wide: Vec<(f64, f64, f64)> = (0..PARTS[0]).map(|number| part(edge(number), edge(number + 1))).collect();
    wide.retain(|(beyond, ..)| *beyond > 0.0);
    for _ in PARTS[0]..PARTS[1] {
        let Some(widest) = (0..wide.len()).max_by(|a, b| wide[*a].0.total_cmp(&wide[*b].0)) else { return false };
        let (_, from, to) = wide.swap_remove(widest);
        let middle = 0.5 * (from + to);
        if [from, middle, to].into_iter().any(value_is_beyond) {
            return true;
        }
        wide.extend([part(from, middle), part(middle, to)].into_iter().filter(|(beyond, ..)| *beyond > 0.0));
    }
    // Bounds that do not close in are those of a text such as time - time, not of a pulse, onto which halving leads.
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bounded<V, B>(V, B);

    impl<V: Fn(f64) -> f64, B: Fn(f64, f64) -> [f64; 2]> TimeCoefficients for Bounded<V, B> {
        fn values(&self, time: f64) -> Vec<f64> {
            vec![1.0, (self.0)(time)]
        }

        fn bounds(&self, from: f64, to: f64) -> Vec<[f64; 2]> {
            vec![[1.0; 2], (self.1)(from, to)]
        }
    }

    /// Places of a step of the fourth order and of its halves.
    fn places(time: f64, step: f64) -> Vec<f64> {
        [0.2, 0.8, 0.1, 0.4, 0.6, 0.9].map(|part| time + part * step).to_vec()
    }

    #[test]
    fn a_pulse_between_the_places_is_found_however_short_it_is() {
        for width in [0.1, 1e-3, 1e-6, 1e-9] {
            for middle in [0.5, 0.123_456, 0.987_654_3] {
                let value = move |time: f64| (-((time - middle) / width).powi(2)).exp();
                let bounds = move |from: f64, to: f64| {
                    let [a, b] = [value(from), value(to)];
                    [a.min(b), if (from..=to).contains(&middle) { 1.0 } else { a.max(b) }]
                };
                let pulse = Bounded(value, bounds);
                assert_eq!(
                    hides_between(&pulse, (0.0, 1.0), &places(0.0, 1.0), &[1e-9; 2]),
                    width < 0.05,
                    "{width} {middle}"
                );
                // A part before it, and one that the tolerance forgives.
                assert!(!hides_between(&pulse, (-3.0, 2.0), &places(-3.0, 2.0), &[1e-9; 2]), "{width} {middle}");
                assert!(!hides_between(&pulse, (0.0, 1.0), &places(0.0, 1.0), &[2.0; 2]));
            }
        }
    }

    #[test]
    fn smooth_functions_and_bounds_that_are_too_wide_hide_nothing() {
        for function in [|t: f64| t, |t: f64| t * t, |t: f64| (t - 0.5).powi(2), |t: f64| t.sin(), |_: f64| 3.0] {
            let smooth = |time: f64| vec![function(time)];
            assert!(!hides_between(&smooth, (0.0, 1.0), &places(0.0, 1.0), &[0.0]));
        }
        let wide = Bounded(|_| 0.0, |from, to| [from - to, to - from]);
        assert!(!hides_between(&wide, (0.0, 1.0), &places(0.0, 1.0), &[1e-12; 2]));
        // All places see the same phase of it.
        let fast = |time: f64| vec![(20.0 * std::f64::consts::PI * time).sin()];
        assert!(hides_between(&fast, (0.0, 1.0), &places(0.0, 1.0), &[1e-9]));
    }
}
