//! Finds the template line of a generated line.
//!
//! In: a generated text and a line of it. Out: file and line under `templates/cuda`. The text itself has no marks: the
//! fixed parts of the templates' lines are searched in the generated line; the longest match counts, and among equals the
//! one that continues from the lines above.

use crate::files::{INCLUDED, PARTS, PRELUDE, Template, WHOLE};
use std::fmt;

/// A match of fewer visible characters, such as a brace, is ignored.
const TELLING: usize = 6;
/// Lines with this many visible characters in common identify the template of a text.
const DISTINCT: usize = 24;

/// A line of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateLine {
    /// The file's name in `templates/cuda`.
    pub file: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// Whether the generated line is this one; otherwise it is below it and was built from the plan.
    pub exact: bool,
}

impl fmt::Display for TemplateLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}templates/cuda/{}:{}", if self.exact { "" } else { "below " }, self.file, self.line)
    }
}

impl TemplateLine {
    /// Origin of line `line` (from 1) of a generated text; `None` if nothing above it comes from a template.
    pub fn find(text: &str, line: usize) -> Option<TemplateLine> {
        let lines: Vec<&str> = text.lines().collect();
        let patterns = |template: &Template| Pattern::all(template.name, template.source).collect::<Vec<_>>();
        let common = |patterns: &Vec<Pattern>| {
            lines.iter().filter(|line| patterns.iter().any(|pattern| pattern.score(line) >= DISTINCT)).count()
        };
        let mut patterns_in_use = WHOLE.iter().map(patterns).max_by_key(common).unwrap_or_default();
        // A text has parts of its own family, and the prelude.
        let family = |name: &'static str| name.split_once('/').map(|(family, _)| family);
        let own = patterns_in_use.first().map(|pattern| family(pattern.file));
        let parts =
            PARTS.iter().chain(INCLUDED).filter(|part| !part.name.contains('/') || own == Some(family(part.name)));
        patterns_in_use.extend(parts.map(patterns).filter(|part| common(part) > 0).flatten());
        let best = |at: usize| -> Vec<&Pattern> {
            let score = |pattern: &&Pattern| lines.get(at).map_or(0, |line| pattern.score(line));
            let top = patterns_in_use.iter().map(|pattern| score(&pattern)).max().unwrap_or(0).max(TELLING);
            patterns_in_use.iter().filter(|pattern| score(pattern) == top).collect()
        };
        let at = line.checked_sub(1).filter(|at| *at < lines.len())?;
        let found = best(at);
        let of = |pattern: &Pattern, exact| TemplateLine { file: pattern.file, line: pattern.line, exact };
        match found[..] {
            [] => (0..at).rev().find_map(|above| best(above).pop().map(|_| above)).and_then(|above| {
                let above = TemplateLine::find(text, above + 1)?;
                Some(TemplateLine { exact: false, ..above })
            }),
            [only] => Some(of(only, true)),
            // The same line in several places: the next one of the file that the text above it comes from.
            _ => {
                let unique = |above: usize| match best(above)[..] {
                    [only] if found.iter().any(|pattern| pattern.file == only.file) => Some((only.file, only.line)),
                    _ => None,
                };
                let (file, left_off) = (0..at).rev().find_map(unique).unwrap_or((found[0].file, 0));
                let next = found.iter().filter(|p| p.file == file && p.line > left_off).min_by_key(|p| p.line);
                next.or(found.first()).map(|pattern| of(pattern, true))
            }
        }
    }

    /// Whether it is the prelude, which every text has.
    pub fn is_prelude(&self) -> bool {
        self.file == PRELUDE.name
    }
}

/// The fixed parts of a template line, in order.
struct Pattern {
    file: &'static str,
    line: usize,
    parts: Vec<&'static str>,
    /// Whether a part may be missing because it is in a branch.
    branches: bool,
}

