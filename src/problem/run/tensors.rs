//! An interaction is transformed into SU(3) tensors, or back.

use super::device::override_kernels;
use super::records::{memory_of, shape_record};
use super::{RunContext, Solved};
use crate::Error;
use crate::problem::{Problem, TensorProblem};
use crate::report::{
    CostRecord, CountedWork, FamilyRecord, Method, ModelRecord, Outcome, ReportError, Seconds, Stop, TensorRecord,
};
use crate::su3::{Processes, TransformRun, Transformed, companion_files};
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::Machine;
use std::path::PathBuf;

pub(super) fn solve<'p>(problem: &'p TensorProblem, context: &RunContext) -> Result<Solved<'p>, Error> {
    context.observer.plan(&(problem.describe() + "\n"))?;
    let done = with_run(problem, context, |run| run.run(problem.team.take()));
    context.observer.finished();
    let mut done = done?;
    let written = std::mem::replace(&mut done.written, Ok(()));
    let outcome = outcome(problem, context, done).with_warnings();
    let written = written.map_err(Error::from).and_then(|()| Ok(write_beside(problem, &outcome)?));
    Ok(Solved { written, ..Solved::new(outcome) })
}

impl TensorProblem {
    /// A worker's part in a run whose master is another process; false if it failed, which the master says.
    ///
    /// # Errors
    /// The connection between the processes.
    pub fn follow(&self, context: &RunContext, processes: &mut Processes) -> Result<bool, Error> {
        Ok(with_run(self, context, |run| run.follow(processes))?)
    }
}

/// Calls `run` with the transformation that the file and the run ask for.
fn with_run<T>(problem: &TensorProblem, context: &RunContext, run: impl FnOnce(TransformRun<'_>) -> T) -> T {
    let prepare = |device: &Device, on_cpu: Option<&str>| {
        on_cpu.into_iter().for_each(|line| context.observer.remark(line));
        override_kernels(device, context)
    };
    run(TransformRun {
        spec: &problem.file.su3,
        device: &context.device,
        prepare: &prepare,
        tuned: context.tuned,
        checkpoint: context.checkpoint.as_ref().map(|request| (&*request.folder, request.resume)),
        tell: &|name: &str, text: &str| context.observer.stage(name, text),
    })
}

fn outcome(problem: &TensorProblem, context: &RunContext, done: Transformed) -> Outcome {
    let (file, devices) = (&problem.file, done.devices);
    let model = ModelRecord { name: "su3".into(), file: file.name.clone(), text: file.text.clone() };
    let seconds = done.overlapping.iter().find(|(name, _)| *name == "transform").map(|(_, seconds)| *seconds);
    let named = |seconds: &[(&str, f64)]| seconds.iter().map(|(name, took)| (name.to_string(), *took)).collect();
    let family = FamilyRecord::Tensors(Box::new(TensorRecord {
        su3: file.su3.clone(),
        summary: done.summary,
        cards: done.cards,
        shape: done.shape.as_ref().map(|used| shape_record(&used.name, &used.source)),
        resumed_groups: done.resumed_groups,
        stages: named(&done.stages),
        overlapping: named(&done.overlapping),
        tables: done.tables,
    }));
    let memory = memory_of(done.memory, done.allowed);
    let how = (Method::Factorised, Stop::Finished);
    let outcome = context.outcome(&devices, model, memory, done.on_cpu.into_iter().collect(), how, family);
    let cost = CostRecord::new(&Machine::new(&devices[0]), CountedWork::Transformation, (0.0, done.bytes), seconds);
    Outcome { cost, seconds: Seconds { setup: done.setup, solve: done.solve, ..outcome.seconds }, ..outcome }
}

/// The report and the picture beside the result.
fn write_beside(problem: &TensorProblem, outcome: &Outcome) -> Result<Vec<PathBuf>, ReportError> {
    let output = &problem.file.su3.output;
    let files = companion_files(output);
    Ok([vec![output.clone()], outcome.write_as(&files.json, &files.svg)?].concat())
}
