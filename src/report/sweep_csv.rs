//! sweep.csv and tower.csv: one heading, then plain numbers, as `pandas.read_csv` and `numpy.genfromtxt` take them.
//!
//! In: the record of a sweep. Out: comma-separated values. A list of numbers has a column for each of its numbers, `k_0` and `k_1`; a number that a
//! row has not is an empty cell. sweep.csv has a row for each point. tower.csv has a row for each level of the symmetry sectors, each sector
//! that it is in and each total spin that it has there, those of sectors with the same energies included, which are solved once. The headings of
//! docs/record.md stand for the same in every table: an observable or a key of such a name does not take it.

use super::levels::LevelSector;
use super::{KeyValues, MomentumRecord, ParameterSweepRecord, SectorLevel, SpinCount, SweptOutcome};
use crate::input::short;
use serde_json::Value;
use std::collections::BTreeSet;

/// Headings of sweep.csv that are always what docs/record.md says.
const RESERVED: [&str; 8] = [
    "sectors",
    "irrep_states",
    "dimension",
    "largest_residual",
    "largest_variance",
    "largest_defect",
    "seconds",
    "converged",
];

/// What such headings of each state begin with, before its number.
const RESERVED_OF_STATES: [&str; 4] = ["energy_", "multiplicity_", "s_", "s_squared_"];

/// Columns with their headings.
#[derive(Default)]
pub(super) struct Columns(Vec<(String, Vec<String>)>);

impl Columns {
    /// Adds a column; a heading that is there already gets an underscore.
    pub(super) fn add(&mut self, heading: &str, cells: Vec<String>) {
        let mut heading: String = heading.split_whitespace().collect::<Vec<_>>().join("_");
        while self.0.iter().any(|(known, _)| *known == heading) {
            heading.push('_');
        }
        self.0.push((heading, cells));
    }

    /// Adds a column by a name of the file's own; an underscore keeps it apart from documented ones.
    fn add_unreserved(&mut self, name: &str, cells: Vec<String>) {
        let mark = if is_reserved(name.trim()) { "_" } else { "" };
        self.add(&format!("{}{mark}", name.trim()), cells);
    }

    /// The same as [`Columns::add`], left out where every cell is empty.
    fn add_known(&mut self, heading: &str, cells: Vec<String>) {
        if cells.iter().any(|cell| !cell.is_empty()) {
            self.add(heading, cells);
        }
    }

    /// Adds what a key has in each row: a column, or one for each number of lists that are equally long.
    fn add_values(&mut self, heading: &str, values: &[Option<&Value>]) {
        let lengths: BTreeSet<Option<usize>> = values
            .iter()
            .flatten()
            .filter(|value| !value.is_null())
            .map(|value| value.as_array().filter(|list| list.iter().all(is_plain)).map(Vec::len))
            .collect();
        match lengths.first() {
            Some(Some(length)) if lengths.len() == 1 => {
                for number in 0..*length {
                    let part =
                        |value: &Option<&Value>| value.and_then(|value| value.get(number)).map_or(String::new(), cell);
                    self.add_unreserved(&format!("{heading}_{number}"), values.iter().map(part).collect());
                }
            }
            _ => self.add(heading, values.iter().map(|value| value.map_or(String::new(), cell)).collect()),
        }
    }

    pub(super) fn text(&self) -> String {
        let quoted = |cell: &str| match cell.contains([',', '"', '\n']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.to_string(),
        };
        let line = |cells: &mut dyn Iterator<Item = &String>| {
            cells.map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n"
        };
        let rows = self.0.first().map_or(0, |(_, cells)| cells.len());
        let heading = line(&mut self.0.iter().map(|(heading, _)| heading));
        (0..rows).map(|row| line(&mut self.0.iter().map(|(_, cells)| &cells[row]))).fold(heading, |all, row| all + &row)
    }
}

fn is_plain(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// A value as a cell: a number as it is, a text without quotes, nothing for `null`.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        // Quotes of a list of texts would be quotes within quotes.
        other => other.to_string().replace('"', "'"),
    }
}

/// All digits of a number; nothing where it is not one.
pub(super) fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or(String::new(), |value| format!("{value:?}"))
}

