//! Values in turn: `u = { sweep = [1, 2, 4, 8] }`.
//!
//! In: the text of a model file of any family. Out: a [`ParameterSweep`]: one model file for each point, whose text has the value in place of
//! the sweep, so that it can be solved alone as well.
//!
//! * Any key of any section may be swept, but for `[output]` and `[observables]`, which all points share, and `output` of `[su3]`:
//!   there each point writes into a folder of its own, beside the file that is named.
//! * `{ from = 0.0, to = 2.0, points = 5 }` in place of the list gives equally spaced values, both ends included.
//! * Several sweeps are combined each with each, the last one of the file changing fastest; one with `along = "u"` takes its
//!   values together with those of `u`.
//! * `"all"` of a key of `[symmetry]` stands for all of its values ([`super::sectors`]), and of a charge of `[sector]` ([`super::charges`]).

use super::problem::Wrong;
use super::section::{ParsedText, Problems, Section, Source, show};
use super::sectors::{self, AllSectors, Fate};
use super::{InputError, InputFile, charges, checked};
use std::ops::Range;
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The most points of a sweep.
pub const MOST_POINTS: usize = 10_000;

/// The most combinations of values where charges are "all", of which many are no sectors or are joined to others.
const MOST_COMBINATIONS: usize = 1 << 20;

/// Sections that all points share.
const SHARED: [&str; 2] = ["output", "observables"];

/// A model file with a list of values for some of its keys.
#[derive(Debug, Clone)]
pub struct ParameterSweep {
    /// Name of the file, as error messages and reports show it.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// The keys that change, such as "model.u", in the order of the file.
    pub keys: Vec<String>,
    /// The points in the order in which they are solved; at least one.
    pub points: Vec<SweptPoint>,
    /// States of the sectors whose symmetry sectors the points are; `None` where anything else changes.
    pub whole: Option<u64>,
    /// Whether charges run over all of their values.
    pub charges: bool,
    /// Whether charges or symmetries do.
    pub sectors: bool,
}

/// One point of a sweep.
#[derive(Debug, Clone)]
pub struct SweptPoint {
    /// The value of each key, as written in the file.
    pub values: Vec<String>,
    /// Momenta and charges whose sectors have the same energies and are not solved again.
    pub joined: Vec<JoinedPoint>,
    /// The model file of the point.
    pub file: InputFile,
}

/// A sector that has the energies of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinedPoint {
    /// By what is different: "9", "two_sz = -2, k = 9".
    pub text: String,
    /// The value of each key.
    pub values: Vec<String>,
}

/// One key with its values.
struct Axis {
    key: String,
    values: Vec<String>,
    /// The whole table `{ sweep = … }` in the text.
    place: Range<usize>,
    /// The axis whose values these go with.
    along: Option<usize>,
    /// Whether it was written as "all".
    all: bool,
}

