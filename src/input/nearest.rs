//! The nearest known word to one that is not known, for "did you mean".
//!
//! In: a word and the words that would have been right. Out: the closest by the optimal string alignment distance
//! (insert, delete, replace, swap neighbours: Damerau 1964), if it is close enough to be a slip of the hand.

/// The closest of `known` to `word`, if at most a third of its letters (and at least one) differ.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let limit = (word.chars().count() / 3).max(1);
    known
        .iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), *candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["boundary", "size", "kind", "t", "u"];
        assert_eq!(nearest("boundry", &known), Some("boundary"));
        assert_eq!(nearest("SIZE", &known), Some("size"));
        assert_eq!(nearest("sizes", &known), Some("size"));
        assert_eq!(nearest("knid", &known), Some("kind"));
        assert_eq!(nearest("temperature", &known), None);
    }
}
