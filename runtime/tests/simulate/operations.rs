//! Warp operations, atomics, bit tricks and tables against their definition, lane by lane.

use super::{SCHEDULES, bytes, kernel, simulator};
use eigenforge_runtime::Scalar;
use eigenforge_runtime::simulate::Argument;

const CODE: &str = "
__constant__ double table[3] = { 0.5, 1.5, 2.5 };
template <class V> __device__ void four(V value, V* out, int mine)
{
    const unsigned all = 0xffffffffu;
    out[mine] = __shfl_xor_sync(all, value, 5);
    out[mine + 64] = __shfl_down_sync(all, value, 3, 8);
    out[mine + 128] = __shfl_up_sync(all, value, 2);
    out[mine + 192] = __shfl_sync(all, value, 9, 16);
}
extern \"C\" __global__ void __launch_bounds__(64) operations(double* d, float* f, i64* l, u32* u, i64* total)
{
    const int t = threadIdx.x, lane = t & 31;
    four((double)t + 0.25, d, t);
    four((float)t + 0.5f, f, t);
    four((i64)t << 40, l, t);
    u[t] = __ballot_sync(0xffffffffu, t % 3 == 0);
    u[t + 64] = lane < 12 ? __ballot_sync(0xfffu, lane & 1) : 0u;
    u[t + 128] = __popc(t * 77) + __popcll((u64)t << 33 | 1) + __ffs(t) + __clz(t + 1);
    d[t + 192] = -d[t + 192];
    d[t + 192] = __hiloint2double(__double2hiint(d[t + 192]) ^ (int)0x80000000u, __double2loint(d[t + 192]));
    if (lane < 6) atomicAdd(total, (i64)(table[lane % 3] * 2.0));
}
";

fn shuffled<T: Scalar>(value: impl Fn(usize) -> T) -> Vec<T> {
    let from =
        |source: &dyn Fn(usize) -> usize| (0..64).map(|t| value(t / 32 * 32 + source(t % 32))).collect::<Vec<T>>();
    let down = |lane: usize| if lane % 8 + 3 < 8 { lane + 3 } else { lane };
    let up = |lane: usize| if lane >= 2 { lane - 2 } else { lane };
    [from(&|lane| lane ^ 5), from(&down), from(&up), from(&|lane| lane / 16 * 16 + 9)].concat()
}

#[test]
fn warp_operations_follow_their_definition() {
    let Some(simulator) = simulator() else { return };
    let simulated = simulator.build(&kernel("operations", CODE, &["operations"])).unwrap_or_else(|e| panic!("{e}"));
    let ballot =
        |warp: usize| (0..32).filter(|lane| (warp * 32 + lane).is_multiple_of(3)).fold(0u32, |m, lane| m | 1 << lane);
    let mut bits: Vec<u32> = (0..64).map(|t| ballot(t / 32)).collect();
    bits.extend((0..64).map(|t| if t % 32 < 12 { 0xaaau32 } else { 0 }));
    bits.extend((0..64u32).map(|t| {
        let first = if t == 0 { 0 } else { t.trailing_zeros() + 1 };
        (t * 77).count_ones() + (t.count_ones() + 1) + first + (t + 1).leading_zeros()
    }));
    for schedule in SCHEDULES {
        let (mut d, mut f, mut l, mut u) = (vec![0; 2048], vec![0; 1024], vec![0; 2048], vec![0; 768]);
        let mut total = vec![0; 8];
        let mut arguments = [
            Argument::Out(&mut d),
            Argument::Out(&mut f),
            Argument::Out(&mut l),
            Argument::Out(&mut u),
            Argument::InOut(&mut total),
        ];
        simulated
            .launch("operations", [1, 1, 1], [64, 1, 1], 0, &mut arguments, schedule)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(d, bytes(&shuffled(|t| t as f64 + 0.25)));
        assert_eq!(f, bytes(&shuffled(|t| t as f32 + 0.5)));
        let wide: Vec<u8> = shuffled(|t| t as f64).iter().flat_map(|t| ((*t as i64) << 40).to_ne_bytes()).collect();
        assert_eq!(l, wide);
        let expected: Vec<u8> = bits.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(u, expected);
        assert_eq!(total, (2 * 2 * (1 + 3 + 5i64)).to_ne_bytes());
    }
}
