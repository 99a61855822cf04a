//! Each class of bug, seeded in a small kernel, is caught under every schedule, with its class and its line.

use super::{SCHEDULES, kernel, marked, simulator};
use eigenforge_runtime::simulate::{Argument, Check, Fault, FaultClass, Schedule, SimulateError, Simulated, Simulator};
use eigenforge_templates::KernelText;

const THREADS: u32 = 64;

fn build(simulator: &Simulator, name: &str, body: &str) -> (KernelText, Simulated) {
    let code = format!("extern \"C\" __global__ void {name}(const double* x, double* y, int n)\n{{\n{body}\n}}\n");
    let text = kernel(name, &code, &[name]);
    let simulated = simulator.build(&text).unwrap_or_else(|error| panic!("{error}"));
    (text, simulated)
}

/// x has 100 doubles, y has 100; two blocks of 64 threads; 1 KiB of dynamic shared memory.
fn launch(simulated: &Simulated, name: &str, check: Check, schedule: Schedule) -> Result<Vec<u8>, SimulateError> {
    let x: Vec<u8> = (0..100).flat_map(|k| f64::from(k).to_ne_bytes()).collect();
    let mut y = vec![0u8; 800];
    let mut arguments = [Argument::In(&x), Argument::Out(&mut y), Argument::I32(100)];
    simulated.launch_under(check, name, [2, 1, 1], [THREADS, 1, 1], 1024, &mut arguments, schedule)?;
    Ok(y)
}

/// The fault of a body under every schedule; the class and the marked lines are asserted.
fn caught(name: &str, check: Check, class: FaultClass, marks: &[&str], body: &str) -> Option<Fault> {
    let simulator = simulator()?;
    let (text, simulated) = build(&simulator, name, body);
    let mut last = None;
    for schedule in SCHEDULES {
        let error = launch(&simulated, name, check, schedule).expect_err("a seeded bug was not caught");
        let SimulateError::Fault(fault) = error else { panic!("{name} {schedule:?}: {error}") };
        assert_eq!(fault.class, class, "{name} {schedule:?}: {fault}");
        let mut lines = fault.lines();
        let mut expected: Vec<u32> = marks.iter().map(|mark| marked(&text, mark)).collect();
        lines.sort_unstable();
        expected.sort_unstable();
        assert_eq!(lines, expected, "{name} {schedule:?}: {fault}");
        assert!(fault.thread.is_some() && fault.block.is_some(), "{fault}");
        last = Some(*fault);
    }
    last
}

const INDEX: &str = "    const int t = threadIdx.x, i = blockIdx.x * 64 + t;\n";

#[test]
fn missing_barrier() {
    let body = |barrier: &str| {
        format!(
            "{INDEX}    __shared__ double tile[64];\n    tile[t] = i < n ? x[i] : 0.0; // WRITE\n    {barrier}\n    \
             if (i < n) y[i] = tile[t ^ 33]; // READ\n"
        )
    };
    let Some(simulator) = simulator() else { return };
    let (_, sound) = build(&simulator, "with_barrier", &body("__syncthreads();"));
    for check in [Check::Accesses, Check::Addresses] {
        for schedule in SCHEDULES {
            launch(&sound, "with_barrier", check, schedule).unwrap();
        }
    }
    let name = "missing_barrier";
    let (text, simulated) = build(&simulator, name, &body(""));
    for schedule in SCHEDULES {
        // Whoever comes first: the reader finds NaN that nobody wrote, or the writer a reader before it.
        let Err(SimulateError::Fault(fault)) = launch(&simulated, name, Check::Accesses, schedule) else {
            panic!("not caught under {schedule:?}")
        };
        assert!(matches!(fault.class, FaultClass::Race | FaultClass::UninitialisedShared), "{fault}");
        assert!(fault.lines().contains(&marked(&text, "// READ")), "{fault}");
    }
}

/// The second use of a shared array needs a barrier before it as well; no poison shows this one.
#[test]
fn missing_barrier_before_reuse() {
    caught(
        "missing_reuse_barrier",
        Check::Accesses,
        FaultClass::Race,
        &["// AGAIN", "// READ"],
        &format!(
            "{INDEX}    __shared__ double tile[64];\n    tile[t] = i;\n    __syncthreads();\n    double a = tile[63 - t]; // READ\n\
             \n    tile[t] = a; // AGAIN\n    __syncthreads();\n    if (i < n) y[i] = tile[t];\n"
        ),
    );
}

