use eigenforge_macros::sum;

fn main() {
    let _ = sum!(i in 0..4; n(i));
}
