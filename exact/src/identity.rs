//! Which problem a model is: the name of its checkpoints.

use super::Model;

impl Model {
    /// A hash of terms, sites, what they carry, and sector, which identifies the problem in checkpoints.
    pub fn identity(&self) -> String {
        let mut head = format!("{} sites, {}, 2S = {}\n", self.sites(), self.sector(), self.operator().two_s());
        if let Some(sector) = self.symmetric() {
            head += &format!("{:?}\n{}", self.operator().kinds_or_implied(), sector.group().identity());
            if sector.is_by_species() {
                head += if sector.has_pairs() { "as pairs of strings\n" } else { "in the order of strings\n" };
            }
        }
        if self.basis().is_by_charge() {
            head += "by the charge of the high part\n";
        }
        if let Some(kinds) = self.operator().kinds() {
            head += &format!("{kinds:?}, without {:?}\n", self.operator().forbidden());
        }
        let terms = self.operator().terms().map(|(product, coefficient)| format!("{coefficient:?} {product:?}\n"));
        let text: String = std::iter::once(head).chain(terms).collect();
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }
}