#[test]
fn a_shuffle_is_no_barrier_and_syncwarp_is_one() {
    let body = |sync: &str| {
        format!(
            "{INDEX}    extern __shared__ double line_of_warp[];\n    line_of_warp[t] = i; // WRITE\n    {sync}\n    \
             if (i < n) y[i] = line_of_warp[t ^ 1]; // READ\n"
        )
    };
    caught(
        "shuffle_as_barrier",
        Check::Accesses,
        FaultClass::Race,
        &["// WRITE", "// READ"],
        &body("__shfl_xor_sync(0xffffffffu, t, 1);"),
    );
    let Some(simulator) = simulator() else { return };
    let (_, sound) = build(&simulator, "syncwarp_as_barrier", &body("__syncwarp();"));
    for schedule in SCHEDULES {
        launch(&sound, "syncwarp_as_barrier", Check::Accesses, schedule).unwrap();
        launch(&sound, "syncwarp_as_barrier", Check::Addresses, schedule).unwrap();
    }
}

#[test]
fn off_by_one_tail() {
    let body = format!("{INDEX}    if (i <= n) y[i] = 2.0 * i; // BUG\n");
    for (name, check) in [("tail_watched", Check::Accesses), ("tail_sanitized", Check::Addresses)] {
        let fault = caught(name, check, FaultClass::OutOfBoundsWrite, &["// BUG"], &body);
        if check == Check::Accesses {
            let Some(fault) = fault else { return };
            assert!(fault.message.contains("byte 800 of argument 1, which has 800 bytes"), "{fault}");
            assert_eq!((fault.block, fault.thread), (Some([1, 0, 0]), Some([36, 0, 0])));
        }
    }
}

#[test]
fn out_of_bounds_read() {
    let body = format!("{INDEX}    if (i < n) y[i] = x[i - 1]; // BUG\n");
    for (name, check) in [("before_watched", Check::Accesses), ("before_sanitized", Check::Addresses)] {
        caught(name, check, FaultClass::OutOfBoundsRead, &["// BUG"], &body);
    }
}

#[test]
fn out_of_bounds_of_static_and_dynamic_shared_memory() {
    let fixed = format!(
        "{INDEX}    __shared__ double tile[64];\n    tile[t + 1] = i; // BUG\n    __syncthreads();\n    if (i < n) y[i] = tile[63];\n"
    );
    let dynamic = format!(
        "{INDEX}    extern __shared__ __align__(16) unsigned char raw[];\n    double* tile = (double*)raw;\n    tile[t + 65] = i; // BUG\n    \
         __syncthreads();\n    if (i < n) y[i] = tile[t + 65];\n"
    );
    for (kind, body) in [("fixed", fixed), ("dynamic", dynamic)] {
        for check in [Check::Accesses, Check::Addresses] {
            // Where the array's type tells its length, the index is checked before the access.
            let class = if kind == "fixed" { FaultClass::IndexOutOfBounds } else { FaultClass::OutOfBoundsWrite };
            caught(&format!("{kind}_{check:?}"), check, class, &["// BUG"], &body);
        }
    }
}

#[test]
fn out_of_bounds_of_a_local_array() {
    let local = |read: &str| {
        format!(
            "{INDEX}    double four[4] = {{1.0, 2.0, 3.0, 4.0}};\n    const double* at = four;\n    if (i < n) y[i] = {read}; // BUG\n"
        )
    };
    let class = FaultClass::IndexOutOfBounds;
    for (name, check) in [("local_array", Check::Addresses), ("local_array_watched", Check::Accesses)] {
        caught(name, check, class, &["// BUG"], &local("four[(int)x[i] % 5]"));
    }
    let class = FaultClass::OutOfBoundsRead;
    caught("local_pointer", Check::Addresses, class, &["// BUG"], &local("at[(int)x[i] % 5]"));
    // A write past the end is found where the function ends.
    let past = format!(
        "{INDEX}    double four[4] = {{1.0, 2.0, 3.0, 4.0}};\n    double* at = four;\n    at[4 + i / n] = x[0];\n    if (i < n) y[i] = four[0];\n"
    );
    let Some(simulator) = simulator() else { return };
    let (_, simulated) = build(&simulator, "local_write", &past);
    let Err(SimulateError::Fault(fault)) = launch(&simulated, "local_write", Check::Accesses, Schedule::Forward) else {
        panic!("a write past a local array was not caught")
    };
    assert_eq!(fault.class, FaultClass::OutOfBoundsWrite, "{fault}");
    // A variable that is never set does not have what another launch left.
    let unset = format!("{INDEX}    double sum;\n    if (i == 0) sum = 1.0;\n    if (i < n) y[i] = sum;\n");
    let (_, simulated) = build(&simulator, "never_set", &unset);
    let y = launch(&simulated, "never_set", Check::Accesses, Schedule::Forward).unwrap();
    let value = |k: usize| f64::from_ne_bytes(y[8 * k..8 * k + 8].try_into().unwrap());
    assert!(value(0) == 1.0 && value(1).abs() > 1e100, "{} {}", value(0), value(1));
}

