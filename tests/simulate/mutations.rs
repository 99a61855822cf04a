//! One line of a generated multiply changed, as a mistake in a template would change it: each is caught, under every
//! schedule, with a class that fits.

use super::devices;
use super::multiply::{multiply, start};
use super::shapes::{hubbard, spins};
use eigenforge::exact::{Hamiltonian, Model, PrepareError};
use eigenforge::runtime::DeviceError;
use eigenforge::runtime::simulate::{FaultClass, SimulateError};
use eigenforge_templates::ScalarType;

/// Replaces `line` once, after `after`, and returns the classes found under the schedules with the lines' texts.
fn caught(model: &Model, after: &str, line: &str, change: &str, classes: &[FaultClass]) {
    let prepared = model.multiply(ScalarType::F64).unwrap();
    let mut text = prepared.text().unwrap();
    let from = text.text.find(after).unwrap_or_else(|| panic!("'{after}' is in the text"));
    let at = from + text.text[from..].find(line).unwrap_or_else(|| panic!("'{line}' is in the text"));
    text.text.replace_range(at..at + line.len(), change);
    let x: Vec<f64> = start(model.dimension() as usize, 0);
    for device in devices() {
        let hamiltonian = Hamiltonian::with_text(prepared.clone(), &text, model.name(), &device);
        match multiply(&hamiltonian.unwrap_or_else(|error| panic!("{error}")), &x) {
            Err(DeviceError::Simulate(SimulateError::Fault(fault))) => {
                assert!(classes.contains(&fault.class), "'{change}' for '{line}' on {device:?}: {fault}");
                // An argument has its name of the plan, not a number.
                assert!(!fault.message.contains("argument ") || fault.message.contains("argument `"), "{fault}");
                assert!(!fault.lines().is_empty() && fault.sites[0][0].file == "kernel.cu", "{fault}");
            }
            other => panic!("'{change}' for '{line}' on {device:?} was not caught: {other:?}"),
        }
    }
}

const UNORDERED: [FaultClass; 2] = [FaultClass::Race, FaultClass::UninitialisedShared];

#[test]
fn barriers_left_out() {
    let model = hubbard(6, true, 3, 2, |_| 1.0);
    caught(&model, "columns[k] =", "__syncthreads();", "", &UNORDERED);
    caught(&model, "if (lane == 0) tile[", "__syncthreads();", "", &UNORDERED);
    caught(&model, "scratch[warp] = value;", "__syncthreads();", "", &UNORDERED);
}

#[test]
fn bounds_left_out() {
    let model = hubbard(6, true, 3, 2, |_| 1.0);
    let read = [FaultClass::OutOfBoundsRead];
    caught(&model, "multiply_up(", "row < N_UP && first_column + c < N_DN ?", "true ?", &read);
    caught(&model, "multiply_up(", "if (row < N_UP)", "if (row <= N_UP)", &read);
    // Rows past the last belong to the next column, so this one may be seen as a race first.
    let either = [FaultClass::OutOfBoundsRead, FaultClass::Race];
    caught(&model, "multiply_down(", "c < count && inside;", "c < count;", &either);
    caught(&spins(1, 11, 1), "multiply(", "row < SHARE_END(DIMENSION);", "row <= SHARE_END(DIMENSION);", &read);
}

#[test]
fn a_staging_loop_that_stops_early() {
    // The padding element, and with it the neighbours that pad a row, is left as it was.
    let model = hubbard(6, false, 3, 2, |_| 1.0);
    // The column of zeros that pads the neighbours within a run.
    caught(
        &model,
        "multiply_down(",
        "if (lane == 0) tile[",
        "if (lane > 99) tile[",
        &[FaultClass::UninitialisedShared],
    );
    let (line, change) = ("k < UP_COLUMNS * COLUMN", "k < UP_COLUMNS * COLUMN - 12");
    caught(&model, "multiply_up(", line, change, &[FaultClass::UninitialisedShared]);
}

#[test]
fn a_wrong_mask_and_a_barrier_that_only_some_reach() {
    let model = hubbard(6, true, 3, 2, |_| 1.0);
    caught(&model, "warp_sum(double", "ALL_LANES", "0x0fffffffu", &[FaultClass::WrongMask]);
    let barriers = [FaultClass::DivergentBarrier, FaultClass::WarpDeadlock];
    caught(&model, "scratch[warp] = value;", "__syncthreads();", "if (warp == 0) __syncthreads();", &barriers);
}

#[test]
fn an_amplitude_that_stands_beside_its_place() {
    let model = hubbard(6, true, 2, 3, |i| 0.7 + 0.1 * i as f64);
    let read = [FaultClass::OutOfBoundsRead];
    caught(&model, "multiply_up(", "neighbours + ((i64)group", "neighbours + ((i64)(group + 1)", &read);
}

/// An edited text that takes other arguments is no fault of a run: nothing starts.
#[test]
fn other_parameters_than_the_plan_s_are_refused() {
    let model = hubbard(6, true, 3, 2, |_| 1.0);
    for (line, change, said) in [
        ("slice_start", "slice_begin", "parameter 4: the plan passes `const u32* slice_start`"),
        ("value_t* __restrict__ y,", "value_t* __restrict__ y, int n,", "passes 7 parameters and the text declares 8"),
        ("typedef double value_t;", "typedef float value_t;", "parameter 1: the plan passes `const double* x`"),
        ("const value_t* __restrict__ x", "value_t* __restrict__ x", "the text declares `value_t* x`"),
        ("__launch_bounds__(UP_THREADS)", "__launch_bounds__(32)", "1 to 32 threads"),
    ] {
        let prepared = model.multiply(ScalarType::F64).unwrap();
        let mut text = prepared.text().unwrap();
        assert!(text.text.contains(line), "'{line}' is in the text");
        text.text = text.text.replace(line, change);
        let Some(device) = devices().pop() else { return };
        let error = Hamiltonian::with_text(prepared, &text, model.name(), &device).err().unwrap();
        let refused = matches!(error, PrepareError::Device(DeviceError::Launch(_)));
        assert!(refused && error.to_string().contains(said), "{change}: {error}");
    }
}
