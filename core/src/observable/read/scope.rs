//! The names that are bound at a place of a text, and what an expression there has to be: a number, a site, a list.

use super::names::{Names, ParameterValue};
use crate::lattice::Bond;
use crate::operator::{SiteKind, Spin};
use quote::ToTokens;
use std::cell::Cell;
use syn::{Error, Expr, Ident, Result};

/// What an expression is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(f64),
    Integer(i64),
    Bool(bool),
    Spin(Spin),
    List(Vec<f64>),
    Rows(Vec<Vec<f64>>),
    Indices(Vec<i64>),
    Bonds(Vec<Bond>),
}

impl Value {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Number(_) => "a real number",
            Value::Integer(_) => "an integer",
            Value::Bool(_) => "true or false",
            Value::Spin(_) => "a spin",
            Value::List(_) => "a list of numbers",
            Value::Rows(_) => "a list of lists of numbers",
            Value::Indices(_) => "a list of indices",
            Value::Bonds(_) => "a list of bonds",
        }
    }
}

/// The names that are bound at a place of the text.
pub(super) struct Scope<'a> {
    pub names: &'a Names<'a>,
    bound: Vec<(String, Value)>,
    /// Members of the sums that are open, multiplied.
    open: u64,
    /// Members of all sums of the text so far, of all its places.
    members: &'a Cell<u64>,
}

/// The names of sites that no sum has to bind.
pub(super) const FREE: [&str; 2] = ["i", "j"];

