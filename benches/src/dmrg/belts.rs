//! Inner products of one vector with a few others in one sweep: the "belts" of Nemes et al. (2014), Algorithm 4.
//!
//! In: V, 1 to [`BELT`] vectors, and w. Out: Vᵀw, in the order of V. The kernel is a vector program generated for its
//! width, so its sums are finished in the same launch and have the same bits in each run. DMRG does not launch it: there
//! one generated kernel does all of Davidson's iteration. These are its lines 3 and 12 by themselves.

use eigenforge_runtime::{Bind, Device, DeviceError, Program, Vector};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Most vectors of a belt.
pub const BELT: usize = 24;
/// Widths for which kernels are compiled; others use the next larger one and repeat their last vector, which is then in
/// cache.
const WIDTHS: [usize; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 20, BELT];

/// Belts of any width on one device; each kernel is compiled at its first use.
pub struct Belts {
    device: Device,
    programs: RefCell<HashMap<usize, Rc<Program>>>,
    last: RefCell<Option<Rc<Program>>>,
}

impl Belts {
    /// For vectors of this device.
    pub fn new(device: &Device) -> Belts {
        Belts { device: device.clone(), programs: RefCell::default(), last: RefCell::default() }
    }

    /// Queues Vᵀw without waiting for it.
    ///
    /// # Errors
    /// No vectors or more than [`BELT`], vectors of other lengths or devices, a kernel that cannot be run.
    pub fn queue(&self, v: &[&Vector<f64>], w: &Vector<f64>) -> Result<(), DeviceError> {
        if v.is_empty() || v.len() > BELT {
            let (expected, found) = (format!("1 to {BELT} vectors"), v.len().to_string());
            return Err(DeviceError::Arguments { what: "a belt".into(), expected, found });
        }
        let width = self.width(v.len());
        let program = self.program(width)?;
        let mut binds: Vec<Bind<'_, f64>> = (0..width).map(|k| Bind::In(v[k.min(v.len() - 1)])).collect();
        binds.push(Bind::In(w));
        program.queue(&mut binds, &[])?;
        self.last.replace(Some(program));
        Ok(())
    }

    /// The first `width` inner products of the last request; waits for them.
    ///
    /// # Errors
    /// The device fails.
    pub fn sums(&self, width: usize) -> Result<Vec<f64>, DeviceError> {
        let last = self.last.borrow();
        let mut sums = last.as_ref().map_or(Ok(Vec::new()), |program| program.sums())?;
        sums.truncate(width);
        Ok(sums)
    }

    /// The kernel width for `count` vectors; exactly `count` where nothing is compiled.
    fn width(&self, count: usize) -> usize {
        let kernel = WIDTHS.into_iter().find(|width| *width >= count).unwrap_or(count);
        if self.device.runs_kernels() { kernel } else { count }
    }

    fn program(&self, width: usize) -> Result<Rc<Program>, DeviceError> {
        if let Some(program) = self.programs.borrow().get(&width) {
            return Ok(program.clone());
        }
        let names: Vec<String> = (0..width).map(|k| format!("x{k}")).collect();
        let mut text = format!("program gram_{width}x1\nvectors {} y0 : in\n", names.join(" "));
        names.iter().for_each(|x| text += &format!("sum {x}y0 = {x} * y0\n"));
        let parsed = VectorProgram::parse(&text)
            .unwrap_or_else(|error| unreachable!("a built-in program parses: {error}\n{text}"));
        let program = Rc::new(self.device.program(&parsed, ScalarType::F64, &[])?);
        self.programs.borrow_mut().insert(width, program.clone());
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded;
    use eigenforge_runtime::testing::host_and_card;

    /// Every width, those between the kernels' among them, and lengths that divide by nothing.
    #[test]
    fn belts_of_every_width_memcheck() {
        for device in host_and_card() {
            let belts = Belts::new(&device);
            for width in 1..=BELT {
                let n = 1000 * width + 37;
                let host: Vec<Vec<f64>> = (0..=width).map(|v| seeded::vector(n, 7 + v as u64)).collect();
                let vectors: Vec<Vector<f64>> = host.iter().map(|v| device.upload(v).unwrap()).collect();
                belts.queue(&vectors[..width].iter().collect::<Vec<_>>(), &vectors[width]).unwrap();
                let sums = belts.sums(width).unwrap();
                assert_eq!(sums.len(), width);
                for (v, sum) in host.iter().zip(&sums) {
                    let (exact, size) = v
                        .iter()
                        .zip(&host[width])
                        .fold((0.0, 0.0), |(sum, size): (f64, f64), (a, b)| (sum + a * b, size + (a * b).abs()));
                    assert!((sum - exact).abs() < 1e-14 * size, "{width} on {device:?}: {sum} for {exact}");
                }
            }
            let one: Vector<f64> = device.upload(&[1.0]).unwrap();
            let error = belts.queue(&[&one; BELT + 1], &one).unwrap_err().to_string();
            assert!(error.contains("1 to 24 vectors") && error.contains("25"), "{error}");
        }
    }
}