impl ParameterSweep {
    /// The sweep of a text, with the reader of its points; `None` if nothing in it is swept.
    ///
    /// # Errors
    /// What is wrong with a sweep, or with the file of a point.
    pub(super) fn read(
        name: &str,
        parsed: &ParsedText<'_>,
        read_point: fn(&str, &ParsedText<'_>) -> Result<InputFile, InputError>,
    ) -> Result<Option<ParameterSweep>, InputError> {
        // A text that is no TOML is refused by the reader of its family.
        let (table, Source { text, folder }) = (parsed.any_table(), parsed.source);
        if !parsed.is_toml() || swept(table).next().is_none() {
            return Ok(None);
        }
        let axes = checked(name, text, |problems| axes(table, parsed.source, problems))?;
        let keys: Vec<String> = axes.iter().map(|axis| axis.key.clone()).collect();
        let named: Vec<(&str, bool)> = axes.iter().map(|axis| (&axis.key[..], axis.all)).collect();
        let mut all = AllSectors::new(table, &named);
        let charges = axes.iter().any(|axis| axis.all && axis.key.starts_with(charges::SECTION));
        let sectors = all.is_some();
        let mut points: Vec<SweptPoint> = Vec::new();
        let mut contradiction = None;
        let combinations = combinations(&axes);
        let last = combinations.last().cloned().unwrap_or_default();
        for numbers in combinations {
            let values: Vec<String> = axes.iter().zip(&numbers).map(|(axis, k)| axis.values[*k].clone()).collect();
            let of_values = |values: &[String], others: &[(Range<usize>, &str)]| {
                let title = format!("{name} ({})", label_of(&keys, values));
                let values = axes.iter().zip(values).map(|(axis, value)| (axis.place.clone(), value.as_str()));
                let splices = || values.clone().chain(others.iter().cloned()).collect::<Vec<_>>();
                let read = |splices| {
                    let text = spliced(text, splices);
                    read_point(&title, &ParsedText::new(Source { text: &text, folder }))
                };
                match (read(splices()), states_key(table)) {
                    // A sector may have fewer states than others are asked for.
                    (Err(error), Some(place)) if sectors => match error.most_states() {
                        Some(most) => read([&splices()[..], &[(place, &most.to_string()[..])]].concat()),
                        None => Err(error),
                    },
                    (file, _) => file,
                }
            };
            let file_of = |values: &[String]| of_values(values, &[]);
            if let Some(all) = &mut all
                && let Some((first, others)) = all.unknown(&numbers, &values)
            {
                let file = match (of_values(&first, &others), all.without_reflection()) {
                    (Err(error), Some(without)) if error.is_no_representation() => {
                        of_values(&first, &[&others[..], &[without]].concat())
                    }
                    (file, _) => file,
                };
                match file {
                    Err(error) if charges && error.is_empty_sector() => all.learn_empty(&numbers),
                    file => all.learn(&numbers, &file?),
                }
            }
            let own = values.clone();
            let values = match all.as_mut().map_or(Fate::Solved(values.clone()), |all| all.fate(&numbers, values)) {
                Fate::Solved(values) => values,
                Fate::Joined(point, values) => {
                    let text = all.as_ref().map(|all| all.joined_text(&values, &points[point].values));
                    let values = plain_values(&axes, values);
                    points[point].joined.extend(text.map(|text| JoinedPoint { text, values }));
                    continue;
                }
                // Where nothing else is left, the reader of its file says why.
                Fate::Impossible if points.is_empty() && numbers == last => own,
                Fate::Impossible => continue,
            };
            let file = match (file_of(&values), &mut all) {
                // A rotation or a reflection of a small torus may be a translation, which has the character of k.
                (Err(error), Some(all)) if error.is_no_representation() => {
                    all.withdraw();
                    contradiction = Some(error);
                    continue;
                }
                (file, _) => file?,
            };
            let values = plain_values(&axes, values);
            points.push(SweptPoint { values, joined: Vec::new(), file });
            if points.len() > MOST_POINTS {
                checked(name, text, |problems| too_many(problems, axes.last()?, &format!("more than {MOST_POINTS}")))?;
            }
        }
        let Some(first) = points.first() else {
            // Every combination contradicts itself, or none is left; the reader of the last one's file has said why.
            return contradiction.map_or(Ok(None), Err);
        };
        let whole = match &first.file {
            InputFile::Lattice(file) => all.and_then(|all| all.total_states(file)),
            _ => None,
        };
        let whole = whole.and_then(|states| u64::try_from(states).ok());
        let mut sweep = ParameterSweep { name: name.into(), text: text.into(), keys, points, whole, charges, sectors };
        for number in 0..sweep.points.len() {
            let folder = sweep.folder_name(number);
            if let InputFile::Su3(file) = &mut sweep.points[number].file {
                let output = &file.su3.output;
                file.su3.output = output.with_file_name(folder).join(output.file_name().unwrap_or_default());
            }
        }
        Ok(Some(sweep))
    }

    /// The folder for the table of the sweep and the folders of its points, if the file names one.
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.points.first()?.file {
            InputFile::Su3(file) => {
                let folder = file.su3.output.parent()?.parent()?;
                // Of a file in the working folder the path is empty.
                Some(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_path_buf() })
            }
            file => file.output()?.folder.clone(),
        }
    }

    /// The lists of values and the number of points, each line ending in a line feed.
    pub fn describe(&self) -> String {
        let column = |k: usize| {
            let mut values: Vec<&str> = Vec::new();
            for point in &self.points {
                if !values.contains(&point.values[k].as_str()) {
                    values.push(&point.values[k]);
                }
            }
            values.join(", ")
        };
        let lines = self.keys.iter().enumerate().map(|(k, key)| format!("sweep    {key} = {}\n", column(k)));
        let joined: usize = self.points.iter().map(|point| point.joined.len()).sum();
        let joined = match joined {
            0 => String::new(),
            joined => {
                format!(" for {} sectors: those with the same energies are solved once", self.points.len() + joined)
            }
        };
        lines.collect::<String>() + &format!("         {} points{joined}\n", self.points.len())
    }

    /// A name for the folder of a point: "u=4,jz=1", or its number where values are long or hold other characters.
    pub fn folder_name(&self, point: usize) -> String {
        let name = self.label(point).replace(" = ", "=").replace(", ", ",").replace('"', "");
        let plain = |c: char| c.is_ascii_alphanumeric() || "=,._-+".contains(c);
        if name.len() <= 60 && name.chars().all(plain) { name } else { format!("point_{point:04}") }
    }

    /// "u = 4, jz = 1" of a point.
    pub fn label(&self, point: usize) -> String {
        label_of(&self.keys, &self.points[point].values)
    }
}

