//! Two-body elements in H2 files. `jisp16_Nmax02_h2v15099.dat` and `.bin` are of the shell repository (MIT), made by its codes in
//! single precision; headers and lines of the other versions are those of its format descriptions (`doc/h2`).

use super::transform::{data, read};
use eigenforge::su3::{ByChannel, Direction, H2Version, OscillatorSpace, Plan, Relative, TensorFormat, TensorKind};
use std::path::Path;

/// Names of a file of lines and one of records.
const NAMES: [&str; 2] = ["h2.dat", "h2.bin"];

fn plan(n_max: u32) -> Plan {
    Plan::new(OscillatorSpace { n_max })
}

fn jisp16(plan: &Plan) -> ByChannel {
    Relative::read(&data("jisp16_Nmax20_hw20.0_rel.dat")).unwrap().elements(plan).unwrap()
}

fn written(plan: &Plan, version: H2Version, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let format = TensorFormat::H2(version);
    format.write(&mut bytes, Path::new(name), plan, TensorKind::Elements, &jisp16(plan)).unwrap();
    bytes
}

fn fault(path: &Path, bytes: &[u8], n_max: u32) -> String {
    std::fs::write(path, bytes).unwrap();
    read(path, &plan(n_max), Direction::Forward).unwrap_err().to_string()
}

/// The same interaction as the shell project's codes bring it to two-body elements, in single precision.
#[test]
fn jisp16_from_an_h2_file() {
    let plan = plan(0);
    let found = read(&data("jisp16_Nmax02_h2v15099.dat"), &plan, Direction::Forward).unwrap();
    let made = jisp16(&plan);
    assert!(found.left_out > 0, "its orbits of two quanta are beyond N_max = 0");
    for ((channel, u), (other, v)) in found.vectors.iter().zip(&made.vectors) {
        assert_eq!(channel, other);
        let largest = v.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
        let worst = u.iter().zip(v).map(|(u, v)| (u - v).abs()).fold(0.0, f64::max);
        assert!(largest > 5.0 && worst < 3e-6, "{}: {worst:e} of {largest}", channel.word());
    }
    let records = read(&data("jisp16_Nmax02_h2v15099.bin"), &plan, Direction::Forward).unwrap();
    assert_eq!(records.left_out, found.left_out);
    for ((_, u), (_, v)) in records.vectors.iter().zip(&found.vectors) {
        let worst = u.iter().zip(v).map(|(u, v)| (u - v).abs()).fold(0.0, f64::max);
        assert!(worst < 3e-6, "text and records: {worst:e}");
    }
}

/// The lines of the shell project's file, in its order, are among those written for more shells.
#[test]
fn elements_are_written_in_the_order_of_the_format() {
    let text = String::from_utf8(written(&plan(2), H2Version::V15099, "h2.dat")).unwrap();
    let reference = std::fs::read_to_string(data("jisp16_Nmax02_h2v15099.dat")).unwrap();
    let shells = [0, 0, 1, 1, 2, 2, 2];
    let elements = |text: &str| -> Vec<(Vec<usize>, f64)> {
        let lines =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|words| words.len() == 8);
        let parsed = lines.map(|words| {
            let labels: Vec<usize> = words[..7].iter().map(|word| word.parse().unwrap()).collect();
            (labels, words[7].parse().unwrap())
        });
        let inside = |labels: &[usize]| {
            labels[..4].iter().all(|orbital| *orbital <= 6)
                && shells[labels[0]] + shells[labels[1]] <= 2
                && shells[labels[2]] + shells[labels[3]] <= 2
        };
        parsed.filter(|(labels, _)| inside(labels)).collect()
    };
    let (found, expected) = (elements(&text), elements(&reference));
    assert_eq!(expected.len(), 174);
    assert_eq!(found.len(), 174);
    for ((labels, value), (other, stated)) in found.iter().zip(&expected) {
        assert_eq!(labels, other);
        assert!((value - stated).abs() < 3e-6, "{labels:?}: {value} {stated}");
    }
    // The orbitals' lines are the same, word for word.
    let orbitals = |text: &str| text.lines().skip(2).take(6).map(str::to_string).collect::<Vec<_>>();
    let plain = |lines: Vec<String>| -> Vec<Vec<String>> {
        lines.iter().map(|line| line.split_whitespace().map(str::to_string).collect()).collect()
    };
    assert_eq!(plain(orbitals(&text)), plain(orbitals(&reference)));
}

