//! The point group of a cluster, and its irreducible representations.
//!
//! In: the rotations and mirrors of a lattice about one centre. Out: C_n (rotations by 2π/n) or D_n (with mirrors), the little group of a
//! momentum k, which are those that leave k as it is, and its irreducible representations with their names:
//!
//! | group | irreps | the rotation by 2π/n | the mirror |
//! |---|---|---|---|
//! | C_n | A | 1 | |
//! | | B (n even) | −1 | |
//! | | E+, E−, of n = 6 E1+, E1−, E2+, E2− | e^(∓2πil/n), l = 1, of E2 l = 2 | |
//! | D_n | A1, A2 | 1 | 1, −1 |
//! | | B1, B2 (n even) | −1 | 1, −1 |
//! | | E, of n = 6 E1, E2: two states each | | |
//!
//! D_1 is one mirror alone. The mirror is the one whose axis is along a1 if there is one, else the first; B1 and B2 of D2, D4 and D6
//! would change their names with another. A state of E is taken as the one of two partners that has a character of its own under a
//! subgroup with no other irrep in it: of D4 that has −1 under the rotation by π and 1 under the mirror, of D3 and D6 the eigenvalue
//! e^(−2πil/n) of the rotation (complex). Its partner has the same energy.

use super::symmetry::PointOperation;
use num_complex::Complex64;
use std::f64::consts::TAU;

/// Rotations, and mirrors if it has any, about one centre.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointGroup {
    /// The rotations by 2π m/n for m = 0 … n − 1.
    rotations: Vec<PointOperation>,
    /// Each of them after the first mirror; none of C_n.
    mirrors: Vec<PointOperation>,
}

/// An irreducible representation.
#[derive(Debug, Clone, PartialEq)]
pub struct PointIrrep {
    /// Its name.
    pub label: String,
    /// States that are taken to each other, of which one is solved for.
    pub degeneracy: usize,
    /// Trace of each operation: the rotations, then the mirrors.
    pub characters: Vec<Complex64>,
    /// What fixes the state: the name of each operation, where sites go, and its eigenvalue.
    pub generators: Vec<(String, Vec<usize>, Complex64)>,
}

/// What a name stands for.
enum Kind {
    /// Eigenvalues of the rotation and of the mirror.
    Single(Complex64, Option<f64>),
    /// Two states with e^(∓2πil/n).
    Pair(usize),
}

impl PointGroup {
    /// The largest group of these operations that takes no two of them for the same permutation of sites, as small tori do.
    pub fn largest(operations: &[PointOperation]) -> PointGroup {
        let Some(one) = operations.iter().find(|operation| operation.steps == [[1, 0], [0, 1]]) else {
            return PointGroup { rotations: Vec::new(), mirrors: Vec::new() };
        };
        let is_rotation = |operation: &&PointOperation| determinant(operation.steps) > 0;
        let order = operations.iter().filter(is_rotation).count();
        // Of the two generators the one that turns a1 towards a2.
        let turns = |operation: &&PointOperation| order_of(operation.steps) == order && operation.steps[0][1] >= 0;
        let rotation = operations.iter().filter(is_rotation).find(turns).unwrap_or(one);
        let along = |operation: &&PointOperation| operation.steps[0] == [1, 0];
        let mirrors = || operations.iter().filter(|operation| determinant(operation.steps) < 0);
        let mirror = mirrors().find(along).or_else(|| mirrors().next());
        let whole = PointGroup::generate(one, rotation, order, mirror);
        whole.subgroups().into_iter().find(PointGroup::is_faithful).unwrap_or(whole)
    }

    fn generate(
        one: &PointOperation,
        rotation: &PointOperation,
        order: usize,
        mirror: Option<&PointOperation>,
    ) -> PointGroup {
        let next = |last: &PointOperation| Some(rotation.after(last));
        let powers = |first: &PointOperation| std::iter::successors(Some(first.clone()), next).take(order).collect();
        PointGroup { rotations: powers(one), mirrors: mirror.map_or_else(Vec::new, powers) }
    }

    /// All subgroups, the largest first; of as many elements those with mirrors last but for the whole group.
    fn subgroups(&self) -> Vec<PointGroup> {
        let n = self.rotations.len();
        let mut found = Vec::new();
        for order in (1..=n).filter(|order| n.is_multiple_of(*order)) {
            let step = n / order;
            let made = |mirror| PointGroup::generate(&self.rotations[0], &self.rotations[step % n], order, mirror);
            found.extend(self.mirrors.iter().take(step).map(|mirror| made(Some(mirror))));
            found.push(made(None));
        }
        found.sort_by_key(|group| std::cmp::Reverse(group.operations().count()));
        found
    }

