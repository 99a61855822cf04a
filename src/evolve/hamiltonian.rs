//! H(t) of a file: numbers that are functions of time, and a vector potential.
//!
//! In: H₀ + Σ p_k(t) G_k, A(t) = a(t) n. Out: models of constant parts with their functions. A hop from i to j, whose displacement is d, the shortest
//! where the lattice is periodic, is multiplied by e^(i a(t) n·d). With δ = n·d, the hops of one |δ| are
//!
//! cos(a|δ|) (P + P†) + sin(a|δ|) (iP − iP†),   P those along n,
//!
//! so that H(t) is a sum of constant operators.

use crate::Error;
use crate::dmrg::DrivenChain;
use crate::exact::{DrivenModel, Model};
use crate::input::interval::{Interval, TimeNumber};
use crate::input::{Drive, DrivenOperator, EvolveSpec, InputProblem, ModelFile, PulseForm, VectorPotential, Wrong};
use crate::lattice::{Boundary, Lattice, LatticeKind};
use crate::operator::{Factor, Operator, SiteKind};
use eigenforge_runtime::solvers::TimeCoefficients;

/// Displacements that differ by less are equal.
const SAME: f64 = 1e-9;

/// What multiplies a part: the number of a drive, and what the vector potential makes of it.
#[derive(Clone, Copy)]
struct Function {
    drive: Option<usize>,
    turn: Turn,
}

#[derive(Clone, Copy)]
enum Turn {
    None,
    Cosine(f64),
    Sine(f64),
}

impl VectorPotential {
    /// a(t).
    pub(super) fn value<N: TimeNumber>(&self, time: N) -> N {
        let VectorPotential { a0, omega, t0, width, .. } = *self;
        let [a0, omega, late] = [N::from(a0), N::from(omega), time - N::from(t0)];
        match self.form {
            PulseForm::Pulse => {
                let envelope = (-late.power(N::from(2.0)) / N::from(2.0 * width * width)).exp();
                a0 * envelope * (omega * late).cos()
            }
            PulseForm::Ac => a0 * (omega * late).sin(),
            PulseForm::Dc => a0 * time,
        }
    }
}

/// The coefficients of the parts of a file's H(t).
struct FileCoefficients {
    functions: Vec<Function>,
    drives: Vec<Drive>,
    potential: Option<VectorPotential>,
}

impl FileCoefficients {
    /// At a time, or intervals of all in an interval of times.
    fn at_time<N: TimeNumber>(&self, time: N) -> Vec<N> {
        let a = self.potential.map_or(N::from(0.0), |potential| potential.value(time));
        let of_part = |function: &Function| {
            let drive = function.drive.map_or(N::from(1.0), |number| self.drives[number].function.at_time(time));
            match function.turn {
                Turn::None => drive,
                Turn::Cosine(length) => drive * (a * N::from(length)).cos(),
                Turn::Sine(length) => drive * (a * N::from(length)).sin(),
            }
        };
        self.functions.iter().map(of_part).collect()
    }
}

impl TimeCoefficients for FileCoefficients {
    fn values(&self, time: f64) -> Vec<f64> {
        self.at_time(time)
    }

    fn bounds(&self, from: f64, to: f64) -> Vec<[f64; 2]> {
        self.at_time(Interval::between(from, to)).into_iter().map(|bound| [bound.low, bound.high]).collect()
    }
}

/// Why an operator has no vector potential.
type Refusal = String;

