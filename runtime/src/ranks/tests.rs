//! Ranks as threads: sums, exchanges, vectors, programs, faults.

use super::{Ranks, by_threads, equal, nearest, piece};
use crate::device::{Device, Vector, random_start};
use crate::error::DeviceError;
use crate::simulate::Schedule;
use crate::testing::card_or_simulated;
use crate::vector_program::Bind;
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;
use std::sync::Arc;

/// What each of so many ranks returns.
fn on_ranks<R: Send>(count: usize, run: impl Fn(Ranks) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = by_threads(count).into_iter().map(|rank| scope.spawn(move || run(rank))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    })
}

#[test]
fn shares_cover_every_element_once() {
    for ranks in [1, 2, 3, 7] {
        for length in [0, 1, 2, 5, 100, 101] {
            let bounds = equal(length, ranks);
            assert_eq!((bounds.len(), bounds[0], bounds[ranks]), (ranks + 1, 0, length));
            let sizes: Vec<usize> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        }
        let places = [0, 10, 11, 50, 51, 52, 90];
        let bounds = nearest(&places, ranks);
        assert!(bounds.is_sorted() && bounds.iter().all(|bound| places.contains(bound)), "{bounds:?}");
        assert_eq!((bounds[0], bounds[ranks]), (0, 90));
    }
    assert_eq!(nearest(&[0, 10, 11, 50, 51, 52, 90], 2), [0, 50, 90]);
    assert_eq!(equal(usize::MAX, 2), [0, usize::MAX / 2, usize::MAX]);
}

/// Messages of 2^31 and 2^32 elements and more are cut into pieces that a count of 31 bits can tell.
#[test]
fn long_messages_go_in_pieces_that_cover_them() {
    for length in [0usize, 1, 1 << 30, (1 << 31) + 5, 8 * ((1 << 32) + 3)] {
        let mut covered = 0;
        for round in 0..length.div_ceil(super::MESSAGE) + 1 {
            let piece = piece(length, super::MESSAGE, round);
            assert!(piece.start == covered && piece.len() < 1 << 31);
            covered = piece.end;
        }
        assert_eq!(covered, length);
    }
}

#[test]
fn sums_are_in_rank_order_and_the_same_everywhere() {
    let own = |rank: usize, k: usize| ((rank * 71 + k * 13) % 17) as f64 * 0.1 - 1e-3 / (k + 1) as f64;
    for ranks in [1, 2, 3, 5] {
        for length in [1, 60, 61, 150] {
            let found = on_ranks(ranks, |rank| {
                let mut sums: Vec<f64> = (0..length).map(|k| own(rank.rank(), k)).collect();
                rank.add_up("sums", 7, &mut sums).unwrap();
                sums
            });
            let exact: Vec<f64> = (0..length).map(|k| (0..ranks).map(|rank| own(rank, k)).sum()).collect();
            found.iter().for_each(|found| assert_eq!(found, &exact));
        }
    }
}

/// Lengths differ, some are 0, and messages are cut.
#[test]
fn everyone_gets_what_was_meant_for_it() {
    let length = |from: usize, to: usize| (from * 5 + to * 3) % 7;
    let value = |from: usize, to: usize, k: usize| (100 * from + 10 * to + k) as f32;
    for message in [3, 8, 1 << 20] {
        on_ranks(4, |rank| {
            let rank = rank.with_messages_of(message);
            let me = rank.rank();
            let send: Vec<Vec<f32>> =
                (0..4).map(|to| (0..length(me, to)).map(|k| value(me, to, k)).collect()).collect();
            let mut receive: Vec<Vec<f32>> = (0..4).map(|from| vec![f32::NAN; length(from, me)]).collect();
            let send: Vec<&[f32]> = send.iter().map(|values| &values[..]).collect();
            let mut into: Vec<&mut [f32]> = receive.iter_mut().map(|values| &mut values[..]).collect();
            rank.exchange("test", &send, &mut into).unwrap();
            for (from, found) in receive.iter().enumerate() {
                let exact: Vec<f32> = (0..length(from, me)).map(|k| value(from, me, k)).collect();
                assert_eq!(found, &exact);
            }
            let told = rank.from_first("text", if rank.is_first() { b"from rank 0" } else { b"no" }).unwrap();
            assert_eq!(told, b"from rank 0");
        });
    }
}