    fn is_faithful(&self) -> bool {
        let places: Vec<&[usize]> = self.operations().map(|operation| &operation.place[..]).collect();
        places.iter().enumerate().all(|(number, place)| !places[..number].contains(place))
    }

    /// The rotations, then the mirrors.
    pub fn operations(&self) -> impl Iterator<Item = &PointOperation> {
        self.rotations.iter().chain(&self.mirrors)
    }

    /// Whether it has the identity alone.
    pub fn is_trivial(&self) -> bool {
        self.operations().count() <= 1
    }

    /// `D4`, `C3`.
    pub fn name(&self) -> String {
        format!("{}{}", if self.mirrors.is_empty() { "C" } else { "D" }, self.rotations.len().max(1))
    }

    /// Its names and those of its subgroups, the largest first.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.subgroups().iter().map(PointGroup::name).collect();
        names.dedup();
        names
    }

    /// The subgroups with a name, which differ by their mirrors.
    pub fn all_named(&self, name: &str) -> Vec<PointGroup> {
        self.subgroups().into_iter().filter(|group| group.name() == name).collect()
    }

    /// A rotation and a mirror that generate it, those that it has, by their names.
    pub fn generators(&self) -> Vec<(String, &[usize])> {
        let n = self.rotations.len();
        let rotation = (n > 1).then(|| (self.rotation_name(1), &self.rotations[1].place[..]));
        let mirror = self.mirrors.first().map(|mirror| ("mirror".to_string(), &mirror.place[..]));
        rotation.into_iter().chain(mirror).collect()
    }

    fn rotation_name(&self, turns: usize) -> String {
        format!("rotation by {} degrees", 360 * turns / self.rotations.len().max(1))
    }

    /// The subgroup of the operations that have a property, which products of them must have too.
    pub fn subgroup(&self, keeps: impl Fn(&PointOperation) -> bool) -> PointGroup {
        let Some(one) = self.rotations.first() else { return self.clone() };
        let turns = (1..self.rotations.len()).find(|turns| keeps(&self.rotations[*turns]));
        let step = turns.unwrap_or(self.rotations.len());
        let rotation = turns.map_or(one, |turns| &self.rotations[turns]);
        let mirror = self.mirrors.iter().find(|mirror| keeps(mirror));
        PointGroup::generate(one, rotation, self.rotations.len() / step, mirror)
    }

    /// Its irreducible representations.
    pub fn irreps(&self) -> Vec<PointIrrep> {
        let (n, real) = (self.rotations.len().max(1), |value: f64| Complex64::new(value, 0.0));
        let turn = |l: usize| Complex64::from_polar(1.0, -TAU * l as f64 / n as f64);
        let numbered = |l: usize| if n == 6 { format!("E{l}") } else { "E".into() };
        let mut kinds: Vec<(String, Kind)> = Vec::new();
        if self.mirrors.is_empty() {
            kinds.push(("A".into(), Kind::Single(real(1.0), None)));
            if n.is_multiple_of(2) {
                kinds.push(("B".into(), Kind::Single(real(-1.0), None)));
            }
            for l in 1..n.div_ceil(2) {
                kinds.push((numbered(l) + "+", Kind::Single(turn(l), None)));
                kinds.push((numbered(l) + "-", Kind::Single(turn(n - l), None)));
            }
        } else {
            for (letter, rotation) in [("A", 1.0), ("B", -1.0)].into_iter().take(2 - n % 2) {
                for (number, mirror) in [(1, 1.0), (2, -1.0)] {
                    kinds.push((format!("{letter}{number}"), Kind::Single(real(rotation), Some(mirror))));
                }
            }
            kinds.extend((1..n.div_ceil(2)).map(|l| (numbered(l), Kind::Pair(l))));
        }
        kinds.into_iter().map(|(label, kind)| self.irrep(label, &kind)).collect()
    }

    fn irrep(&self, label: String, kind: &Kind) -> PointIrrep {
        let (n, real) = (self.rotations.len().max(1), |value: f64| Complex64::new(value, 0.0));
        let rotation =
            |turns: usize, value| (self.rotation_name(turns), self.rotations[turns % n].place.clone(), value);
        let mirror =
            |value: f64| self.mirrors.first().map(|mirror| ("mirror".into(), mirror.place.clone(), real(value)));
        let mut generators = Vec::new();
        let (degeneracy, characters): (usize, Vec<Complex64>) = match kind {
            Kind::Single(value, sign) => {
                generators.extend((n > 1).then(|| rotation(1, *value)));
                generators.extend(sign.and_then(mirror));
                let power = |m: usize| value.powu(m as u32);
                let mirrors = (0..self.mirrors.len()).map(|m| power(m) * sign.unwrap_or(1.0));
                (1, (0..n).map(power).chain(mirrors).collect())
            }
            Kind::Pair(l) => {
                match n {
                    4 => {
                        generators.push(rotation(2, real(-1.0)));
                        generators.extend(mirror(1.0));
                    }
                    _ => generators.push(rotation(1, Complex64::from_polar(1.0, -TAU * *l as f64 / n as f64))),
                }
                let trace = |m: usize| real(2.0 * (TAU * (l * m) as f64 / n as f64).cos());
                (2, (0..n).map(trace).chain(vec![real(0.0); self.mirrors.len()]).collect())
            }
        };
        PointIrrep { label, degeneracy, characters, generators }
    }

    /// An operation g takes an irrep of this group L to one of g L g⁻¹, the other group: its number among the other's irreps; with
    /// `conjugate` that of its complex conjugate. `None` if the other group is not g L g⁻¹.
    pub fn taken(
        &self,
        irrep: &PointIrrep,
        g: [[i64; 2]; 2],
        (there, irreps): (&PointGroup, &[PointIrrep]),
        conjugate: bool,
    ) -> Option<usize> {
        let own: Vec<[[i64; 2]; 2]> = self.operations().map(|operation| operation.steps).collect();
        // The character of the operation l of the other group is that of g⁻¹ l g here: g · own = l · g.
        let of = |l: &PointOperation| {
            let source = own.iter().position(|own| product(*own, g) == product(g, l.steps))?;
            Some(if conjugate { irrep.characters[source].conj() } else { irrep.characters[source] })
        };
        let wanted = there.operations().map(of).collect::<Option<Vec<_>>>()?;
        let same = |other: &PointIrrep| other.characters.iter().zip(&wanted).all(|(a, b)| (a - b).norm() < 1e-6);
        (wanted.len() == own.len()).then(|| irreps.iter().position(same))?
    }
}