/// The shortest displacement from one site to another.
fn displacement(lattice: &Lattice, from: usize, to: usize) -> Result<[f64; 2], Refusal> {
    let [first, second] = [lattice.position(from), lattice.position(to)];
    let apart = [0, 1].map(|axis| second[axis] - first[axis]);
    let vectors = lattice.primitive_vectors();
    let cells = |row: [f64; 2]| [0, 1].map(|axis| row[0] * vectors[0][axis] + row[1] * vectors[1][axis]);
    let periods: Vec<[f64; 2]> = match lattice.tilt() {
        Some(rows) => rows.map(|row| cells(row.map(|number| number as f64))).to_vec(),
        None => {
            let each = lattice.boundaries().iter().zip(lattice.size()).enumerate();
            let periodic = each.filter(|(_, (boundary, _))| **boundary == Boundary::Periodic);
            periodic.map(|(axis, (_, size))| vectors[axis].map(|part| part * *size as f64)).collect()
        }
    };
    let mut all = vec![apart];
    for period in &periods {
        all = all
            .iter()
            .flat_map(|d| (-2..=2).map(move |times| [0, 1].map(|axis| d[axis] + f64::from(times) * period[axis])))
            .collect();
    }
    let length = |d: &[f64; 2]| d[0].hypot(d[1]);
    let least = all.iter().map(length).fold(f64::INFINITY, f64::min);
    let mut shortest = all.iter().filter(|d| length(d) < least + SAME);
    let Some(found) = shortest.next() else { return Ok(apart) };
    let is_same = |d: &[f64; 2]| (0..2).all(|axis| (d[axis] - found[axis]).abs() < SAME);
    match shortest.all(is_same) {
        true => Ok(*found),
        false => Err(format!(
            "the hop from site {from} to site {to} has several shortest displacements: take a longer lattice"
        )),
    }
}

/// The site that a particle leaves and the one that it comes to; `None` where none moves.
fn hop(product: &[Factor]) -> Result<Option<(usize, usize)>, Refusal> {
    let (mut to, mut from) = (Vec::new(), Vec::new());
    for factor in product {
        match *factor {
            Factor::Create(_, site) | Factor::CreateBoson(site) => to.push(site),
            Factor::Annihilate(_, site) | Factor::AnnihilateBoson(site) => from.push(site),
            Factor::Raise(_) | Factor::Sz(_) | Factor::Lower(_) | Factor::ImaginaryUnit => {}
        }
    }
    to.retain(|site| match from.iter().position(|other| other == site) {
        Some(place) => {
            from.swap_remove(place);
            false
        }
        None => true,
    });
    match (&from[..], &to[..]) {
        ([], []) => Ok(None),
        ([from], [to]) => Ok(Some((*from, *to))),
        _ => Err("a term of H moves several particles, or makes them: a vector potential turns hops of one".into()),
    }
}

/// The parts of an operator under A(t).
fn turned(
    operator: &Operator,
    lattice: &Lattice,
    direction: [f64; 2],
    kinds: &[SiteKind],
) -> Result<Vec<(Operator, Turn)>, Refusal> {
    let mut still: Vec<(f64, Vec<Factor>)> = Vec::new();
    let mut groups: Vec<(f64, Operator, Operator)> = Vec::new();
    let single = |coefficient: f64, product: &[Factor]| {
        Operator::recorded(&[(coefficient, product.to_vec())], operator.two_s(), kinds.len(), Vec::new())
    };
    for (product, coefficient) in operator.terms() {
        let along = match hop(product)? {
            Some((from, to)) => {
                let d = displacement(lattice, from, to)?;
                d[0] * direction[0] + d[1] * direction[1]
            }
            None => 0.0,
        };
        if along.abs() < SAME {
            still.push((coefficient, product.to_vec()));
            continue;
        }
        let term = single(coefficient, product);
        let turned = along.signum() * term.clone().times_i();
        match groups.iter_mut().find(|(length, ..)| (length - along.abs()).abs() < SAME) {
            Some((_, cosine, sine)) => {
                *cosine = std::mem::replace(cosine, Operator::zero()) + term;
                *sine = std::mem::replace(sine, Operator::zero()) + turned;
            }
            None => groups.push((along.abs(), term, turned)),
        }
    }
    let rest = Operator::recorded(&still, operator.two_s(), kinds.len(), Vec::new());
    let mut parts = vec![(rest, Turn::None)];
    for (length, cosine, sine) in groups {
        parts.extend([(cosine, Turn::Cosine(length)), (sine, Turn::Sine(length))]);
    }
    Ok(parts)
}

