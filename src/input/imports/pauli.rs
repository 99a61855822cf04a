//! Sums of Pauli strings as other programs print them.
//!
//! In: a text. Out: its strings, or what is wrong with it. Two forms are read:
//!
//! * OpenFermion's: `(0.17+0j) [Z0] + (-0.045+0j) [X0 X1 Y2 Y3]`; `[]` is the identity, a number is a qubit.
//! * Qiskit's: labels with a coefficient each, `XXYY 0.5` on lines of their own or as `[('XXYY', (0.5+0j)), …]`. A label is read
//!   from right to left: its last letter is qubit 0.

use crate::operator::{MOST_TERMS, Operator, SiteKind, build};

/// The operator of a text on sites that are qubits.
///
/// # Errors
/// What was expected and what was found.
pub(super) fn read(text: &str, kinds: &[SiteKind]) -> Result<Operator, String> {
    match kinds.iter().position(|kind| *kind != SiteKind::Qubits) {
        None => on_qubits(text, kinds.len()),
        Some(site) => Err(format!(
            "Pauli strings act on qubits, found site {site} of kind \"{}\": write site = \"qubit\"",
            kinds[site]
        )),
    }
}

fn on_qubits(text: &str, qubits: usize) -> Result<Operator, String> {
    let has_numbered = |part: &str| part.split_whitespace().all(|word| word.len() > 1 && is_pauli(&word[..1]));
    let brackets: Vec<&str> = text.split('[').skip(1).filter_map(|rest| Some(rest.split_once(']')?.0)).collect();
    match !brackets.is_empty() && brackets.iter().all(|part| has_numbered(part)) {
        true => open_fermion(text, qubits),
        false => qiskit(text, qubits),
    }
}

fn is_pauli(letter: &str) -> bool {
    matches!(letter, "X" | "Y" | "Z")
}

fn open_fermion(text: &str, qubits: usize) -> Result<Operator, String> {
    let kinds = vec![SiteKind::Qubits; qubits];
    sum_of_products(text, &kinds, |word| {
        let (letter, number) = word.split_at(1);
        let qubit = number.parse::<usize>().ok().filter(|qubit| *qubit < qubits);
        let qubit = qubit.ok_or_else(|| format!("expected a qubit from 0 to {}, found `{word}`", qubits - 1))?;
        pauli(letter, qubit).ok_or_else(|| format!("expected X, Y or Z, found `{word}`"))
    })
}

/// A sum of products such as `(0.5+0j) [… …] + -1.5 [] +`; `factor` reads a word in brackets.
pub(super) fn sum_of_products(
    text: &str,
    kinds: &[SiteKind],
    factor: impl Fn(&str) -> Result<Operator, String>,
) -> Result<Operator, String> {
    let mut sum = Operator::zero();
    for part in text.split(']').filter(|part| !matches!(part.trim(), "" | "+")) {
        let (coefficient, string) =
            part.split_once('[').ok_or_else(|| format!("expected `[…]`, found `{}`", part.trim()))?;
        let coefficient = coefficient.trim();
        let (sign, coefficient) = match coefficient.strip_prefix('+') {
            Some(rest) => (1.0, rest.trim()),
            None => match coefficient.strip_prefix("- ") {
                Some(rest) => (-1.0, rest.trim()),
                None => (1.0, coefficient),
            },
        };
        let mut product = build::scalar(1.0);
        for word in string.split_whitespace() {
            product = product.checked_product(factor(word)?, kinds).map_err(|error| error.to_string())?;
        }
        sum.add_terms(times(product, coefficient, sign)?, 1.0);
        if sum.length() > MOST_TERMS {
            return Err(format!("expected at most {MOST_TERMS} terms, found more"));
        }
    }
    Ok(sum)
}

fn qiskit(text: &str, qubits: usize) -> Result<Operator, String> {
    let plain: String = text.chars().map(|c| if "'\",[]".contains(c) { ' ' } else { c }).collect();
    // A tuple's own brackets stand alone once its quotes and commas are gone.
    let words = plain.split_whitespace().map(|word| word.trim_start_matches("((").trim_end_matches("))"));
    let mut words = words.filter(|word| !word.is_empty() && *word != "(" && *word != ")").peekable();
    let is_label = |word: &str| word.chars().all(|letter| "IXYZ".contains(letter));
    let mut sum = Operator::zero();
    while let Some(label) = words.next() {
        let label = label.trim_start_matches('(');
        if !is_label(label) || label.len() != qubits {
            return Err(format!("expected a label of {qubits} letters I, X, Y, Z, one for each site, found `{label}`"));
        }
        let mut product = build::scalar(1.0);
        for (qubit, letter) in label.char_indices().map(|(place, _)| (qubits - 1 - place, &label[place..=place])) {
            if let Some(factor) = pauli(letter, qubit) {
                product = product
                    .checked_product(factor, &vec![SiteKind::Qubits; qubits])
                    .map_err(|error| error.to_string())?;
            }
        }
        let coefficient = words.next_if(|word| !is_label(word.trim_start_matches('('))).unwrap_or("");
        sum.add_terms(times(product, coefficient, 1.0)?, 1.0);
    }
    Ok(sum)
}