impl<'a> Scope<'a> {
    /// With `i`, or `i` and `j`, standing for these sites.
    pub(super) fn new(names: &'a Names<'a>, free: &[usize], members: &'a Cell<u64>) -> Scope<'a> {
        let bound = FREE.iter().zip(free).map(|(name, site)| ((*name).to_string(), Value::Integer(*site as i64)));
        Scope { names, bound: bound.collect(), open: 1, members }
    }

    /// Binds an index of a sum.
    pub(super) fn bind(&mut self, name: &Ident, value: Value) -> Result<()> {
        let text = name.to_string();
        if self.names.parameter(&text).is_some() {
            let message = format!("expected another name for the index of a sum: `{text}` is a parameter of the model");
            return Err(Error::new(name.span(), message));
        }
        self.bound.push((text, value));
        Ok(())
    }

    /// Opens a sum over so many members inside those that are open; gives what [`Scope::close`] takes.
    pub(super) fn open(&mut self, members: usize, place: &Expr) -> Result<u64> {
        let before = self.open;
        self.open = before.saturating_mul(members.max(1) as u64);
        self.members.set(self.members.get().saturating_add(members as u64));
        let found = self.open.max(self.members.get());
        if found > MOST_MEMBERS {
            let message = format!(
                "expected sums over at most {MOST_MEMBERS} combinations of their indices, of all sums and free sites of a text together, found \
                 {found} or more"
            );
            return Err(Error::new_spanned(place, message));
        }
        Ok(before)
    }

    pub(super) fn close(&mut self, before: u64) {
        self.open = before;
    }

    /// Whether a sum or a free site has this name.
    pub(super) fn is_bound(&self, name: &str) -> bool {
        self.bound.iter().any(|(bound, _)| bound == name)
    }

    pub(super) fn bound(&self) -> usize {
        self.bound.len()
    }

    pub(super) fn forget(&mut self, down_to: usize) {
        self.bound.truncate(down_to);
    }

    /// What a name stands for.
    pub(super) fn lookup(&self, name: &Ident) -> Result<Value> {
        let text = name.to_string();
        if let Some((_, value)) = self.bound.iter().rev().find(|(bound, _)| *bound == text) {
            return Ok(value.clone());
        }
        if let Some(parameter) = self.names.parameter(&text) {
            return Ok(match parameter {
                ParameterValue::One(value) => Value::Number(*value),
                ParameterValue::List(values) => Value::List(values.clone()),
                ParameterValue::Rows(rows) => Value::Rows(rows.clone()),
            });
        }
        match text.as_str() {
            "Up" => return Ok(Value::Spin(Spin::Up)),
            "Down" => return Ok(Value::Spin(Spin::Down)),
            "PI" => return Ok(Value::Number(std::f64::consts::PI)),
            "sites" => return Ok(Value::Indices((0..self.names.kinds.len() as i64).collect())),
            "bonds" => return self.bonds(name).map(Value::Bonds),
            _ => {}
        }
        let parameters: Vec<&str> = self.names.parameters().map(|(name, _)| name).collect();
        let parameters = match parameters.is_empty() {
            true => String::new(),
            false => format!("; the model's parameters are {}", parameters.join(", ")),
        };
        let hint = if text == "j" { "; the first free index of a site is `i`, the second `j`" } else { "" };
        Err(Error::new(
            name.span(),
            format!(
                "unknown name `{text}`: expected an index of a sum, a free site `i` or `j`, `PI`, `sites` or `bonds`{parameters}{hint}"
            ),
        ))
    }

    pub(super) fn bonds(&self, place: impl ToTokens) -> Result<Vec<Bond>> {
        let none = || {
            Error::new_spanned(place, "there is no lattice here: a molecule has `sites`, its orbitals, and no bonds")
        };
        self.names.lattice.map(|lattice| lattice.bonds().to_vec()).ok_or_else(none)
    }

    /// The bonds of a domain.
    pub(super) fn bond_list(&self, source: &Expr) -> Result<Vec<Bond>> {
        match self.value(source)? {
            Value::Bonds(bonds) => Ok(bonds),
            Value::Rows(rows) => rows.iter().map(|row| self.pair(row, source)).collect(),
            Value::List(values) if values.is_empty() => Ok(Vec::new()),
            other => Err(expected(
                "bonds: `bonds`, `lattice.bonds_at(2)`, or pairs such as `[[0, 1], [1, 2]]`",
                source,
                &other,
            )),
        }
    }

    /// Two sites, and perhaps a weight.
    fn pair(&self, row: &[f64], place: &Expr) -> Result<Bond> {
        let sites = self.names.kinds.len();
        let site =
            |value: f64| (value.fract() == 0.0 && value >= 0.0 && value < sites as f64).then_some(value as usize);
        let bond = match *row {
            [i, j] => site(i).zip(site(j)).map(|(i, j)| Bond { i, j, weight: 1.0, kind: 0 }),
            [i, j, weight] => site(i).zip(site(j)).map(|(i, j)| Bond { i, j, weight, kind: 0 }),
            _ => None,
        };
        bond.ok_or_else(|| {
            let message = format!(
                "expected pairs of sites from 0 to {}, or `[i, j, weight]`, found {row:?}",
                sites.saturating_sub(1)
            );
            Error::new_spanned(place, message)
        })
    }

    /// The indices of a domain.
    pub(super) fn index_list(&self, source: &Expr) -> Result<Vec<i64>> {
        match self.value(source)? {
            Value::Indices(indices) => Ok(indices),
            Value::List(values) if values.iter().all(|value| value.fract() == 0.0) => {
                Ok(values.iter().map(|value| *value as i64).collect())
            }
            other => Err(expected("indices: `sites`, a range such as `0..4`, or a list", source, &other)),
        }
    }

    /// A real number.
    pub(super) fn number(&self, expr: &Expr) -> Result<f64> {
        let value = real(self.value(expr)?, expr)?;
        match value.is_finite() {
            true => Ok(value),
            false => Err(Error::new_spanned(expr, format!("expected a finite number, found {value}"))),
        }
    }

    /// A site that is there.
    pub(super) fn site(&self, expr: &Expr) -> Result<usize> {
        let sites = self.names.kinds.len();
        match self.value(expr)? {
            Value::Integer(site) if site >= 0 && (site as u64) < sites as u64 => Ok(site as usize),
            Value::Integer(site) => Err(Error::new_spanned(
                expr,
                format!("expected a site from 0 to {}, found {site}", sites.saturating_sub(1)),
            )),
            other => Err(expected("a site", expr, &other)),
        }
    }

    /// A spin.
    pub(super) fn spin(&self, expr: &Expr) -> Result<Spin> {
        match self.value(expr)? {
            Value::Spin(spin) => Ok(spin),
            other => Err(expected("a spin, `Up` or `Down`", expr, &other)),
        }
    }

    /// A flavour of the sites, by its number.
    pub(super) fn flavour(&self, expr: &Expr) -> Result<Spin> {
        let flavours = |kind: &SiteKind| if let SiteKind::Flavours(flavours) = kind { *flavours } else { 0 };
        let flavours = self.names.kinds.iter().map(flavours).max().unwrap_or(0);
        if flavours == 0 {
            return Err(Error::new_spanned(
                expr,
                "expected `Up` or `Down`, found a flavour: these sites carry electrons",
            ));
        }
        match self.value(expr)? {
            Value::Integer(number) if (0..flavours as i64).contains(&number) => Ok(Spin::flavour(number as usize)),
            Value::Integer(number) => {
                Err(Error::new_spanned(expr, format!("expected a flavour from 0 to {}, found {number}", flavours - 1)))
            }
            other => Err(expected("the number of a flavour", expr, &other)),
        }
    }

    /// A condition.
    pub(super) fn condition(&self, expr: &Expr) -> Result<bool> {
        match self.value(expr)? {
            Value::Bool(value) => Ok(value),
            other => Err(expected("a condition, such as `i < j`", expr, &other)),
        }
    }
}

/// Combinations of the indices of sums.
const MOST_MEMBERS: u64 = 1 << 23;

/// A value as a real number; a list stands for one if all its numbers are equal.
pub(super) fn real(value: Value, place: &Expr) -> Result<f64> {
    match value {
        Value::Number(value) => Ok(value),
        Value::Integer(value) => Ok(value as f64),
        Value::List(values) if values.windows(2).all(|pair| pair[0] == pair[1]) && !values.is_empty() => Ok(values[0]),
        Value::List(values) => Err(Error::new_spanned(
            place,
            format!(
                "expected a number, found a list of {} that differ: write which one, as in `{}[i]`",
                values.len(),
                place.to_token_stream()
            ),
        )),
        Value::Rows(_) => {
            let name = place.to_token_stream();
            Err(Error::new_spanned(
                place,
                format!("expected a number, found a list of lists: write which one, as in `{name}[i][j]`"),
            ))
        }
        other => Err(expected("a real number", place, &other)),
    }
}

pub(super) fn expected(what: &str, place: &Expr, found: &Value) -> Error {
    Error::new_spanned(place, format!("expected {what}, found {}", found.kind()))
}