/// Names of sectors without the quotes of the file.
fn plain_values(axes: &[Axis], values: Vec<String>) -> Vec<String> {
    let plain = |(axis, value): (&Axis, String)| if axis.all { value.trim_matches('"').into() } else { value };
    axes.iter().zip(values).map(plain).collect()
}

/// A value as data: a number, a list, a text; `null` for a sign that a sector has not.
pub(crate) fn value_of(text: &str) -> serde_json::Value {
    let parsed = format!("value = {text}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("value"));
    match (text, parsed) {
        ("none", _) => serde_json::Value::Null,
        (_, Some(value)) => serde_json::to_value(value).unwrap_or_default(),
        (text, None) => text.into(),
    }
}

/// "u = 4, jz = 1" of keys such as "model.u" and their values.
pub(crate) fn label_of(keys: &[String], values: &[String]) -> String {
    let one_line = |value: &String| value.split_whitespace().collect::<Vec<_>>().join(" ");
    let pairs = keys.iter().zip(values);
    pairs.map(|(key, value)| format!("{} = {}", short(key), one_line(value))).collect::<Vec<_>>().join(", ")
}

/// "u" of "model.u".
pub(crate) fn short(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// All tables of keys: section, key, value.
fn tables<'a>(file: &'a DeTable<'a>) -> impl Iterator<Item = (&'a str, &'a str, &'a Spanned<DeValue<'a>>)> {
    let sections = file.iter().filter_map(|(name, value)| Some((name.get_ref().as_ref(), value.get_ref().as_table()?)));
    sections.flat_map(|(section, table)| table.iter().map(move |(key, value)| (section, key.get_ref().as_ref(), value)))
}

/// The keys that have several values.
fn swept<'a>(file: &'a DeTable<'a>) -> impl Iterator<Item = (&'a str, &'a str, &'a Spanned<DeValue<'a>>)> {
    tables(file).filter(|(section, key, value)| is_sweep(value) || sectors::is_all(file, section, key, value))
}

pub(super) fn is_sweep(value: &Spanned<DeValue<'_>>) -> bool {
    value.get_ref().as_table().is_some_and(|table| table.get("sweep").is_some())
}

