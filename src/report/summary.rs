//! The report for people: a table of states, what it took, averages, and warnings last, where they are seen.

use super::{RunReport, Seconds, ShapeRecord};
use crate::words::grouped;
use std::fmt::Write;

impl RunReport {
    /// Text for a terminal, without colours, ending in a newline.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_summary(&mut out);
        out
    }

    fn write_summary(&self, out: &mut String) -> std::fmt::Result {
        let edited: Vec<&str> = self.kernels.iter().filter(|k| k.overridden).map(|k| k.name.as_str()).collect();
        if !edited.is_empty() {
            writeln!(out, "OVERRIDDEN: edited kernels ran in place of generated ones, and these are their numbers")?;
            writeln!(out, "            {}\n", edited.join(", "))?;
        }
        writeln!(out, "{} on {}", self.model.name, self.lattice)?;
        writeln!(out, "sector {}, dimension {}", self.sector.describe(), grouped(u128::from(self.dimension)))?;
        writeln!(out)?;
        writeln!(out, "  state            energy     residual   multiplicity")?;
        let certain = self.levels.iter().flat_map(|level| std::iter::repeat_n(level.complete, level.returned));
        let certain: Vec<bool> = certain.collect();
        let states = self.states();
        for (state, energy) in states.column(15).iter().enumerate() {
            let residual = self.residuals.get(state).copied().unwrap_or(f64::NAN);
            let multiplicity = self.multiplicities.get(state).map_or("?".into(), usize::to_string);
            let bound = if certain.get(state).copied().unwrap_or(false) { "  " } else { ">=" };
            let flag = if states.meets_tolerance(state) { "" } else { "   NOT CONVERGED" };
            writeln!(out, "  {state:>5}   {energy}   {residual:>10.2e}   {bound}{multiplicity:>10}{flag}")?;
        }
        writeln!(out)?;
        if let Some(line) = states.constant_line() {
            writeln!(out, "{line}")?;
        }
        self.write_averages(out)?;
        let Seconds { setup, compile, solve, certify, observables, total } = self.seconds;
        let how = match self.stop.as_str() {
            "converged" => "converged",
            "dense" => "whole spectrum",
            "stagnated" => "STAGNATED above the tolerance",
            "max_iterations" => "STOPPED at max_iterations",
            other => other,
        };
        let (iterations, multiplies) = (self.iterations, self.multiplies);
        writeln!(out, "{how} by {} on {}: {iterations} iterations, {multiplies} multiplies", self.solver, self.device)?;
        writeln!(out, "{}", states.tolerance_line())?;
        if let Some(reason) = &self.solver_reason {
            writeln!(out, "solver \"auto\" chose {}: {reason}", self.solver)?;
        }
        writeln!(
            out,
            "{total:.2} s: setup {setup:.2}, compile {compile:.2}, solve {solve:.2}, certify {certify:.2}, observables \
             {observables:.2}"
        )?;
        if let (Some(took), Some(floor)) = (self.cost.multiply_seconds, self.cost.floor_seconds) {
            writeln!(
                out,
                "one multiply {:.3} ms, {:.1} times the {:.3} ms that memory alone would take",
                1e3 * took,
                took / floor,
                1e3 * floor
            )?;
        }
        if let Some(ShapeRecord { shape, tuned, milliseconds, rule_milliseconds }) = &self.shape {
            let how = match (tuned, milliseconds, rule_milliseconds) {
                (true, Some(took), Some(rule)) => format!("tuned on this card, {:.2} x the rule's speed", rule / took),
                (true, ..) => "tuned on this card".into(),
                (false, ..) => "by rule; `eigenforge tune` times others on a card".into(),
            };
            writeln!(out, "multiply {shape} ({how})")?;
        }
        for warning in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        Ok(())
    }

    fn write_averages(&self, out: &mut String) -> std::fmt::Result {
        let averages = &self.observables;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut parts = vec![];
        if let (Some(up), Some(down)) = (&averages.n_up, &averages.n_dn) {
            parts.push(format!("<n> {:.6}", mean(up) + mean(down)));
        }
        if let Some(double) = &averages.double_occupancy {
            parts.push(format!("<n_up n_dn> {:.6}", mean(double)));
        }
        if let Some(sdots) = &averages.sdots {
            let total: f64 = sdots.iter().flatten().sum();
            // Rounding may leave −1e-15 of a singlet, which would print as −0.
            let total = if total.abs() < 5e-7 { 0.0 } else { total };
            parts.push(format!("total S² {total:.6}"));
        }
        if !parts.is_empty() {
            let states = if averages.averaged_over == 1 { "state" } else { "states" };
            let over = format!("{} {states} of the lowest level", averages.averaged_over);
            writeln!(out, "average of a site over the {over}: {}", parts.join(", "))?;
        }
        Ok(())
    }
}