#[test]
fn uninitialised_shared_memory() {
    caught(
        "uninitialised",
        Check::Accesses,
        FaultClass::UninitialisedShared,
        &["// BUG"],
        &format!(
            "{INDEX}    __shared__ double tile[64];\n    if (t < 63) tile[t] = i;\n    __syncthreads();\n    if (i < n) y[i] = tile[63]; // BUG\n"
        ),
    );
}

/// What one block leaves in shared memory is not there for the next.
#[test]
fn shared_memory_of_the_block_before() {
    caught(
        "block_before",
        Check::Accesses,
        FaultClass::UninitialisedShared,
        &["// BUG"],
        &format!(
            "{INDEX}    __shared__ double tile[64];\n    if (blockIdx.x == 0) tile[t] = i;\n    __syncthreads();\n    \
             if (i < n) y[i] = tile[t]; // BUG\n"
        ),
    );
}

#[test]
fn wrong_shuffle_masks() {
    let own = format!("{INDEX}    if (t < 32) y[t] = __shfl_xor_sync(0x0000ffffu, (double)i, 1); // BUG\n");
    caught("mask_without_the_caller", Check::Accesses, FaultClass::WrongMask, &["// BUG"], &own);
    let source = format!("{INDEX}    if (t < 16) y[t] = __shfl_down_sync(0x0000ffffu, (double)i, 8); // BUG\n");
    caught("source_outside_of_the_mask", Check::Accesses, FaultClass::WrongMask, &["// BUG"], &source);
}

#[test]
fn warp_deadlocks() {
    let gone = format!(
        "{INDEX}    if (t % 32 < 16) {{\n        y[i < n ? i : 0] = __shfl_xor_sync(0xffffffffu, i, 1); // BUG\n    }}\n"
    );
    caught("lanes_that_left", Check::Accesses, FaultClass::WarpDeadlock, &["// BUG"], &gone);
    let elsewhere = format!(
        "{INDEX}    double v = i;\n    if (t % 32 < 16) v += __shfl_xor_sync(0xffffffffu, v, 1); // ONE\n    else __syncthreads(); // TWO\n    \
         if (i < n) y[i] = v;\n"
    );
    caught("lanes_at_a_barrier", Check::Accesses, FaultClass::WarpDeadlock, &["// ONE", "// TWO"], &elsewhere);
}

#[test]
fn divergent_barriers() {
    let two = format!(
        "{INDEX}    if (t < 32) {{\n        __syncthreads(); // ONE\n    }} else {{\n        __syncthreads(); // TWO\n    }}\n    if (i < n) y[i] = i;\n"
    );
    let fault = caught("two_barriers", Check::Accesses, FaultClass::DivergentBarrier, &["// ONE", "// TWO"], &two);
    if let Some(fault) = fault {
        assert!(fault.to_string().contains("__syncthreads(); // TWO"), "the text of the line is shown: {fault}");
    }
    let gone = format!("{INDEX}    if (i >= n) return;\n    y[i] = i;\n    __syncthreads(); // BUG\n");
    caught("barrier_after_return", Check::Accesses, FaultClass::DivergentBarrier, &["// BUG"], &gone);
}

