use eigenforge_macros::gpu_operator;

#[gpu_operator]
struct Hubbard {
    u: f64,
}

fn main() {}
