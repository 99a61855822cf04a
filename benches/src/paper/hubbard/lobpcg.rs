//! The paper's LOBPCG (Figure 3) with its other operations one by one (Figure 5) or fused (Figures 4 and 6), around any multiply.
//!
//! In: a multiply, a start vector, a number of iterations. Out: seconds, the energy, and the time of the ten inner products alone.
//! One by one: every dot, scaling, addition and norm is a launch of its own, as cuBLAS has it; the launches are our vector programs,
//! so that they run on every device.

use crate::pencil::{self, Matrix3};
use eigenforge_runtime::{Bind, Device, DeviceError, Program, Vector};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::{ProgramError, VectorProgram};

/// Operations of an iteration besides the multiply, per state: ten dots, two norms, five sums of two vectors with a factor or
/// without, four factors of p, P, x and X, three divisions by norms.
pub(super) const OPERATIONS: f64 = 20.0 + 4.0 + 8.0 + 4.0 + 3.0;

/// y = H x.
pub(super) type Multiply<'a> = dyn FnMut(&Vector<f64>, &mut Vector<f64>) -> Result<(), DeviceError> + 'a;

/// How the operations besides the multiply run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    OneByOne,
    Fused,
}

/// The programs of both ways.
pub(super) struct Operations {
    dot: Program,
    norm: Program,
    scale: Program,
    add: Program,
    inner: Program,
    update: Program,
}

/// The six vectors: (w, x, p) and A times them.
pub(super) struct Vectors {
    w: Vector<f64>,
    x: Vector<f64>,
    p: Vector<f64>,
    aw: Vector<f64>,
    ax: Vector<f64>,
    ap: Vector<f64>,
    /// 1 / ‖p‖ and 1 / ‖w‖, which the fused way applies together with the next inner products.
    scales: [f64; 2],
}

/// What a run came to.
pub(super) struct Run {
    pub seconds: f64,
    pub energy: f64,
}

impl Operations {
    pub(super) fn new(device: &Device) -> Result<Operations, LobpcgError> {
        let program = |source: &str| -> Result<Program, LobpcgError> {
            Ok(device.program(&VectorProgram::parse(source)?, ScalarType::F64, &[])?)
        };
        Ok(Operations {
            dot: program("program dot\nvectors a b : in\nsum ab = a * b\n")?,
            norm: program("program square_sum\nvectors a : in\nsum aa = a * a\n")?,
            scale: program("program scale\nvectors a : inout\nscalars by\na = by * a\n")?,
            add: program("program add\nvectors a : inout\nvectors b : in\nscalars by\na = a + by * b\n")?,
            inner: program(
                "program inner_products\nvectors w p aw ap : inout\nvectors x ax : in\nscalars of_p of_w\n\
                 p = of_p * p\nap = of_p * ap\nw = of_w * w\naw = of_w * aw\n\
                 sum waw = w * aw\nsum wax = w * ax\nsum wap = w * ap\nsum xax = x * ax\nsum xap = x * ap\n\
                 sum pap = p * ap\nsum wx = w * x\nsum wp = w * p\nsum xx = x * x\nsum xp = x * p\n",
            )?,
            update: program(
                "program update\nvectors w p x ap ax : inout\nvectors aw : in\nscalars alpha beta gamma mu\n\
                 p = gamma * p + alpha * w\nap = gamma * ap + alpha * aw\nx = beta * x + p\nax = beta * ax + ap\n\
                 w = ax - mu * x\nsum pp = p * p\nsum ww = w * w\n",
            )?,
        })
    }

    fn dot_of(&self, a: &Vector<f64>, b: &Vector<f64>) -> Result<f64, DeviceError> {
        Ok(self.dot.run(&mut [Bind::In(a), Bind::In(b)], &[])?[0])
    }

    fn norm_of(&self, a: &Vector<f64>) -> Result<f64, DeviceError> {
        Ok(self.norm.run(&mut [Bind::In(a)], &[])?[0].sqrt())
    }

    fn scaled(&self, a: &mut Vector<f64>, by: f64) -> Result<(), DeviceError> {
        self.scale.queue(&mut [Bind::Out(a)], &[by])
    }

    fn added(&self, a: &mut Vector<f64>, by: f64, b: &Vector<f64>) -> Result<(), DeviceError> {
        self.add.queue(&mut [Bind::Out(a), Bind::In(b)], &[by])
    }