fn pauli(letter: &str, qubit: usize) -> Option<Operator> {
    match letter {
        "X" => Some(build::pauli_x(qubit)),
        "Y" => Some(build::pauli_y(qubit)),
        "Z" => Some(build::pauli_z(qubit)),
        _ => None,
    }
}

/// A product times a number as Python prints it: `0.5`, `(0.5-0.25j)`, `1j`; none is 1.
fn times(product: Operator, number: &str, sign: f64) -> Result<Operator, String> {
    let wrong = || format!("expected a number such as 0.5 or (0.5+0j), found `{number}`");
    let plain: String = number.chars().filter(|c| !"() ".contains(*c)).collect();
    let part = |text: &str| match text {
        "" | "+" => Ok(1.0),
        "-" => Ok(-1.0),
        text => text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(wrong),
    };
    let Some(complex) = plain.strip_suffix('j') else { return Ok(sign * part(&plain)? * product) };
    // The sign between the two parts is the last that is no exponent's.
    let between = complex
        .char_indices()
        .skip(1)
        .filter(|(at, c)| "+-".contains(*c) && !matches!(complex.as_bytes()[at - 1], b'e' | b'E'));
    let (re, im) = match between.last() {
        Some((at, _)) => (part(&complex[..at])?, part(&complex[at..])?),
        None => (0.0, part(complex)?),
    };
    let mut term = (sign * re) * product.clone();
    term.add_terms((sign * im) * product.times_i(), 1.0);
    Ok(term)
}

#[cfg(test)]
mod tests {
    use super::on_qubits as read;
    use crate::exact::InSector;
    use crate::operator::{Operator, SiteKind, build};

    /// H2 in STO-3G at 0.7414 Å, as OpenFermion prints its Jordan–Wigner transform; E0 = −1.137270 Hartree.
    const HYDROGEN: &str = "
(-0.09886396933545721+0j) [] +
(-0.045322202052874044+0j) [X0 X1 Y2 Y3] +
(0.045322202052874044+0j) [X0 Y1 Y2 X3] +
(0.045322202052874044+0j) [Y0 X1 X2 Y3] +
(-0.045322202052874044+0j) [Y0 Y1 X2 X3] +
(0.17119774903432952+0j) [Z0] +
(0.16862219158920938+0j) [Z0 Z1] +
(0.12054482205301799+0j) [Z0 Z2] +
(0.16586702410589204+0j) [Z0 Z3] +
(0.17119774903432955+0j) [Z1] +
(0.16586702410589204+0j) [Z1 Z2] +
(0.12054482205301799+0j) [Z1 Z3] +
(-0.22278593040418454+0j) [Z2] +
(0.17434844185575687+0j) [Z2 Z3] +
(-0.22278593040418454+0j) [Z3]";

    fn lowest(operator: Operator, qubits: usize) -> f64 {
        let model = operator.on_kinds(&vec![SiteKind::Qubits; qubits]).charges(&[]).unwrap();
        crate::exact::Dense::new(&model).run(&eigenforge_runtime::Device::cpu()).unwrap().energy()
    }

    #[test]
    fn the_hydrogen_molecule_has_its_energy_in_both_forms() {
        let energy = lowest(read(HYDROGEN, 4).unwrap(), 4);
        assert!((energy + 1.137270).abs() < 1e-6, "{energy}");
        let lines: String = HYDROGEN
            .trim()
            .lines()
            .map(|line| {
                let (coefficient, string) = line.trim_end_matches(" +").split_once(" [").unwrap();
                let mut label = ["I"; 4];
                for word in string.trim_end_matches(']').split_whitespace() {
                    label[3 - word[1..].parse::<usize>().unwrap()] = &word[..1];
                }
                format!("{} {coefficient}\n", label.concat())
            })
            .collect();
        assert_eq!(read(&lines, 4).unwrap(), read(HYDROGEN, 4).unwrap());
        let listed: String = lines
            .lines()
            .map(|line| {
                let (label, coefficient) = line.split_once(' ').unwrap();
                format!("('{label}', {coefficient}), ")
            })
            .collect();
        assert_eq!(read(&format!("[{listed}]"), 4).unwrap(), read(HYDROGEN, 4).unwrap());
    }

    #[test]
    fn labels_read_from_right_to_left_and_numbers_as_python_prints_them() {
        let x0 = build::pauli_x(0);
        assert_eq!(read("IX 0.5", 2).unwrap(), 0.5 * x0.clone());
        assert_eq!(read("- 2e-1 [X0] + 1.5 []", 2).unwrap(), -0.2 * x0.clone() + build::scalar(1.5));
        let complex = 0.5 * x0.clone() + -0.25e-3 * (build::imaginary_unit() * x0.clone());
        assert_eq!(read("(0.5-2.5e-4j) [X0]", 2).unwrap(), complex);
        assert_eq!(read("-1j [X0]", 1).unwrap(), -1.0 * (build::imaginary_unit() * x0));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, part) in [
            ("XIX 1.0", "a label of 2 letters"),
            ("1.0 [X5]", "a qubit from 0 to 1"),
            ("half [X0]", "a number such as"),
            ("XQ 1.0", "found `XQ`"),
            ("1.0 [X0] + 3", "expected `[…]`"),
        ] {
            let error = read(text, 2).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
