//! H as a model file with `name = "terms"`: sites, products of their operators, charges and sector.
//!
//! In: a model of sites that have words for their factors, which qubits have not. Out: a file that `solve` reads and that every reader
//! of products can: H whole with its constant, in normal order, every coefficient with the digits that give the same bits again. The
//! lattice is left behind; what is no number of H, as `[solve]`, is too.

use super::{ExportError, Written, check_disk};
use crate::exact::Model;
use crate::files::{ReportError, publish};
use crate::operator::{Charge, Factor, SiteKind, Spin};
use crate::words::grouped;
use eigenforge_runtime::input_file::FileKind;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

pub(super) fn write(model: &Model, file: &Path) -> Result<Written, ExportError> {
    let kinds = model.site_kinds();
    if kinds.contains(&SiteKind::Qubits) {
        return Err(ExportError::NoWords);
    }
    let (sites, products) = (kinds.len() as u64, model.operator().len() as u64);
    let text = text(model, &kinds);
    let (bytes, most) = (text.len() as u64, FileKind::MODEL.limit);
    if bytes > most {
        return Err(ExportError::TooLong { products, bytes, most });
    }
    check_disk(file, sites, Some(products), bytes)?;
    let failed = |source| ReportError::Write { file: file.into(), source };
    let written = publish(file, |out| out.write_all(text.as_bytes()).map_err(failed))?;
    let contents = format!("a model of {} products on {} sites", grouped(products.into()), grouped(sites.into()));
    Ok((written, sites, products, contents))
}

/// The file. Writing to a String cannot fail.
fn text(model: &Model, kinds: &[SiteKind]) -> String {
    let mut text = format!("# H of {} by eigenforge {}\n", model.name(), env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "[model]\nname = \"terms\"");
    let _ = match kinds.iter().all(|kind| *kind == kinds[0]) {
        true => writeln!(text, "site = \"{}\"", kinds[0]),
        false => {
            let names: Vec<String> = kinds.iter().map(|kind| format!("\"{kind}\"")).collect();
            writeln!(text, "site = [{}]", names.join(", "))
        }
    };
    text += "products = \"\"\"\n";
    for (product, coefficient) in model.operator().terms() {
        let (is_imaginary, factors) = match product.split_last() {
            Some((Factor::ImaginaryUnit, rest)) => (true, rest),
            _ => (false, product),
        };
        let words: Vec<String> = factors.iter().map(|factor| word(*factor, kinds)).collect();
        let _ = match is_imaginary {
            true => writeln!(text, "(0{coefficient:+?}j) [{}] +", words.join(" ")),
            false => writeln!(text, "{coefficient:?} [{}] +", words.join(" ")),
        };
    }
    let _ = writeln!(text, "\"\"\"\n\n[lattice]\nsites = {}\nedges = []", kinds.len());
    for pattern in model.operator().forbidden() {
        let list = |of: &dyn Fn(&(usize, u64)) -> String| pattern.iter().map(of).collect::<Vec<_>>().join(", ");
        let (levels, on) = (list(&|(_, level)| level.to_string()), list(&|(site, _)| site.to_string()));
        let _ = writeln!(text, "\n[[forbid]]\nlevels = [{levels}]\non = [[{on}]]");
    }
    sector(model, &mut text);
    text
}

/// A factor as `[[term]]` has it, at its site.
fn word(factor: Factor, kinds: &[SiteKind]) -> String {
    let site = factor.site();
    let mode = |spin: Spin| match (kinds[site], spin) {
        (SiteKind::Flavours(1), _) => String::new(),
        (_, Spin::Up) => "_up".into(),
        (_, Spin::Down) => "_dn".into(),
        (_, Spin::Flavour(number)) => format!("_{number}"),
    };
    let word = match factor {
        Factor::Create(spin, _) => format!("cdag{}", mode(spin)),
        Factor::Annihilate(spin, _) => format!("c{}", mode(spin)),
        Factor::Raise(_) => "S+".into(),
        Factor::Lower(_) => "S-".into(),
        Factor::Sz(_) => "Sz".into(),
        Factor::CreateBoson(_) => "bdag".into(),
        Factor::AnnihilateBoson(_) => "b".into(),
        Factor::ImaginaryUnit => unreachable!("it is a part of the coefficient"),
    };
    format!("{word}({site})")
}

/// Charges with a number for each site, and the section of all.
fn sector(model: &Model, text: &mut String) {
    let (mut keys, mut flavours, mut named) = (String::new(), Vec::new(), Vec::new());
    for (charge, value) in model.sector().charge_values() {
        let key = match charge {
            Charge::Up => "up",
            Charge::Down => "down",
            Charge::Particles => "particles",
            Charge::Bosons => "bosons",
            Charge::TwoSz | Charge::Polarisation => "two_sz",
            Charge::Parity => "parity",
            Charge::Flavour(_) => {
                flavours.push(value.to_string());
                continue;
            }
            Charge::OfSites(sum) => {
                let values: Vec<String> = sum.values().iter().map(i64::to_string).collect();
                let _ = writeln!(text, "\n[[charge]]\nname = \"{}\"\nvalues = [{}]", sum.name(), values.join(", "));
                if let Some(modulo) = sum.modulo() {
                    let _ = writeln!(text, "modulo = {modulo}");
                }
                named.push(format!("{} = {value}", sum.name()));
                continue;
            }
        };
        let value = if charge == Charge::Parity { 1 - 2 * value } else { value };
        let _ = writeln!(keys, "{key} = {value}");
    }
    if !flavours.is_empty() {
        let _ = writeln!(keys, "flavours = [{}]", flavours.join(", "));
    }
    if !named.is_empty() {
        let _ = writeln!(keys, "charges = {{ {} }}", named.join(", "));
    }
    if !keys.is_empty() {
        let _ = write!(text, "\n[sector]\n{keys}");
    }
}