/// Every sweep of a file, in the order of the text.
fn axes(file: &DeTable<'_>, source: Source<'_>, problems: &Problems) -> Option<Vec<Axis>> {
    let text = source.text;
    let mut found: Vec<_> = swept(file).collect();
    found.sort_by_key(|(.., value)| value.span().start);
    let keys: Vec<String> = found.iter().map(|(section, key, _)| format!("{section}.{key}")).collect();
    let mut axes = Vec::new();
    for ((section, key, value), full) in found.iter().zip(&keys) {
        if !is_sweep(value) {
            let all = match *section {
                "sector" => charges::values(file, key, value.span(), source, problems),
                _ => sectors::values(file, key, value.span(), problems),
            };
            axes.push((all, None, full, value.span()));
            continue;
        }
        if SHARED.contains(section) {
            let expected = format!("one value: [{section}] is the same at all points of a sweep");
            problems.add(value.span(), Wrong::OutOfRange { key: full.clone(), expected, found: "a sweep".into() });
            continue;
        }
        if (*section, *key) == ("su3", "output") {
            let expected = "one path: each point writes into a folder of its own beside it".into();
            problems.add(value.span(), Wrong::OutOfRange { key: full.clone(), expected, found: "a sweep".into() });
            continue;
        }
        if !text[value.span()].starts_with('{') {
            let expected = "a sweep in braces, { sweep = [1, 2, 4] }, beside the other keys of its section".into();
            problems.add(value.span(), Wrong::OutOfRange { key: full.clone(), expected, found: "a section".into() });
            continue;
        }
        let table = Section::new(full, value.get_ref().as_table()?, value.span(), problems);
        let values = table.raw("sweep").and_then(|list| values(full, list, text, problems));
        let along = table.word("along", "the key of another sweep, in quotes");
        table.finish("key", |_| None);
        let along = along.and_then(|word| {
            let meant = [word.value.to_string(), format!("{section}.{}", word.value)];
            let other = keys.iter().position(|other| *other != *full && meant.contains(other));
            if other.is_none() {
                let others: Vec<&str> = keys.iter().filter(|other| *other != full).map(String::as_str).collect();
                let expected = match others.is_empty() {
                    true => "left out: nothing else is swept".into(),
                    false => format!("the key of another sweep: {}", others.join(", ")),
                };
                let (key, found) = (format!("{key}.along"), format!("{:?}", word.value));
                problems.add(word.span.clone(), Wrong::OutOfRange { key, expected, found });
            }
            Some((other?, word.span))
        });
        axes.push((values, along, full, value.span()));
    }
    let lengths: Vec<Option<usize>> = axes.iter().map(|(values, ..)| values.as_ref().map(Vec::len)).collect();
    if !problems.is_empty() {
        return None;
    }
    for (own, (_, along, full, _)) in axes.iter().enumerate() {
        let Some((other, span)) = along else { continue };
        if axes[*other].1.is_some() {
            let expected = "the key of a sweep that goes along with no other".into();
            problems.add(
                span.clone(),
                Wrong::OutOfRange { key: format!("{full}.along"), expected, found: keys[*other].clone() },
            );
        } else if lengths[own] != lengths[*other] {
            let (expected, found) = (lengths[*other].unwrap_or(0), lengths[own].unwrap_or(0));
            let expected = format!("as many values as `{}`, {expected}", keys[*other]);
            problems.add(span.clone(), Wrong::OutOfRange { key: (*full).clone(), expected, found: found.to_string() });
        }
    }
    let axes: Vec<Axis> = axes
        .into_iter()
        .map(|(values, along, key, place)| Axis {
            key: key.clone(),
            values: values.unwrap_or_default(),
            all: !text[place.clone()].starts_with('{'),
            place,
            along: along.map(|(other, _)| other),
        })
        .collect();
    let free = axes.iter().filter(|axis| axis.along.is_none()).map(|axis| axis.values.len());
    let points = free.fold(1usize, usize::saturating_mul);
    let charges = axes.iter().any(|axis| axis.all && axis.key.starts_with(charges::SECTION));
    if points > if charges { MOST_COMBINATIONS } else { MOST_POINTS } {
        too_many(problems, axes.last()?, &points.to_string());
    }
    problems.is_empty().then_some(axes)
}