/// Version 0 drops 2J', version 15200 has pn second and neutrons numbered on: the same elements as 15099.
#[test]
fn the_versions_tell_the_same() {
    let plan = plan(1);
    let lines = |version| -> Vec<Vec<String>> {
        let text = String::from_utf8(written(&plan, version, "h2.dat")).unwrap();
        text.lines().map(|line| line.split_whitespace().map(str::to_string).collect()).collect()
    };
    let [v0, v15099, v15200] = H2Version::ALL.map(lines);
    // shells up to 2: six orbitals; pairs up to 3 quanta
    assert_eq!(
        v0[..4],
        [vec!["0"], vec!["2"], vec!["2"], vec!["3"]].map(|line| line.iter().map(|x| x.to_string()).collect::<Vec<_>>())
    );
    assert_eq!((v15099[0][0].as_str(), v15200[0][0].as_str()), ("15099", "15200"));
    assert_eq!(v15200[8], ["7", "0", "0", "1", "-1", "0.00000000"]);
    let head = |lines: &[Vec<String>], words: usize| {
        lines.iter().position(|line| line.len() == words && line[words - 1].contains('e')).unwrap()
    };
    let (v0, rest0) = (&v0[5..], &v0[4]);
    let v15200 = &v15200[17..];
    let v15099 = &v15099[head(&v15099, 8)..];
    assert_eq!((v0.len(), v15200.len()), (v15099.len(), v15099.len()));
    assert_eq!(rest0.iter().map(|x| x.parse::<usize>().unwrap()).collect::<Vec<_>>().len(), 2);
    let numbered: Vec<Vec<String>> = {
        let sector = |code: &str| v15099.iter().filter(|line| line[6] == code).cloned().collect::<Vec<_>>();
        let mut all = Vec::new();
        for (code, shift) in [("11", [0, 0]), ("12", [0, 6]), ("22", [6, 6])] {
            for line in sector(code) {
                let orbital = |at: usize| (line[at].parse::<usize>().unwrap() + shift[at % 2]).to_string();
                let mut words: Vec<String> = (0..4).map(orbital).collect();
                words.extend([line[4].clone(), line[5].clone(), line[7].clone()]);
                all.push(words);
            }
        }
        all
    };
    assert_eq!(v15200, numbered);
    for (zero, line) in v0.iter().zip(v15099) {
        let mut without = line.clone();
        without.remove(5);
        assert_eq!(zero, &without);
    }
}

