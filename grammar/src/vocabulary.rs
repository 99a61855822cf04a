//! The words of the model language: operators with their arguments, spins, conserved charges, and the nearest known
//! word of a misspelt one.
//!
//! In: names as the user wrote them. Out: what they mean, or the word that was probably meant
//! (Damerau–Levenshtein distance, letter case ignored).

/// One operator of second quantisation or of a spin, without its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// c†, `cdag(i, s)`.
    Create,
    /// c, `c(i, s)`.
    Annihilate,
    /// n = c†c, `n(i, s)`; without the spin the sum over both.
    Number,
    /// S⁺, `sp(i)`.
    Raise,
    /// S⁻, `sm(i)`.
    Lower,
    /// Sᶻ, `sz(i)`.
    Sz,
    /// Sˣ = (S⁺ + S⁻)/2, `sx(i)`.
    Sx,
    /// Sʸ = (S⁺ − S⁻)/2i, `sy(i)`.
    Sy,
    /// S·S = SᶻSᶻ + (S⁺S⁻ + S⁻S⁺)/2, `sdots(i, j)`.
    Dot,
    /// Scalar chirality S·(S × S), `chirality(i, j, k)`.
    Chirality,
    /// b†, `bdag(i)`.
    CreateBoson,
    /// b, `b(i)`.
    AnnihilateBoson,
    /// Pauli's X of a qubit, `X(i)`.
    PauliX,
    /// Pauli's Y of a qubit, `Y(i)`.
    PauliY,
    /// Pauli's Z of a qubit, `Z(i)`.
    PauliZ,
    /// The imaginary unit, `I`.
    ImaginaryUnit,
}

/// Every operator: its name, its meaning and how it is called.
pub const OPERATORS: [(&str, Operator, &str); 16] = [
    ("c", Operator::Annihilate, "c(site, spin)"),
    ("cdag", Operator::Create, "cdag(site, spin)"),
    ("n", Operator::Number, "n(site, spin) or n(site)"),
    ("sp", Operator::Raise, "sp(site)"),
    ("sm", Operator::Lower, "sm(site)"),
    ("sz", Operator::Sz, "sz(site)"),
    ("sx", Operator::Sx, "sx(site)"),
    ("sy", Operator::Sy, "sy(site)"),
    ("sdots", Operator::Dot, "sdots(site, site)"),
    ("chirality", Operator::Chirality, "chirality(site, site, site)"),
    ("bdag", Operator::CreateBoson, "bdag(site)"),
    ("b", Operator::AnnihilateBoson, "b(site)"),
    ("X", Operator::PauliX, "X(site)"),
    ("Y", Operator::PauliY, "Y(site)"),
    ("Z", Operator::PauliZ, "Z(site)"),
    ("I", Operator::ImaginaryUnit, "I"),
];

/// Functions of real numbers, each with the number of its arguments; the names are those of f64's methods.
pub const FUNCTIONS: [(&str, usize); 27] = [
    ("sqrt", 1),
    ("cbrt", 1),
    ("exp", 1),
    ("ln", 1),
    ("log2", 1),
    ("log10", 1),
    ("sin", 1),
    ("cos", 1),
    ("tan", 1),
    ("asin", 1),
    ("acos", 1),
    ("atan", 1),
    ("sinh", 1),
    ("cosh", 1),
    ("tanh", 1),
    ("abs", 1),
    ("floor", 1),
    ("ceil", 1),
    ("round", 1),
    ("trunc", 1),
    ("recip", 1),
    ("powi", 2),
    ("powf", 2),
    ("min", 2),
    ("max", 2),
    ("atan2", 2),
    ("hypot", 2),
];

/// The number of arguments of a function of real numbers.
pub fn function(name: &str) -> Option<usize> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, arguments)| *arguments)
}

/// Names used elsewhere for the same operators, answered with ours.
const ELSEWHERE: [(&str, &str); 34] = [
    ("c_dag", "cdag"),
    ("cdagger", "cdag"),
    ("c_dagger", "cdag"),
    ("cd", "cdag"),
    ("cp", "cdag"),
    ("create", "cdag"),
    ("creation", "cdag"),
    ("annihilate", "c"),
    ("annihilation", "c"),
    ("destroy", "c"),
    ("cm", "c"),
    ("c_up", "c(site, Up)"),
    ("c_dn", "c(site, Down)"),
    ("c_down", "c(site, Down)"),
    ("n_up", "n(site, Up)"),
    ("nup", "n(site, Up)"),
    ("n_dn", "n(site, Down)"),
    ("ndn", "n(site, Down)"),
    ("n_down", "n(site, Down)"),
    ("number", "n"),
    ("density", "n"),
    ("splus", "sp"),
    ("s_plus", "sp"),
    ("sminus", "sm"),
    ("s_minus", "sm"),
    ("s_z", "sz"),
    ("s_x", "sx"),
    ("s_y", "sy"),
    ("sdot", "sdots"),
    ("s_dot_s", "sdots"),
    ("ss", "sdots"),
    ("chiral", "chirality"),
    ("scalarchirality", "chirality"),
    ("scalar_chirality", "chirality"),
];

impl Operator {
    /// The operator called `name`, if there is one.
    pub fn named(name: &str) -> Option<Operator> {
        OPERATORS.iter().find(|(known, _, _)| *known == name).map(|(_, operator, _)| *operator)
    }