/// Says that a sweep has more points than are solved.
fn too_many(problems: &Problems, last: &Axis, found: &str) -> Option<()> {
    let expected = format!("of at most {MOST_POINTS} points with all other sweeps");
    problems.add(last.place.clone(), Wrong::OutOfRange { key: last.key.clone(), expected, found: found.into() });
    None
}

/// The place of the number of states in a file.
pub(super) fn states_key(file: &DeTable<'_>) -> Option<Range<usize>> {
    Some(file.get("solve")?.get_ref().as_table()?.get("states")?.span())
}

/// The values of `sweep`, as texts: a list as it is written, or equally spaced numbers.
fn values(key: &str, list: &Spanned<DeValue<'_>>, text: &str, problems: &Problems) -> Option<Vec<String>> {
    let name = format!("{key}.sweep");
    let expected = "a list of values such as [1, 2, 4], or { from = 0.0, to = 2.0, points = 5 }";
    match list.get_ref() {
        DeValue::Array(items) if items.is_empty() => {
            let expected = "a list of at least one value".into();
            problems.add(list.span(), Wrong::OutOfRange { key: name, expected, found: "an empty list".into() });
            None
        }
        DeValue::Array(items) => Some(items.iter().map(|item| text[item.span()].to_string()).collect()),
        DeValue::Table(table) => {
            let section = Section::new(&name, table, list.span(), problems);
            section.require("from", "the first value");
            section.require("to", "the last value");
            section.require("points", "how many values, at least 2");
            let (from, to) = (section.number("from"), section.number("to"));
            let points = section.count("points", 2);
            section.finish("key", |_| None);
            let (from, to, points) = (from?.value, to?.value, points?.value);
            if points > MOST_POINTS {
                let expected = format!("at most {MOST_POINTS}");
                problems.add(
                    list.span(),
                    Wrong::OutOfRange { key: format!("{name}.points"), expected, found: points.to_string() },
                );
                return None;
            }
            Some((0..points).map(|k| format!("{:?}", spaced(from, to, k, points - 1))).collect())
        }
        other => {
            problems.add(list.span(), Wrong::WrongType { key: name, expected: expected.into(), found: show(other) });
            None
        }
    }
}

/// The k-th of `steps` + 1 equally spaced values, without the rounding that 0.1 + 0.2 shows: 0.3, not 0.30000000000000004.
fn spaced(from: f64, to: f64, k: usize, steps: usize) -> f64 {
    let exact = if k == steps { to } else { from + (to - from) * k as f64 / steps as f64 };
    let scale = from.abs().max(to.abs());
    let digits = if scale > 0.0 { (14 - scale.log10().floor() as i32).clamp(0, 300) } else { 0 };
    let short: f64 = format!("{exact:.*}", digits as usize).parse().unwrap_or(exact);
    // Minus zero is zero.
    if (short - exact).abs() <= 4.0 * f64::EPSILON * scale { short + 0.0 } else { exact }
}

/// The number of each axis's value at every point, the last axis fastest.
fn combinations(axes: &[Axis]) -> Vec<Vec<usize>> {
    let mut points = vec![Vec::new()];
    for axis in axes {
        let of = if axis.along.is_some() { 1 } else { axis.values.len() };
        points = points
            .into_iter()
            .flat_map(|point: Vec<usize>| (0..of).map(move |k| [&point[..], &[k]].concat()))
            .collect();
    }
    for point in &mut points {
        for (own, axis) in axes.iter().enumerate() {
            if let Some(other) = axis.along {
                point[own] = point[other];
            }
        }
    }
    points
}