#[test]
fn every_version_comes_back() {
    let plan = plan(2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h2");
    let expected = jisp16(&plan);
    for (version, name) in H2Version::ALL.into_iter().flat_map(|version| NAMES.map(|name| (version, name))) {
        std::fs::write(&path, written(&plan, version, name)).unwrap();
        let found = read(&path, &plan, Direction::Forward).unwrap();
        assert_eq!(found.left_out, 0);
        for ((channel, u), (other, v)) in found.vectors.iter().zip(&expected.vectors) {
            assert_eq!(channel, other);
            let worst = u.iter().zip(v).map(|(u, v)| (u - v).abs()).fold(0.0, f64::max);
            assert!(worst < 2e-6, "{version:?} {name} {}: {worst:e}", channel.word());
        }
    }
}

/// `identity_n1_h2v15200.dat` and `.bin` hold the identity as the shell project writes version 15200 since 06/03/19: a stream follows the
/// record of the version. Both are read alike, and what is written of the elements has the same bytes.
#[test]
fn version_15200_is_a_stream() {
    let plan = plan(0);
    let [text, stream] = ["identity_n1_h2v15200.dat", "identity_n1_h2v15200.bin"].map(data);
    let [from_text, from_stream] = [&text, &stream].map(|path| read(path, &plan, Direction::Forward).unwrap());
    assert_eq!(from_text.left_out, 0);
    for ((channel, u), (other, v)) in from_text.vectors.iter().zip(&from_stream.vectors) {
        assert_eq!((channel, u), (other, v));
        assert!(u.iter().filter(|u| **u != 0.0).count() > 5);
    }
    let write = |name: &str| {
        let mut bytes = Vec::new();
        let format = TensorFormat::H2(H2Version::V15200);
        format.write(&mut bytes, Path::new(name), &plan, TensorKind::Elements, &from_stream).unwrap();
        bytes
    };
    let found = write("h2.bin");
    assert_eq!(found, std::fs::read(&stream).unwrap());
    let words = |bytes: &[u8]| -> Vec<Vec<f64>> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        text.lines().map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect()
    };
    assert_eq!(words(&write("h2.dat")), words(&std::fs::read(&text).unwrap()));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h2.bin");
    let word = |at: usize, number: i32| {
        let mut bytes = found.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        bytes
    };
    // byte offsets: orbitals 12, n 20, l 44, 2j 68, 2tz 92, weights 116, J0 140, weights of two 152, sizes 164, pp 188
    for (bytes, said) in [
        (word(92, 0), "expected 2tz = 1 or -1 of orbital 1, found 0"),
        (word(92, -1), "expected [3, 3] orbitals of protons and neutrons, found [2, 4]"),
        (word(144, 1), "expected a scalar"),
        (word(168, 1), "its line of sizes says [4294967311, 44, 15]"),
        (word(12, 4), "of orbital 4, found 0"),
        (found[..180].to_vec(), "it is cut off"),
        (found[..480].to_vec(), "the elements of nn: they should end at byte 484, but the file ends at 480"),
        ([&found[..], &[0; 4]].concat(), "expected the end after the last sector"),
        (
            [&found[..12], &8i32.to_le_bytes(), &found[12..20], &8i32.to_le_bytes(), &found[20..]].concat(),
            "version 15200 in Fortran records",
        ),
    ] {
        let error = fault(&path, &bytes, 0);
        assert!(error.contains(said), "{said}: {error}");
    }
}

/// A list of orbitals may alternate between protons and neutrons.
#[test]
fn orbitals_of_version_15200_in_any_order() {
    let plan = plan(0);
    let text = std::fs::read_to_string(data("identity_n1_h2v15200.dat")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // Orbital k of the file, from 1, becomes number place[k - 1].
    let place = [1, 3, 5, 2, 4, 6];
    let renumbered = |line: &str, labels: usize| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let new = |word: &&str| place[word.parse::<usize>().unwrap() - 1].to_string();
        let words: Vec<String> =
            words[..labels].iter().map(new).chain(words[labels..].iter().map(|word| word.to_string())).collect();
        words.join(" ")
    };
    let mut orbitals: Vec<String> = lines[2..8].iter().map(|line| renumbered(line, 1)).collect();
    orbitals.sort();
    let mut all = vec![lines[0].to_string(), lines[1].to_string()];
    all.extend(orbitals);
    all.extend(lines[8..11].iter().map(|line| line.to_string()));
    all.extend(lines[11..].iter().map(|line| renumbered(line, 4)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h2.dat");
    std::fs::write(&path, all.join("\n") + "\n").unwrap();
    let [expected, found] =
        [&data("identity_n1_h2v15200.dat"), &path].map(|path| read(path, &plan, Direction::Forward).unwrap().vectors);
    assert_eq!(found, expected);
}

/// Elements that are no Hermitian force between nucleons do not fit, and are named.
#[test]
fn half_of_what_is_not_symmetric_is_refused() {
    let plan = plan(0);
    let mut elements = jisp16(&plan);
    let largest = elements.vectors[1].1.iter().position(|u| u.abs() > 1.0).unwrap();
    let write = |elements: &ByChannel| {
        TensorFormat::H2(H2Version::V0).write(
            &mut Vec::new(),
            Path::new("h2.dat"),
            &plan,
            TensorKind::Elements,
            elements,
        )
    };
    write(&elements).unwrap();
    for at in 0..plan.length {
        if at != largest && (elements.vectors[1].1[at].abs() - elements.vectors[1].1[largest].abs()).abs() < 1e-9 {
            elements.vectors[1].1[at] += 0.1;
            assert!(write(&elements).unwrap_err().to_string().contains("by symmetry"));
            break;
        }
    }
    elements.vectors.remove(2);
    assert!(write(&elements).unwrap_err().to_string().contains("found only pn, pp"));
}

#[test]
fn faults_of_records_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h2.bin");
    let good = std::fs::read(data("jisp16_Nmax02_h2v15099.bin")).unwrap();
    let word = |at: usize, number: i32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        bytes
    };
    // byte offsets of the records: version 0, orbitals 12, n 28, l 60, 2j 92, …, J0 284, …, 2Jmax 340, sizes 360, pp 380
    for (bytes, n_max, said) in [
        (word(4, 15098), 0, "expected H2 version 0, 15099 or 15200, found 15098"),
        (word(8, 8), 0, "the record began with length 4 and ends with 8"),
        (word(12, 12), 0, "the numbers of orbitals: expected a record of 2 numbers, found 12 bytes"),
        (word(96, 7), 0, "n l 2j = 0 0 7 is not an orbital"),
        (word(288, 1), 0, "expected a scalar"),
        (word(344, 8), 0, "as the orbitals need, found [8, 6, 6]"),
        (word(368, 33), 0, "its line of sizes says [32, 33, 110]"),
        (word(384 + 8, f32::NAN.to_bits() as i32), 0, "number 2 of channel pp is not finite"),
        (good[..good.len() - 40].to_vec(), 0, "it is cut off"),
        (good[..380].to_vec(), 0, "the elements of pp: expected a record, found the end of the file"),
        ([&good[..], &[0; 4]].concat(), 0, "expected the end after the last sector"),
        (good.clone(), 2, "its largest na + nb is 2, but N_max = 2 needs 4"),
    ] {
        let error = fault(&path, &bytes, n_max);
        assert!(error.contains(said), "{said} is not in {error}");
    }
}

