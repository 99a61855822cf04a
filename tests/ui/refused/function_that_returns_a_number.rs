use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn energy(u: f64) -> f64 {
    u
}

fn main() {}