/// The text with values in these places.
fn spliced(text: &str, mut values: Vec<(Range<usize>, &str)>) -> String {
    values.sort_by_key(|(place, _)| place.start);
    let mut out = String::new();
    let mut from = 0;
    for (place, value) in values {
        out = out + &text[from..place.start] + value;
        from = place.end;
    }
    out + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[model]\nname = \"xxz\"\njxy = { sweep = [0.5, 1.0] }\njz = { along = \"jxy\", sweep = [2.0, 3.0] }\n\
        field = { sweep = { from = 0, to = 0.3, points = 4 } }\n[lattice]\nkind = \"chain\"\nsize = 4\n[sector]\ntwo_sz = 0\n";

    fn sweep(text: &str) -> Result<Option<ParameterSweep>, String> {
        let parsed = ParsedText::new(Source { text, folder: std::path::Path::new("") });
        ParameterSweep::read("file.toml", &parsed, InputFile::read_point).map_err(|error| match error {
            InputError::Invalid { problems, .. } => {
                problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
            other => other.to_string(),
        })
    }

    #[test]
    fn sweeps_are_combined_and_those_along_go_together() {
        let found = sweep(FILE).unwrap().unwrap();
        assert_eq!(found.keys, ["model.jxy", "model.jz", "model.field"]);
        let values: Vec<Vec<&str>> =
            found.points.iter().map(|point| point.values.iter().map(String::as_str).collect()).collect();
        assert_eq!(values.len(), 8);
        assert_eq!(values[0], ["0.5", "2.0", "0.0"]);
        assert_eq!(values[3], ["0.5", "2.0", "0.3"]);
        assert_eq!(values[6], ["1.0", "3.0", "0.2"]);
        assert_eq!(found.label(6), "jxy = 1.0, jz = 3.0, field = 0.2");
        let InputFile::Lattice(file) = &found.points[6].file else { panic!() };
        assert!(file.text.contains("jz = 3.0\nfield = 0.2\n"), "{}", file.text);
        assert_eq!(file.name, "file.toml (jxy = 1.0, jz = 3.0, field = 0.2)");
    }

    #[test]
    fn any_section_may_be_swept_but_what_all_points_share() {
        let base =
            FILE.replace("{ sweep = [0.5, 1.0] }", "1.0").replace("{ along = \"jxy\", sweep = [2.0, 3.0] }", "1.0");
        let field = "{ sweep = { from = 0, to = 0.3, points = 4 } }";
        assert_eq!(sweep(&base.replace(field, "0.0")).unwrap().map(|_| ()), None);
        let sizes = base.replace(field, "0.0").replace("size = 4", "size = { sweep = [4, 6, 8] }");
        assert_eq!(sweep(&sizes).unwrap().unwrap().points.len(), 3);
        let shared = base.replace(field, "0.0") + "[output]\nfolder = { sweep = [\"a\", \"b\"] }\n";
        assert!(sweep(&shared).unwrap_err().contains("the same at all points"));
    }

    #[test]
    fn bad_sweeps_say_what_is_wrong() {
        for (from, to, says) in [
            ("[0.5, 1.0] }", "[] }", "an empty list"),
            ("[0.5, 1.0] }", "4 }", "a list of values"),
            ("[0.5, 1.0] }", "[0.5, 1.0], setp = 1 }", "unknown key `setp`"),
            ("\"jxy\"", "\"u\"", "the key of another sweep"),
            ("\"jxy\"", "\"jz\"", "the key of another sweep"),
            ("[2.0, 3.0]", "[2.0]", "as many values as `model.jxy`, 2, found 1"),
            ("points = 4", "points = 1", "points"),
            ("points = 4", "points = 4000000", "at most 10000"),
            ("points = 4", "points = 9000", "at most 10000 points"),
            ("from = 0,", "", "`from` is missing"),
            ("[2.0, 3.0]", "[2.0, \"x\"]", "a number"),
        ] {
            let said = sweep(&FILE.replace(from, to)).unwrap_err();
            assert!(said.contains(says), "{to}: {said}");
        }
    }

    #[test]
    fn spaced_values_have_short_names() {
        let names: Vec<String> = (0..11).map(|k| format!("{:?}", spaced(0.0, 1.0, k, 10))).collect();
        assert_eq!(names, ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"]);
        assert_eq!(spaced(-1.0, 1.0, 1, 2).to_bits(), 0.0f64.to_bits());
        assert_eq!(spaced(1e-20, 3e-20, 1, 2), 2e-20);
    }
}