impl Pattern {
    fn all(file: &'static str, source: &'static str) -> impl Iterator<Item = Pattern> {
        source.lines().enumerate().map(move |(at, line)| {
            let line = line.trim();
            let mut parts = vec![];
            let mut rest = line;
            while let Some((start, close)) = [("${", "}"), ("<%", "%>"), ("<#", "#>")]
                .into_iter()
                .filter_map(|(open, close)| Some((rest.find(open)?, close)))
                .min()
            {
                let end = rest[start..].find(close).map_or(rest.len(), |end| start + end + close.len());
                parts.push(&rest[..start]);
                rest = &rest[end..];
            }
            parts.push(rest);
            Pattern { file, line: at + 1, parts, branches: line.contains("<%") }
        })
    }

    /// Visible characters of the parts that the line has in the same order; 0 if it does not match.
    fn score(&self, line: &str) -> usize {
        let line = line.trim();
        let (first, last) = (self.parts[0], self.parts[self.parts.len() - 1]);
        let whole = self.parts.len() == 1;
        if (whole && line != first) || !line.starts_with(first) || !(self.branches || line.ends_with(last)) {
            return 0;
        }
        let (mut score, mut rest) = (0, line);
        for part in &self.parts {
            match rest.find(part) {
                Some(at) => {
                    score += part.chars().filter(|c| !c.is_whitespace()).count();
                    rest = &rest[at + part.len()..];
                }
                None if self.branches => {}
                None => return 0,
            }
        }
        score
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScalarType;
    use crate::exact::{CountGroup, DiagonalPlan, FlipGroup, GeneralPlan, MaskedTerm, StateWord, TableSizes};
    use crate::vector_program::VectorProgram;

    fn general() -> String {
        let count = CountGroup { coefficient: 4.0, left: StateWord::State, right: None, mask: 3, differs: false };
        let diagonal = DiagonalPlan { counts: vec![count], ..DiagonalPlan::default() };
        let term = MaskedTerm { care: 3, pattern: 1, sign: 0, amplitude: 0.5 };
        let groups = vec![FlipGroup { flip: 3, terms: vec![term] }];
        let plan = {
            let sizes = TableSizes { low_bits: 1, parts: 2, low_states: 2, high_parts: 2 };
            GeneralPlan::new("pair".into(), ScalarType::F64, sizes, 2, diagonal, groups, vec!["here".into()])
        };
        plan.text().unwrap().text
    }

    fn source(file: &str) -> &'static str {
        WHOLE.iter().chain(PARTS).chain(INCLUDED).find(|template| template.name == file).unwrap().source
    }

    /// The template line of the first generated line that starts so.
    fn origin(text: &str, start: &str) -> (TemplateLine, &'static str) {
        let at =
            text.lines().position(|line| line.trim_start().starts_with(start)).unwrap_or_else(|| panic!("{start}"));
        let found = TemplateLine::find(text, at + 1).unwrap_or_else(|| panic!("{start} has no origin"));
        (found, source(found.file).lines().nth(found.line - 1).unwrap())
    }