/// Whole vectors and parts of them, to the host and back, with more ranks than elements too.
#[test]
fn a_vector_of_shares_is_the_whole_vector() {
    for (ranks, length) in [(2, 11), (3, 100), (5, 3), (5, 0)] {
        let numbers: Vec<f64> = (0..length).map(|k| (k * k) as f64 - 7.5).collect();
        let alone = Device::cpu().random::<f64>(length, 5).unwrap().download().unwrap();
        let check = |place: &Device, rank: Ranks| {
            let rank = Arc::new(rank);
            let device = place.over_ranks(&rank, ranks).unwrap();
            let mut vector = device.upload(&numbers).unwrap();
            assert!(vector.as_host().is_none() && vector.as_host_mut().is_none(), "a share is not the vector");
            let mut here = vec![f64::NAN; vector.here().len()];
            vector.read_here(&mut here).unwrap();
            assert_eq!(here, &numbers[vector.here()]);
            assert_eq!(vector.local().is_some(), !device.runs_kernels());
            assert!(vector.shares()[rank.rank()] == vector.here() && vector.write_here(&[0.0; 200]).is_err());
            assert!(device.over_ranks(&rank, ranks).is_err(), "it is a rank's already");
            assert!(device.of_this_rank().upload(&numbers).unwrap().here() == (0..length));
            assert_eq!(vector.download().unwrap(), numbers);
            let (first, count) = (length / 3, length / 2);
            let mut part = vec![f64::NAN; count];
            vector.read_part(first, &mut part).unwrap();
            assert_eq!(part, &numbers[first..first + count]);
            assert!(vector.read_part(1, &mut vec![0.0; length]).is_err());

            part.iter_mut().for_each(|number| *number = -*number);
            vector.write_part(first, &part).unwrap();
            let mut exact = numbers.clone();
            exact[first..first + count].copy_from_slice(&part);
            assert_eq!(vector.duplicate().unwrap().download().unwrap(), exact);
            assert_eq!(vector.download_first(count).unwrap(), &exact[..count]);
            let mut other = device.zeros::<f64>(length).unwrap();
            other.copy_first(&vector, count).unwrap();
            assert_eq!(other.download_first(count).unwrap(), &exact[..count]);

            let mut gathered = Vec::new();
            let take = |slab: &[f64]| {
                gathered.extend_from_slice(slab);
                Ok::<(), DeviceError>(())
            };
            vector.to_first(take).unwrap();
            assert_eq!(gathered, if rank.is_first() { exact.clone() } else { Vec::new() });
            let mut from = gathered.iter();
            let fill = |slab: &mut [f64]| {
                slab.iter_mut().for_each(|to| *to = *from.next().unwrap());
                Ok::<(), DeviceError>(())
            };
            other.write_by_first(fill).unwrap();
            assert_eq!(other.download().unwrap(), exact);

            assert_eq!(device.random::<f64>(length, 5).unwrap().download().unwrap(), alone, "the same start");
            let bounds: Vec<usize> = (0..=ranks).map(|k| if k == ranks { length } else { 0 }).collect();
            let uneven = device.cut_at(bounds).unwrap().upload(&numbers).unwrap();
            assert_eq!(uneven.here().len(), if rank.rank() + 1 == ranks { length } else { 0 });
            assert_eq!(uneven.download().unwrap(), numbers);
            assert_eq!(vector.copy_from(&uneven).is_err(), vector.here() != uneven.here());
        };
        for place in [Some(Device::cpu()), card_or_simulated(Schedule::Forward)].into_iter().flatten() {
            on_ranks(ranks, |rank| check(&place, rank));
        }
    }
}