/// Whether a heading has a meaning of its own in every sweep.csv.
fn is_reserved(heading: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_states = |start: &&str| heading.strip_prefix(*start).is_some_and(is_number);
    RESERVED.contains(&heading) || RESERVED_OF_STATES.iter().any(of_states)
}

/// Headings of keys: "u" of "model.u" where no other key and no documented column has that name.
fn headings(keys: &[String], is_reserved: impl Fn(&str) -> bool) -> Vec<&str> {
    let is_alone =
        |key: &&String| !is_reserved(short(key)) && keys.iter().filter(|other| short(other) == short(key)).count() == 1;
    keys.iter().map(|key| Some(key).filter(is_alone).map_or(&key[..], |key| short(key))).collect()
}

impl Columns {
    /// Adds the columns of keys, whose headings are not those of documented columns.
    pub(super) fn add_keys(&mut self, keys: &[String], rows: &[&KeyValues], is_reserved: impl Fn(&str) -> bool) {
        for (key, heading) in keys.iter().zip(headings(keys, is_reserved)) {
            self.add_values(heading, &rows.iter().map(|values| values.get(key)).collect::<Vec<_>>());
        }
    }
}

impl ParameterSweepRecord {
    /// Comma-separated values: a line for each point, its numbers with all their digits.
    pub fn to_csv(&self) -> String {
        let mut columns = Columns::default();
        let values: Vec<&KeyValues> = self.points.iter().map(|point| &point.values).collect();
        columns.add_keys(&self.keys, &values, is_reserved);
        let each = |of: &dyn Fn(&SweptOutcome) -> String| self.points.iter().map(of).collect::<Vec<String>>();
        if self.points.iter().any(|point| !point.joined.is_empty()) {
            columns.add("sectors", each(&|point| (1 + point.joined.len()).to_string()));
        }
        if self.points.iter().any(|point| point.degeneracy > 1) {
            columns.add("irrep_states", each(&|point| point.degeneracy.to_string()));
        }
        if self.points.iter().any(|point| point.dimension > 0) {
            columns.add("dimension", each(&|point| point.dimension.to_string()));
        }
        for state in 0..self.points.iter().map(|point| point.energies.len()).max().unwrap_or(0) {
            let of = |heading: &str| format!("{heading}_{state}");
            columns.add(&of("energy"), each(&|point| number(point.energies.get(state).copied())));
            let multiplicity =
                |point: &SweptOutcome| point.multiplicities.get(state).map_or(String::new(), usize::to_string);
            columns.add_known(&of("multiplicity"), each(&multiplicity));
            columns.add_known(&of("s"), each(&|point| number(point.s.get(state).copied().flatten())));
            columns.add_known(&of("s_squared"), each(&|point| number(point.s_squared.get(state).copied().flatten())));
        }
        let channels: BTreeSet<&String> = self.points.iter().flat_map(|point| point.norms.keys()).collect();
        for channel in channels {
            columns.add(&format!("norm_{channel}"), each(&|point| number(point.norms.get(channel).copied())));
        }
        let largest = |point: &SweptOutcome| number(point.certificates.iter().copied().flatten().reduce(f64::max));
        columns.add(&format!("largest_{}", self.certificate), each(&largest));
        let names: BTreeSet<&String> = self.points.iter().flat_map(|point| point.observables.keys()).collect();
        for name in names {
            columns.add_unreserved(name, each(&|point| number(point.observables.get(name).copied())));
        }
        columns.add("seconds", each(&|point| number(Some(point.seconds))));
        columns.add("converged", each(&|point| point.converged.to_string()));
        columns.text()
    }

