//! `eigenforge bench symmetries` as a person runs it: small sectors on the processor and in the simulator.

use super::command::run;
use serde_json::Value;

fn times(only: &str, device: &str) -> Vec<Value> {
    let output = run(&["bench", "symmetries", "--only", only, "--device", device, "--repeats", "1", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Real and complex, of spins and of electrons; the products are compared with those of the stored matrix by the bench itself.
#[test]
fn small_sectors_on_the_processor_and_in_the_simulator() {
    for device in ["cpu", "sim"] {
        let found = times("triangular 4 x 4, Gamma", device);
        let names: Vec<&str> = found.iter().map(|time| time["case"].as_str().unwrap()).collect();
        assert_eq!(names, ["A1", "A of C6", "E2"].map(|irrep| format!("triangular 4 x 4, Gamma, {irrep}")));
        let numbers = |key: &str| found.iter().map(|time| time[key].as_u64().unwrap()).collect::<Vec<_>>();
        assert_eq!(numbers("elements"), [384, 192, 192]);
        assert_eq!(numbers("plain_states"), [12_870; 3]);
        let positive = |value: &Value| value.as_f64().is_some_and(|number| number > 0.0);
        for time in &found {
            for key in ["basis_milliseconds", "milliseconds", "nanoseconds_per_state", "stored_milliseconds"] {
                assert!(positive(&time[key]), "{device}: {key} of {time}");
            }
            assert_eq!(time["complex"].as_bool().unwrap(), positive(&time["over_real"]), "{time}");
        }
        let electrons = &times("3 x 3, translations, C2", device)[0];
        assert_eq!((electrons["states"].as_u64(), electrons["elements"].as_u64()), (Some(900), Some(18)));
    }
}
