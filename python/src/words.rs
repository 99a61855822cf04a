//! Operators at one site, by the words of `[[term]]` in a model file.

/// A word, such as `cdag_up`: its place in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u8);

/// All words with their Hermitian conjugates.
const WORDS: [(&str, &str); 37] = [
    ("cdag", "c"),
    ("c", "cdag"),
    ("n", "n"),
    ("cdag_up", "c_up"),
    ("c_up", "cdag_up"),
    ("n_up", "n_up"),
    ("cdag_dn", "c_dn"),
    ("c_dn", "cdag_dn"),
    ("n_dn", "n_dn"),
    ("cdag_0", "c_0"),
    ("c_0", "cdag_0"),
    ("n_0", "n_0"),
    ("cdag_1", "c_1"),
    ("c_1", "cdag_1"),
    ("n_1", "n_1"),
    ("cdag_2", "c_2"),
    ("c_2", "cdag_2"),
    ("n_2", "n_2"),
    ("cdag_3", "c_3"),
    ("c_3", "cdag_3"),
    ("n_3", "n_3"),
    ("cdag_4", "c_4"),
    ("c_4", "cdag_4"),
    ("n_4", "n_4"),
    ("cdag_5", "c_5"),
    ("c_5", "cdag_5"),
    ("n_5", "n_5"),
    ("S+", "S-"),
    ("S-", "S+"),
    ("Sx", "Sx"),
    ("Sy", "Sy"),
    ("Sz", "Sz"),
    ("X", "X"),
    ("Y", "Y"),
    ("Z", "Z"),
    ("bdag", "b"),
    ("b", "bdag"),
];

impl Word {
    /// A word by its name.
    pub(crate) fn named(name: &str) -> Option<Word> {
        WORDS.iter().position(|(word, _)| *word == name).map(|place| Word(place as u8))
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        WORDS[usize::from(self.0)].0
    }

    /// Its Hermitian conjugate.
    pub(crate) fn adjoint(self) -> Word {
        Word::named(WORDS[usize::from(self.0)].1).unwrap_or(self)
    }

    /// Its call in the language of texts: `cdag(3, Up)`.
    pub(crate) fn call(self, site: u32) -> String {
        match self.name() {
            "S+" => format!("sp({site})"),
            "S-" => format!("sm({site})"),
            "Sx" | "Sy" | "Sz" => format!("{}({site})", self.name().to_lowercase()),
            name => match name.split_once('_') {
                Some((base, "up")) => format!("{base}({site}, Up)"),
                Some((base, "dn")) => format!("{base}({site}, Down)"),
                Some((base, flavour)) => format!("{base}({site}, Flavour({flavour}))"),
                None => format!("{name}({site})"),
            },
        }
    }

    /// What a site must carry for it, if the word alone says so.
    pub(crate) fn site(self) -> Option<&'static str> {
        match self.name() {
            "cdag" | "c" => Some("spinless"),
            "cdag_up" | "c_up" | "n_up" | "cdag_dn" | "c_dn" | "n_dn" => Some("electron"),
            "S+" | "S-" | "Sx" | "Sy" | "Sz" => Some("spin 1/2"),
            "X" | "Y" | "Z" => Some("qubit"),
            _ => None,
        }
    }
}