    /// Comma-separated values: a line for each level, symmetry sector and total spin.
    pub fn tower_csv(&self) -> String {
        let mut rows: Vec<(&SectorLevel, &LevelSector, Option<SpinCount>)> = Vec::new();
        for level in &self.levels {
            for sector in &level.sectors {
                match &sector.spins {
                    Some(spins) => rows.extend(spins.iter().map(|spin| (level, sector, Some(*spin)))),
                    None => rows.push((level, sector, None)),
                }
            }
        }
        let mut columns = Columns::default();
        let each = |of: &dyn Fn(&SectorLevel, &LevelSector, Option<SpinCount>) -> String| -> Vec<String> {
            rows.iter().map(|(level, sector, spin)| of(level, sector, *spin)).collect()
        };
        columns.add("energy", each(&|level, _, _| number(Some(level.energy))));
        columns.add("above", each(&|level, _, _| number(Some(level.above))));
        columns.add("uncertainty", each(&|level, _, _| number(Some(level.residual))));
        columns.add("multiplicity", each(&|level, _, _| level.states.to_string()));
        columns.add("complete", each(&|level, _, _| level.complete.to_string()));
        columns.add_known("s", each(&|_, _, spin| number(spin.map(|spin| spin.s))));
        columns.add_known("s_s_plus_1", each(&|_, _, spin| number(spin.map(|spin| spin.s * (spin.s + 1.0)))));
        columns.add("states", each(&|_, sector, spin| spin.map_or(sector.states, |spin| spin.states).to_string()));
        let values: Vec<&KeyValues> = rows.iter().map(|(_, sector, _)| &sector.values).collect();
        columns.add_keys(&self.keys, &values, is_reserved);
        let momentum = |of: fn(&MomentumRecord) -> f64| each(&|_, sector, _| number(sector.momentum.as_ref().map(of)));
        columns.add_known("q_x", momentum(|momentum| momentum.cartesian[0]));
        columns.add_known("q_y", momentum(|momentum| momentum.cartesian[1]));
        let point = |sector: &LevelSector| sector.momentum.as_ref().and_then(|momentum| momentum.point.clone());
        columns.add_known("q_name", each(&|_, sector, _| point(sector).unwrap_or_default()));
        columns.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_have_a_column_for_each_number_and_texts_no_quotes() {
        let mut columns = Columns::default();
        let values = [json!([1, 2]), json!(null), json!([3, 4.5])];
        columns.add_values("k", &values.iter().map(Some).collect::<Vec<_>>());
        let words = [json!("A1"), json!("B2"), json!(["a", "b"])];
        columns.add_values("irrep", &words.iter().map(Some).collect::<Vec<_>>());
        columns.add_values("s", &[json!([7]), json!([8]), json!([9])].iter().map(Some).collect::<Vec<_>>());
        columns.add("k_0", vec!["x".into(), String::new(), "y".into()]);
        columns.add_known("nothing", vec![String::new(); 3]);
        assert_eq!(columns.text(), "k_0,k_1,irrep,s_0_,k_0_\n1,2,A1,7,x\n,,B2,8,\n3,4.5,\"['a','b']\",9,y\n");
        let keys = ["model.u", "parameters.u", "symmetry.k", "parameters.seconds"].map(String::from);
        assert_eq!(headings(&keys, is_reserved), ["model.u", "parameters.u", "k", "parameters.seconds"]);
    }

    #[test]
    fn documented_columns_keep_their_names() {
        let point = |u: f64| {
            json!({
                "label": "u", "values": {"model.u": u}, "texts": ["1"], "dimension": 4, "energies": [-1.0],
                "multiplicities": [1], "s": [null], "s_squared": [null], "levels": [], "uncertainties": [0.0], "rounding": 0.0,
                "certificates": [0.0], "converged": true, "seconds": 2.0, "report": null,
                "observables": {"converged": 7.0, "energy_0": 7.0, "s_0": 7.0, "seconds": 7.0, "seconds_": 7.0, "s_x": 7.0, "u": 7.0}
            })
        };
        let points = vec![serde_json::from_value(point(1.0)).unwrap()];
        let record = ParameterSweepRecord { keys: vec!["model.u".into()], points, ..ParameterSweepRecord::default() };
        let text = record.to_csv();
        let heading = "u,dimension,energy_0,multiplicity_0,largest_residual,converged_,energy_0_,s_0_,s_x,seconds_,seconds__,u_,\
                       seconds,converged";
        let row = "1.0,4,-1.0,1,0.0,7.0,7.0,7.0,7.0,7.0,7.0,7.0,2.0,true";
        assert_eq!(text, format!("{heading}\n{row}\n"));
    }
}