    /// Its name in the model language and among the builders.
    pub fn name(self) -> &'static str {
        OPERATORS.iter().find(|(_, operator, _)| *operator == self).map_or("", |(name, _, _)| name)
    }

    /// How it is called.
    pub fn usage(self) -> &'static str {
        OPERATORS.iter().find(|(_, operator, _)| *operator == self).map_or("", |(_, _, usage)| usage)
    }

    /// True for c†, c and n, which speak of electrons.
    pub fn is_fermion(self) -> bool {
        matches!(self, Operator::Create | Operator::Annihilate | Operator::Number)
    }

    /// True for the operators of a spin, S⁺ to S·(S × S).
    pub fn is_spin(self) -> bool {
        use Operator::{Chirality, Dot, Lower, Raise, Sx, Sy, Sz};
        matches!(self, Raise | Lower | Sz | Sx | Sy | Dot | Chirality)
    }

    /// How many sites it has.
    pub fn sites(self) -> usize {
        match self {
            Operator::ImaginaryUnit => 0,
            Operator::Dot => 2,
            Operator::Chirality => 3,
            _ => 1,
        }
    }

    /// True for n and Sᶻ, which change no configuration.
    pub fn is_diagonal(self) -> bool {
        matches!(self, Operator::Number | Operator::Sz)
    }

    /// The name of its Hermitian conjugate.
    pub fn adjoint(self) -> Operator {
        match self {
            Operator::Create => Operator::Annihilate,
            Operator::Annihilate => Operator::Create,
            Operator::Raise => Operator::Lower,
            Operator::Lower => Operator::Raise,
            Operator::CreateBoson => Operator::AnnihilateBoson,
            Operator::AnnihilateBoson => Operator::CreateBoson,
            other => other,
        }
    }
}

/// A spin direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spin {
    /// ↑
    Up,
    /// ↓
    Down,
}

impl Spin {
    /// The spin called `name`.
    pub fn named(name: &str) -> Option<Spin> {
        match name {
            "Up" => Some(Spin::Up),
            "Down" => Some(Spin::Down),
            _ => None,
        }
    }

    /// Its name in the model language.
    pub fn name(self) -> &'static str {
        match self {
            Spin::Up => "Up",
            Spin::Down => "Down",
        }
    }
}

/// The operator that a call of `name` probably meant. `with_spin` says that one of its arguments is a spin, so that
/// an operator was meant for certain.
pub fn meant_operator(name: &str, with_spin: bool) -> Option<String> {
    let lower = name.to_lowercase();
    if let Some((_, ours)) = ELSEWHERE.iter().find(|(theirs, _)| *theirs == lower) {
        return Some((*ours).to_string());
    }
    // Operators with a spin are fermions'; the letters of the others are no evidence.
    let likely = OPERATORS.iter().filter(|(known, operator, _)| match with_spin {
        true => operator.is_fermion(),
        false => operator.is_fermion() || known.len() > 1,
    });
    let nearest = likely.map(|(known, _, _)| (distance(&lower, known), *known)).min()?;
    // One-letter names of other functions are one letter away from `c` and `n`: no evidence.
    let allowed = match name.chars().count() {
        0 | 1 => 0,
        2 | 3 => 1,
        _ => 2,
    };
    (with_spin || nearest.0 <= allowed).then(|| nearest.1.to_string())
}

/// The spin that `name` probably meant: same first letter, at most two letters wrong.
pub fn meant_spin(name: &str) -> Option<Spin> {
    let lower = name.to_lowercase();
    if lower.starts_with('u') && distance(&lower, "up") <= 1 {
        return Some(Spin::Up);
    }
    let down = lower.starts_with('d') && (lower == "dn" || distance(&lower, "down") <= 2);
    down.then_some(Spin::Down)
}

/// The nearest of `known` to `name`, however far.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> &'a str {
    let lower = name.to_lowercase();
    known.iter().min_by_key(|word| distance(&lower, &word.to_lowercase())).copied().unwrap_or("")
}

/// The nearest of `known` to `name`, if it is so near that it was probably meant.
pub fn probable<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = nearest(name, known);
    (distance(name, word) <= name.len() / 3).then_some(word)
}

/// Damerau–Levenshtein distance (optimal string alignment): insertions, deletions, substitutions, swaps of neighbours.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![vec![0usize; right.len() + 1]; left.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=right.len()).collect();
    for i in 1..=left.len() {
        for j in 1..=right.len() {
            let substitution = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = substitution.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_operator_finds_its_neighbour_and_a_foreign_function_does_not() {
        assert_eq!(meant_operator("cdga", false).as_deref(), Some("cdag"));
        assert_eq!(meant_operator("c_dagger", false).as_deref(), Some("cdag"));
        assert_eq!(meant_operator("sdotss", false).as_deref(), Some("sdots"));
        assert_eq!(meant_operator("n_up", false).as_deref(), Some("n(site, Up)"));
        assert_eq!(meant_operator("f", false), None);
        assert_eq!(meant_operator("coupling", false), None);
        assert_eq!(meant_operator("f", true).as_deref(), Some("c"));
    }

    #[test]
    fn a_misspelt_spin_finds_its_neighbour() {
        assert_eq!(meant_spin("UP"), Some(Spin::Up));
        assert_eq!(meant_spin("Dn"), Some(Spin::Down));
        assert_eq!(meant_spin("Donw"), Some(Spin::Down));
        assert_eq!(meant_spin("A"), None);
        assert_eq!(meant_spin("Left"), None);
    }

    #[test]
    fn distance_counts_a_swap_as_one() {
        assert_eq!(distance("cdga", "cdag"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