impl PointOperation {
    /// This after another about the same centre.
    fn after(&self, first: &PointOperation) -> PointOperation {
        PointOperation {
            steps: product(first.steps, self.steps),
            place: first.place.iter().map(|site| self.place[*site]).collect(),
        }
    }
}

/// Steps that are turned by one map and then by another.
fn product(first: [[i64; 2]; 2], then: [[i64; 2]; 2]) -> [[i64; 2]; 2] {
    first.map(|step| [0, 1].map(|e| step[0] * then[0][e] + step[1] * then[1][e]))
}

fn determinant(steps: [[i64; 2]; 2]) -> i64 {
    steps[0][0] * steps[1][1] - steps[0][1] * steps[1][0]
}

/// After how many times a rotation is the identity.
fn order_of(steps: [[i64; 2]; 2]) -> usize {
    let (mut power, mut order) = (steps, 1);
    while power != [[1, 0], [0, 1]] && order < 12 {
        power = product(power, steps);
        order += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::super::{Boundary, Lattice, Momenta};
    use super::*;

    fn group(lattice: &Lattice) -> PointGroup {
        PointGroup::largest(&lattice.point_operations())
    }

    #[test]
    fn groups_have_their_names_and_irreps() {
        for (lattice, name, labels) in [
            (Lattice::chain(7).periodic(), "D1", "A1 A2"),
            (Lattice::ladder([5, 2]).periodic(), "D2", "A1 A2 B1 B2"),
            (Lattice::square([4, 4]), "D4", "A1 A2 B1 B2 E"),
            (Lattice::square([5, 5]).periodic(), "D4", "A1 A2 B1 B2 E"),
            (Lattice::square([6, 4]).periodic(), "D2", "A1 A2 B1 B2"),
            (Lattice::square([5, 3]).boundary([Boundary::Periodic, Boundary::Open]), "D2", "A1 A2 B1 B2"),
            (Lattice::triangular([4, 4]).periodic(), "D6", "A1 A2 B1 B2 E1 E2"),
            (Lattice::honeycomb([3, 3]).periodic(), "D6", "A1 A2 B1 B2 E1 E2"),
            (Lattice::kagome([3, 3]).periodic(), "D6", "A1 A2 B1 B2 E1 E2"),
        ] {
            let found = group(&lattice);
            let all: Vec<String> = found.irreps().into_iter().map(|irrep| irrep.label).collect();
            assert_eq!((found.name().as_str(), all.join(" ").as_str()), (name, labels), "{lattice}");
        }
        let six = group(&Lattice::triangular([4, 4]).periodic());
        let labels = |name: &str| {
            let all = six.all_named(name)[0].irreps();
            all.into_iter().map(|irrep| irrep.label).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((labels("C6").as_str(), labels("C3").as_str()), ("A B E1+ E1- E2+ E2-", "A E+ E-"));
        assert_eq!(
            (labels("D3").as_str(), labels("D2").as_str(), labels("C1").as_str()),
            ("A1 A2 E", "A1 A2 B1 B2", "A")
        );
        assert!(six.all_named("D4").is_empty() && six.all_named("D3").len() == 2);
        assert_eq!(six.names(), ["D6", "D3", "C6", "D2", "C3", "D1", "C2", "C1"]);
        // Where the torus is two sites long, a rotation by π moves nothing.
        assert_eq!(group(&Lattice::square([2, 2]).periodic()).name(), "D1");
        assert!(group(&Lattice::from_edges(2, &[(0, 1, 1.0)]).unwrap()).is_trivial());
    }

    /// Σ χ* χ' over the operations is their number for the same irrep and 0 for two, and Σ d² is their number.
    #[test]
    fn characters_are_orthogonal() {
        for lattice in [Lattice::square([5, 5]).periodic(), Lattice::triangular([4, 4]).periodic()] {
            for group in group(&lattice).subgroups() {
                let (irreps, size) = (group.irreps(), group.operations().count());
                assert_eq!(irreps.iter().map(|irrep| irrep.degeneracy.pow(2)).sum::<usize>(), size, "{}", group.name());
                for (a, first) in irreps.iter().enumerate() {
                    for (b, second) in irreps.iter().enumerate() {
                        let both = first.characters.iter().zip(&second.characters);
                        let sum: Complex64 = both.map(|(x, y)| x.conj() * y).sum();
                        let expected = if a == b { size as f64 } else { 0.0 };
                        assert!((sum - expected).norm() < 1e-9, "{} {} {}", group.name(), first.label, second.label);
                    }
                }
            }
        }
    }

    /// The little groups of the square and the triangular lattice, whose stars have all momenta together.
    #[test]
    fn little_groups_are_those_of_the_zone() {
        for (lattice, expected) in [
            (
                Lattice::square([4, 4]).periodic(),
                vec![([0, 0], "D4"), ([2, 2], "D4"), ([2, 0], "D2"), ([1, 0], "D1"), ([1, 1], "D1")],
            ),
            (
                Lattice::triangular([6, 6]).periodic(),
                vec![([0, 0], "D6"), ([3, 0], "D2"), ([2, 2], "D3"), ([1, 0], "D1"), ([1, 2], "C1")],
            ),
        ] {
            let (whole, momenta) = (group(&lattice), Momenta::new(&lattice));
            let mut sum = 0;
            for k in momenta.all() {
                let star: std::collections::BTreeSet<_> =
                    whole.operations().map(|operation| momenta.turned(&k, operation.steps).unwrap()).collect();
                let little = whole.subgroup(|operation| momenta.turned(&k, operation.steps).as_ref() == Some(&k));
                assert_eq!(little.operations().count() * star.len(), whole.operations().count(), "{lattice} {k:?}");
                for operation in little.operations() {
                    assert_eq!(momenta.turned(&k, operation.steps).as_ref(), Some(&k), "{lattice} {k:?}");
                }
                sum += usize::from(star.first() == Some(&k)) * star.len();
                if let Some((_, name)) = expected.iter().find(|(own, _)| own[..] == k[..]) {
                    assert_eq!(little.name(), *name, "{lattice} {k:?}");
                }
            }
            assert_eq!(sum, momenta.all().len());
        }
    }
}
