//! Which layouts of a ranking are worth timing on a card, and their names, by which an earlier choice is found again.

use super::choose::{Candidate, FormatRanking};
use super::layout::PartLayout;
use eigenforge_templates::sparse::ColumnWord;

/// Candidates within this factor of the model's best are timed, so many at most.
const WORTH_TIMING: f64 = 2.5;
const MOST_FORMATS: usize = 8;

impl FormatRanking {
    /// The candidates that are worth timing, the model's choice first.
    pub fn worth_timing(&self) -> impl Iterator<Item = &Candidate> {
        let most = WORTH_TIMING * self.best().milliseconds;
        self.candidates.iter().filter(move |other| other.milliseconds <= most).take(MOST_FORMATS)
    }

    /// The candidate of this name among those that are worth timing and their variants.
    pub fn named(&self, name: &str) -> Option<Candidate> {
        let with_variants = |candidate: &Candidate| std::iter::once(candidate.clone()).chain(candidate.variants());
        self.worth_timing().flat_map(with_variants).find(|candidate| candidate.name() == name)
    }
}

impl Candidate {
    /// Its name: format, lanes and windows of the parts, threads.
    pub fn name(&self) -> String {
        let parts = self.layout.parts.iter();
        let codes = |part: &PartLayout| if part.columns == ColumnWord::Coded32 { ", coded" } else { "" };
        let name = |part: &PartLayout| format!("{} lanes, {} staged{}", part.lanes, part.staged, codes(part));
        let parts: Vec<String> = parts.map(name).collect();
        format!("{}: {}; {} threads", self.format, parts.join(" + "), self.layout.threads)
    }

    /// The same format with other numbers of lanes and of threads.
    pub fn variants(&self) -> Vec<Candidate> {
        self.layout.variants().into_iter().map(|layout| Candidate { layout, ..self.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Csr, FormatRequest, RowStatistics, Target};
    use super::*;

    #[test]
    fn every_candidate_and_variant_is_found_by_its_name() {
        let matrix = Csr::sample(2000);
        let ranking = FormatRanking::new(&matrix, &RowStatistics::new(&matrix), Target::H200, FormatRequest::default());
        let all: Vec<Candidate> =
            ranking.worth_timing().flat_map(|other| std::iter::once(other.clone()).chain(other.variants())).collect();
        assert!(all.len() > 4, "{} candidates", all.len());
        for candidate in all {
            let found = ranking.named(&candidate.name()).unwrap();
            assert_eq!((found.name(), &found.layout.parts), (candidate.name(), &candidate.layout.parts));
        }
        assert_eq!(ranking.named("a format of an earlier version"), None);
    }
}