/// The constant parts of H(t) of a file and their coefficients, on sites of these kinds; `None` where H is constant.
///
/// # Errors
/// Imaginary time; a lattice without displacements; terms that a vector potential does not turn.
fn driven_parts(
    file: &ModelFile,
    spec: &EvolveSpec,
    kinds: &[SiteKind],
) -> Result<Option<(Vec<Operator>, FileCoefficients)>, Error> {
    if file.driven.is_none() && spec.vector_potential.is_none() {
        return Ok(None);
    }
    let refused = |what: Wrong| Error::from(file.refused(InputProblem { what, span: spec.potential_span.clone() }));
    if spec.imaginary {
        let why = "imaginary time is of a constant H: leave `imaginary` out, or give H numbers";
        return Err(refused(Wrong::Conflict { key: "imaginary", other: "time", why }));
    }
    let constant = DrivenOperator { constant: file.operator().reduced(), drives: Vec::new() };
    let driven = file.driven.clone().unwrap_or(constant);
    let whole = std::iter::once((driven.constant.clone(), None));
    let whole =
        whole.chain(driven.drives.iter().enumerate().map(|(number, drive)| (drive.operator.clone(), Some(number))));
    let mut parts: Vec<(Operator, Function)> = Vec::new();
    for (operator, drive) in whole {
        match &spec.vector_potential {
            None => parts.push((operator, Function { drive, turn: Turn::None })),
            Some(potential) => {
                if file.lattice.kind() == LatticeKind::Edges {
                    let why = "a list of edges has no displacements: name the lattice, or write the phases with `time` in [parameters]";
                    return Err(refused(Wrong::Conflict { key: "vector_potential", other: "edges", why }));
                }
                let turned = turned(&operator, &file.lattice, potential.direction, kinds)
                    .map_err(|message| refused(Wrong::Hamiltonian(message)))?;
                parts.extend(turned.into_iter().map(|(operator, turn)| (operator, Function { drive, turn })));
            }
        }
    }
    // Where nothing is left of a part there is nothing to multiply by; one stays, for the basis.
    let mut is_first = true;
    parts.retain(|(operator, _)| std::mem::take(&mut is_first) || operator.clone().reduced().terms().next().is_some());
    let (operators, functions): (Vec<Operator>, Vec<Function>) = parts.into_iter().unzip();
    Ok(Some((operators, FileCoefficients { functions, drives: driven.drives, potential: spec.vector_potential })))
}

/// H(t) of a chain; `None` where H is constant.
///
/// # Errors
/// As of [`driven_model`].
pub(super) fn driven_chain(
    file: &ModelFile,
    spec: &EvolveSpec,
    order: Vec<usize>,
) -> Result<Option<DrivenChain<'static>>, Error> {
    let kinds = file.model.site_kinds(file.lattice.sites().len());
    let Some((operators, coefficients)) = driven_parts(file, spec, &kinds)? else { return Ok(None) };
    Ok(Some(DrivenChain::new(operators, coefficients, &kinds, file.sector.clone(), Some(order))?))
}

/// H(t) of a file; `None` where H is constant.
///
/// # Errors
/// A symmetry that some H(t) has not; a lattice without displacements; a part that is not Hermitian or leads out of the sector.
pub(super) fn driven_model(
    file: &ModelFile,
    spec: &EvolveSpec,
    model: &Model,
) -> Result<Option<DrivenModel<'static>>, Error> {
    let kinds = model.site_kinds();
    let Some((operators, coefficients)) = driven_parts(file, spec, &kinds)? else { return Ok(None) };
    let refused = |what: Wrong| Error::from(file.refused(InputProblem { what, span: spec.potential_span.clone() }));
    let sector = model.sector().clone();
    let forbidden = file.operator().forbidden().to_vec();
    let models = operators.into_iter().map(|operator| {
        let operator = operator.on_kinds(&kinds).on_lattice(&file.lattice);
        let operator = forbidden.iter().fold(operator, |operator, states| operator.forbid(states));
        Model::new(operator, sector.clone())?.with_storage(file.solve.storage())
    });
    let models = models.collect::<Result<Vec<Model>, _>>()?;
    let driven = DrivenModel::new(models, coefficients)?;
    let Some(symmetry) = &file.symmetry else { return Ok(Some(driven)) };
    Ok(Some(driven.symmetry(symmetry).map_err(|error| refused(Wrong::Operator(error)))?))
}