/// The last block to come reads what the others wrote: each must publish it with a fence before it is counted, and the
/// reader needs a fence after, and a barrier for its other threads.
#[test]
fn the_last_block_reads_the_others() {
    let body = |publish: &str, receive: &str| {
        format!(
            "    const int t = threadIdx.x;\n    __shared__ bool last;\n    if (t < 2) y[2 + 2 * blockIdx.x + t] = x[t]; // WRITE\n    \
             __syncthreads();\n    if (t == 0) {{\n        {publish}\n        last = atomicAdd((unsigned*)y, 1u) == 1;\n        \
             {receive}\n    }}\n    __syncthreads();\n    if (last && t == 1) y[98] = y[2] + y[4]; // READ\n"
        )
    };
    let Some(simulator) = simulator() else { return };
    let run = |name: &str, body: &str, schedule| {
        let code = format!("extern \"C\" __global__ void {name}(const double* x, double* y, int n)\n{{\n{body}\n}}\n");
        let text = kernel(name, &code, &[name]);
        let simulated = simulator.build(&text).unwrap_or_else(|error| panic!("{error}"));
        let (x, mut y) = (vec![1u8; 800], vec![0u8; 800]);
        let mut arguments = [Argument::In(&x), Argument::InOut(&mut y), Argument::I32(100)];
        simulated.launch_under(Check::Accesses, name, [2, 1, 1], [THREADS, 1, 1], 1024, &mut arguments, schedule)
    };
    let fence = "__threadfence();";
    for schedule in SCHEDULES {
        run("published", &body(fence, fence), schedule).unwrap_or_else(|error| panic!("{error}"));
        for (name, publish, receive) in [("unpublished", "", fence), ("not_received", fence, "")] {
            let Err(SimulateError::Fault(fault)) = run(name, &body(publish, receive), schedule) else {
                panic!("{name} was not caught under {schedule:?}")
            };
            assert_eq!(fault.class, FaultClass::Race, "{name} {schedule:?}: {fault}");
            assert!(fault.message.contains("__threadfence"), "{fault}");
        }
    }
}

#[test]
fn blocks_that_write_the_same_element() {
    caught(
        "two_blocks",
        Check::Accesses,
        FaultClass::Race,
        &["// BUG", "// BUG"],
        &format!("{INDEX}    y[t] = i; // BUG\n"),
    );
}

#[test]
fn other_faults_of_memory() {
    let constant = format!("{INDEX}    if (i < n) ((double*)x)[i] = 1.0; // BUG\n");
    caught("write_to_constant", Check::Accesses, FaultClass::WriteToConstant, &["// BUG"], &constant);
    let unwritten = format!("{INDEX}    if (i < n) y[i] += x[i]; // BUG\n");
    caught("unwritten_output", Check::Accesses, FaultClass::UninitialisedOutput, &["// BUG"], &unwritten);
    let misaligned = format!("{INDEX}    if (i < 40) y[i] = ((const double2*)(x + 1))[i].x; // BUG\n");
    for (name, check) in [("misaligned", Check::Addresses), ("misaligned_watched", Check::Accesses)] {
        caught(name, check, FaultClass::Misaligned, &["// BUG"], &misaligned);
    }
    let wild = format!("{INDEX}    if (i < n) y[i] = x[(i64)i << 40]; // BUG\n");
    let Some(simulator) = simulator() else { return };
    let (text, simulated) = build(&simulator, "wild", &wild);
    for check in [Check::Accesses, Check::Addresses] {
        let Err(SimulateError::Fault(fault)) = launch(&simulated, "wild", check, Schedule::Reverse) else {
            panic!("a wild pointer was not caught")
        };
        assert!(matches!(fault.class, FaultClass::WildPointer | FaultClass::OutOfBoundsRead), "{fault}");
        assert_eq!(fault.lines(), [marked(&text, "// BUG")], "{fault}");
    }
}

#[test]
fn faults_of_arithmetic_and_time() {
    let zero = format!("{INDEX}    if (i < n) y[i] = 7 / (int)x[i % 50]; // BUG\n");
    caught("zero_watched", Check::Accesses, FaultClass::DivisionByZero, &["// BUG"], &zero);
    caught("zero_sanitized", Check::Addresses, FaultClass::DivisionByZero, &["// BUG"], &zero);
    let overflow = format!("{INDEX}    if (i < n) y[i] = 1 << (n - 69 + t); // BUG\n");
    for (name, check) in [("overflow", Check::Addresses), ("overflow_watched", Check::Accesses)] {
        caught(name, check, FaultClass::UndefinedArithmetic, &["// BUG"], &overflow);
    }
    let sum = format!("{INDEX}    if (i < n) y[i] = (int)x[0] + 2147483647 + i; // BUG\n");
    caught("sum", Check::Accesses, FaultClass::UndefinedArithmetic, &["// BUG"], &sum);
    let Some(simulator) = simulator() else { return };
    let (_, simulated) = build(
        &simulator.time_limit(1),
        "endless",
        &format!("{INDEX}    while (*(volatile const double*)x < 1.0) y[i] = 0.0;\n"),
    );
    let Err(SimulateError::Fault(fault)) = launch(&simulated, "endless", Check::Accesses, Schedule::Forward) else {
        panic!("an endless loop was not caught")
    };
    assert_eq!(fault.class, FaultClass::Endless, "{fault}");
}