    #[test]
    fn a_generated_line_leads_to_the_line_of_its_template() {
        let text = general();
        for (start, file, template) in [
            ("y[row] = (value_t)sum;", "exact/general_states.cu.jinja", "        y[row] = (value_t)sum;"),
            ("constexpr i64 DIMENSION", "exact/general.cu.jinja", "constexpr i64 DIMENSION = ${ plan.dimension };"),
            ("{   // flips 0x3ull", "exact/general_states.cu.jinja", "        {   // flips ${ group.flip }"),
            (
                "value += 4.0 * __popcll(state & 0x3ull);",
                "exact/diagonal.cu.jinja",
                "    value += ${ group.coefficient } * ${ count_bits }(${ group.bits });",
            ),
            (
                "int first = 0, last",
                "exact/states.cu.jinja",
                "    int first = 0, last = ${ parts };  // the part that holds the row: part_start[first] <= row < part_start[last]",
            ),
            (
                "__device__ __forceinline__ double warp_sum",
                "prelude.cuh",
                "__device__ __forceinline__ double warp_sum(double value)",
            ),
            (
                "if (threadIdx.x == 0) x_dot_y[",
                "multiply_finish.cuh",
                "    if (threadIdx.x == 0) x_dot_y[place + blockIdx.x] = sum;",
            ),
        ] {
            let (found, line) = origin(&text, start);
            assert_eq!((found.file, line, found.exact), (file, template, true), "{start}");
        }
        // A line that other templates have too.
        let at =
            text.lines().position(|line| line.contains("if (threadIdx.x == 0) partials[blockIdx.x] = total;")).unwrap();
        let (file, line) = ("exact/general_states.cu.jinja", text.lines().nth(at).unwrap().trim());
        let total = TemplateLine::find(&text, at + 1).unwrap();
        assert_eq!((total.file, source(total.file).lines().nth(total.line - 1).unwrap().trim()), (file, line));
    }

    #[test]
    fn what_the_plan_wrote_leads_to_the_line_above_it() {
        let (found, line) = origin(&general(), "multiply(const value_t*");
        let head = "extern \"C\" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)  // 1,024 threads a multiprocessor: 64 registers";
        assert_eq!((found.file, line, found.exact), ("exact/general_states.cu.jinja", head, false));
        assert!(found.to_string().starts_with("below templates/cuda/exact/general_states.cu.jinja:"), "{found}");
    }

    #[test]
    fn a_text_leads_to_the_templates_it_was_made_of() {
        let program = VectorProgram::parse("program scale\nvectors x : inout\nscalars a\nx = a * x\nsum s = x * x");
        let text = program.unwrap().text(ScalarType::F64, &[]).unwrap().text;
        let products = crate::dmrg::GroupedProductsPlan::new("dmrg").text().unwrap().text;
        let eigenpairs = crate::eigen::EigenpairsPlan::new("dmrg").text().unwrap().text;
        for (text, files) in [
            (
                general(),
                &[
                    "exact/general.cu.jinja",
                    "exact/general_states.cu.jinja",
                    "exact/states.cu.jinja",
                    "exact/diagonal.cu.jinja",
                    "exact/ranks.cuh.jinja",
                    "exact/least_by_runs.cuh.jinja",
                    "exact/least_by_rows.cuh.jinja",
                    "multiply_finish.cuh",
                    "share.cuh",
                    "prelude.cuh",
                ][..],
            ),
            (text, &["vector_program.cu.jinja", "warp_sums.cuh", "share.cuh", "prelude.cuh"]),
            (
                products,
                &[
                    "dmrg/grouped_products.cu.jinja",
                    "dmrg/product_records.cu.jinja",
                    "warp_product.cuh.jinja",
                    "prelude.cuh",
                ],
            ),
            (
                eigenpairs,
                &[
                    "eigen/eigenpairs.cu.jinja",
                    "eigen/eigenpairs_merged.cu.jinja",
                    "eigen/eigenpairs_transformed.cu.jinja",
                    "eigen/eigenpairs_tridiagonal.cu.jinja",
                    "eigen/meet.cuh",
                    "prelude.cuh",
                ],
            ),
        ] {
            // Each search goes through all templates.
            let lines = (1..=text.lines().count()).step_by(text.lines().count() / 12 + 1);
            let found: Vec<TemplateLine> = lines.clone().filter_map(|line| TemplateLine::find(&text, line)).collect();
            assert!(found.iter().filter(|origin| origin.exact).count() > lines.count() / 2);
            for origin in found {
                assert!(files.contains(&origin.file), "{origin} in a text of {files:?}");
            }
        }
        assert_eq!(TemplateLine::find("", 1), None);
        assert_eq!(TemplateLine::find("int main() {}", 1), None);
    }
}