fn sums_of(device: &Device, length: usize) -> (Vec<f64>, Vec<f64>) {
    let text = "program p\nvectors x y : in\nvectors z : out\nscalars a\nfunctions random_start\n\
                z = a * x + random_start\nsum xy = x * y\nsum zz = z * z\n";
    let program = VectorProgram::parse(text).unwrap();
    let program = device.program(&program, ScalarType::F64, &[random_start(3)]).unwrap();
    let [x, y] = [1, 2].map(|seed| device.random::<f64>(length, seed).unwrap());
    let mut z: Vector<f64> = device.zeros(length).unwrap();
    let sums = program.run(&mut [Bind::In(&x), Bind::In(&y), Bind::Out(&mut z)], &[0.5]).unwrap();
    (sums, z.download().unwrap())
}

#[test]
fn a_program_has_the_elements_of_one_process_and_its_sums_to_rounding() {
    for (ranks, length) in [(2, 70_000), (3, 1000), (5, 4)] {
        let (sums, z) = sums_of(&Device::cpu(), length);
        let run =
            || on_ranks(ranks, |rank| sums_of(&Device::cpu().over_ranks(&Arc::new(rank), ranks).unwrap(), length));
        let found = run();
        for (of_ranks, elements) in &found {
            assert_eq!(elements, &z);
            assert_eq!(of_ranks, &found[0].0, "the same bits on all ranks");
            let error = of_ranks.iter().zip(&sums).map(|(found, exact)| (found - exact).abs()).fold(0.0, f64::max);
            assert!(error < 1e-12 * length as f64, "{error:e}");
        }
        assert_eq!(found, run(), "the same bits in another run");
    }
}

/// Kernels of a program on each rank's share.
#[test]
fn a_program_of_kernels_has_the_elements_and_sums_of_one_process() {
    let Some(card) = card_or_simulated(Schedule::Reverse) else { return };
    for (ranks, length) in [(2, 3001), (3, 4), (5, 3)] {
        let (sums, z) = sums_of(&Device::cpu(), length);
        let run = || on_ranks(ranks, |rank| sums_of(&card.over_ranks(&Arc::new(rank), ranks).unwrap(), length));
        let found = run();
        for (of_ranks, elements) in &found {
            let close = |a: &[f64], b: &[f64], error: f64| a.iter().zip(b).all(|(a, b)| (a - b).abs() < error);
            assert!(elements.len() == length && close(elements, &z, 1e-15), "{ranks} ranks, {length} elements");
            assert!(of_ranks == &found[0].0 && close(of_ranks, &sums, 1e-12 * length as f64), "{of_ranks:?} {sums:?}");
        }
        assert_eq!(found, run(), "the same bits in another run");
    }
}

/// The others hear the message at their next step, whatever it is; later steps say the same.
#[test]
fn a_rank_that_fails_is_named_by_all() {
    let found = on_ranks(3, |rank| {
        rank.add_up("before", 0, &mut [1.0]).unwrap();
        if rank.rank() == 1 {
            rank.fail("no room for 5 GiB");
            return String::new();
        }
        let first = rank.add_up("sums", 0, &mut [1.0]).unwrap_err().to_string();
        assert_eq!(rank.finish().unwrap_err().to_string(), first);
        rank.fail("because of that");
        first
    });
    for text in [&found[0], &found[2]] {
        assert!(text.contains("rank 1 failed") && text.contains("no room for 5 GiB"), "{text}");
    }
}

/// Another step, or another number where all must have one: an error, not a mixture of numbers.
#[test]
fn ranks_that_go_different_ways_end() {
    let by_name = on_ranks(2, |rank| {
        let what = if rank.is_first() { "a" } else { "b" };
        rank.add_up(what, 0, &mut [1.0]).unwrap_err()
    });
    let by_check = on_ranks(2, |rank| rank.add_up("a", rank.rank() as u64, &mut [1.0]).unwrap_err());
    let apart = |error: &DeviceError| matches!(error, DeviceError::RanksApart { rank: 1, .. });
    assert!(by_name.iter().chain(&by_check).all(apart), "{by_name:?} {by_check:?}");
    let gone = on_ranks(2, |rank| if rank.is_first() { rank.finish().err() } else { None });
    assert!(matches!(gone[0], Some(DeviceError::RankGone { rank: 1 })), "{gone:?}");
}