    /// The ten inner products: w·W, w·X, w·P, x·X, x·P, p·P, w·x, w·p, x·x, x·p.
    pub(super) fn inner_products(&self, v: &mut Vectors, others: Others) -> Result<[f64; 10], DeviceError> {
        let mut found = [0.0; 10];
        match others {
            Others::OneByOne => {
                let pairs = [
                    (&v.w, &v.aw),
                    (&v.w, &v.ax),
                    (&v.w, &v.ap),
                    (&v.x, &v.ax),
                    (&v.x, &v.ap),
                    (&v.p, &v.ap),
                    (&v.w, &v.x),
                    (&v.w, &v.p),
                    (&v.x, &v.x),
                    (&v.x, &v.p),
                ];
                for (found, (a, b)) in found.iter_mut().zip(pairs) {
                    *found = self.dot_of(a, b)?;
                }
            }
            Others::Fused => {
                let scales = std::mem::replace(&mut v.scales, [1.0; 2]);
                let Vectors { w, x, p, aw, ax, ap, .. } = v;
                let mut bound = [Bind::Out(w), Bind::Out(p), Bind::Out(aw), Bind::Out(ap), Bind::In(x), Bind::In(ax)];
                found.copy_from_slice(&self.inner.run(&mut bound, &scales)?);
            }
        }
        Ok(found)
    }

    /// Figure 5 or 6; p and w are divided by their norms, in the fused way at the next inner products.
    fn update(&self, v: &mut Vectors, others: Others, [alpha, beta, gamma, mu]: [f64; 4]) -> Result<(), DeviceError> {
        let Vectors { w, x, p, aw, ax, ap, scales } = v;
        let inverse = |norm: f64| if norm > 0.0 { 1.0 / norm } else { 1.0 };
        match others {
            Others::OneByOne => {
                self.scaled(p, gamma)?;
                self.scaled(ap, gamma)?;
                self.added(p, alpha, w)?;
                self.added(ap, alpha, aw)?;
                self.scaled(x, beta)?;
                self.scaled(ax, beta)?;
                self.added(x, 1.0, p)?;
                self.added(ax, 1.0, ap)?;
                w.copy_from(ax)?;
                self.added(w, -mu, x)?;
                let (of_p, of_w) = (inverse(self.norm_of(p)?), inverse(self.norm_of(w)?));
                self.scaled(p, of_p)?;
                self.scaled(ap, of_p)?;
                self.scaled(w, of_w)
            }
            Others::Fused => {
                let mut bound = [Bind::Out(w), Bind::Out(p), Bind::Out(x), Bind::Out(ap), Bind::Out(ax), Bind::In(aw)];
                let sums = self.update.run(&mut bound, &[alpha, beta, gamma, mu])?;
                *scales = [inverse(sums[0].sqrt()), inverse(sums[1].sqrt())];
                Ok(())
            }
        }
    }

    /// x ← x / ‖x‖, X = A x, w = X − (x·X) x, p = 0.
    pub(super) fn start(&self, multiply: &mut Multiply<'_>, mut x: Vector<f64>) -> Result<Vectors, DeviceError> {
        let (device, n) = (x.device().clone(), x.len());
        let norm = self.norm_of(&x)?;
        self.scaled(&mut x, 1.0 / norm)?;
        let mut ax = device.zeros(n)?;
        multiply(&x, &mut ax)?;
        let mu = self.dot_of(&x, &ax)?;
        let mut w = ax.duplicate()?;
        self.added(&mut w, -mu, &x)?;
        let of_w = self.norm_of(&w)?;
        if of_w > 0.0 {
            self.scaled(&mut w, 1.0 / of_w)?;
        }
        let [p, aw, ap] = [device.zeros(n)?, device.zeros(n)?, device.zeros(n)?];
        Ok(Vectors { w, x, p, aw, ax, ap, scales: [1.0; 2] })
    }

    /// So many iterations, whatever the residual.
    pub(super) fn run(
        &self,
        multiply: &mut Multiply<'_>,
        x: Vector<f64>,
        others: Others,
        iterations: usize,
    ) -> Result<Run, DeviceError> {
        let device = x.device().clone();
        let mut v = self.start(multiply, x)?;
        device.synchronize()?;
        let started = std::time::Instant::now();
        let (mut have_p, mut energy) = (false, f64::NAN);
        for _ in 0..iterations {
            multiply(&v.w, &mut v.aw)?;
            let [waw, wax, wap, xax, xap, pap, wx, wp, xx, xp] = self.inner_products(&mut v, others)?;
            let pp = if have_p { 1.0 } else { 0.0 };
            let a: Matrix3 = [[waw, wax, wap], [wax, xax, xap], [wap, xap, pap]];
            let b: Matrix3 = [[1.0, wx, wp], [wx, xx, xp], [wp, xp, pp]];
            // p or w may have become dependent: go on without p, whose next value is w's part.
            let solved = if have_p { pencil::smallest(&a, &b, 3) } else { None };
            let Some((value, [alpha, beta, gamma])) = solved.or_else(|| pencil::smallest(&a, &b, 2)) else { break };
            energy = value;
            self.update(&mut v, others, [alpha, beta, gamma, 0.5 * (value + xax / xx)])?;
            have_p = true;
        }
        device.synchronize()?;
        Ok(Run { seconds: started.elapsed().as_secs_f64(), energy })
    }
}

/// Why the operations cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LobpcgError {
    /// A program's text.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