#[test]
fn faults_of_an_h2_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h2.dat");
    let good = std::fs::read_to_string(data("jisp16_Nmax02_h2v15099.dat")).unwrap();
    let cut = good.trim_end().rsplit_once('\n').unwrap().0.to_string() + "\n";
    for (file, n_max, said) in [
        (good.replacen("15099", "15201", 1), 0, "line 1: expected H2 version 0, 15099 or 15200, found 15201"),
        (good.replacen("0 0 0\n", "0 0 1\n", 1), 0, "expected a scalar"),
        (good.replacen("-9.5364666e+00", "nan", 1), 0, "line 20: expected `i1 i2 i3 i4 2J 2J' type value`"),
        (
            good.replacen("   1   1   0   0 11", "   1   1   1   1 11", 1),
            0,
            "line 20: expected 2J = 2J', even; found 1 1",
        ),
        (good.replacen("   1   1   0   0 11", "   1   9   0   0 11", 1), 0, "expected orbitals from 1 to 6, found 9"),
        (good.replacen("   1   1   0   0 11", "   1   1   0   0 13", 1), 0, "expected type 11, 22 or 12, found 13"),
        (good.replacen("32 32 110", "32 31 110", 1), 0, "its line of sizes says [32, 31, 110]"),
        (good.replacen("6 6 6\n", "6 8 6\n", 1), 0, "as the orbitals need, found [6, 8, 6]"),
        (good.clone() + "1 1 1 1 0 0 11 1.0\n", 0, "expected the end after 174 elements"),
        (cut, 0, "found the end of the file"),
        (good.trim_end().to_string(), 0, "does not end with a line feed"),
        (good.replacen(" 22 ", " 11 ", 1), 0, "found [33, 31, 110]"),
        (
            good.replacen("   1   1   4   0   0 11", "   1   1   1   0   0 11", 1),
            0,
            "appears twice with different values",
        ),
        (good.replacen("   2   0   1   1   1 ", "   2   0   1   5   1 ", 1), 0, "is not an orbital"),
        (good.clone(), 2, "its largest na + nb is 2, but N_max = 2 needs 4"),
    ] {
        let error = fault(&path, file.as_bytes(), n_max);
        assert!(error.contains(said), "{said} is not in {error}");
    }
    // An element twice with one value leaves another one out.
    let lines: Vec<&str> = good.lines().collect();
    let mut twice = lines.clone();
    twice[21] = twice[19];
    let error = fault(&path, (twice.join("\n") + "\n").as_bytes(), 0);
    assert!(error.contains("rows of channel pp are missing"), "{error}");
}
