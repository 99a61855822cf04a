//! FCIDUMP files: what is read, what is written, and what is refused with which words.

use super::random::Random;
use eigenforge::ci::{FcidumpError, FcidumpHeader, Integrals, pair};

fn read(text: &str) -> Result<Integrals, FcidumpError> {
    Integrals::read_from(text.as_bytes())
}

const HEAD: &str = "&FCI NORB=2,NELEC=2,MS2=0,\n ORBSYM=1,1,\n ISYM=1,\n&END\n";

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let message = read(text).expect_err(text).to_string();
    for word in words {
        assert!(message.contains(word), "`{message}` says nothing of `{word}`");
    }
}

#[test]
fn what_is_written_is_read_back_exactly() {
    let mut random = Random(1);
    for (orbitals, up, down) in [(1, 1, 1), (3, 2, 1), (6, 3, 4), (9, 5, 5)] {
        let mut integrals = random.integrals_with_irreps(orbitals, up, down);
        integrals.one[0] = 1.5e-103;
        let mut text = Vec::new();
        integrals.write_to(&mut text).unwrap();
        assert_eq!(Integrals::read_from(text.as_slice()).unwrap(), integrals);
        let unrestricted = random.unrestricted_with_irreps(orbitals, up, down);
        let mut text = Vec::new();
        unrestricted.write_to(&mut text).unwrap();
        assert_eq!(Integrals::read_from(text.as_slice()).unwrap(), unrestricted);
        integrals.irreps.clear();
        let file = tempfile::NamedTempFile::new().unwrap();
        integrals.write(file.path()).unwrap();
        assert_eq!(Integrals::read(file.path()).unwrap(), integrals);
    }
}

#[test]
fn namelists_in_every_dress() {
    let body = " 0.5D0 1 1 1 1\n-1.25 2 1 0 0\n 7.0e-1 0 0 0 0\n";
    for head in [
        "&FCI NORB=2,NELEC=3,MS2=1,ORBSYM=2*1,ISYM=1 /\n",
        "&fci norb= 2, nelec= 3, ms2=1\n orbsym=1\n 1\n isym=1,\n&end\n",
        " $FCI\r\n ISYM=1 MS2 = 1\r\n NELEC =3 ORBSYM=1,1\r\n NORB=2 ! two orbitals\r\n $END\r\n",
        "\n &FCI NELEC=3,ORBSYM=1,1,NORB=2,MS2=1,IUHF=0,UHF=.FALSE.,\n/\n",
        "&FCI NORB=2,NELEC=3,MS2=1,ORBSYM(1)=1,ORBSYM(2)=1,ISYM=1&END\n",
    ] {
        let integrals = read(&format!("{head}{body}")).unwrap_or_else(|error| panic!("{head}: {error}"));
        assert_eq!((integrals.orbitals, integrals.electrons, integrals.two_sz), (2, 3, 1), "{head}");
        assert_eq!(integrals.irreps, [1, 1], "{head}");
        assert_eq!((integrals.two(0, 0, 0, 0), integrals.one(0, 1), integrals.core), (0.5, -1.25, 0.7), "{head}");
    }
    let plain = read("&FCI NORB=1,NELEC=0\n&END\n1.0 0 0 0 0\n").unwrap();
    assert_eq!((plain.two_sz, plain.irreps, plain.core), (0, vec![], 1.0));
    let negative = read("&FCI NORB=2,NELEC=2,MS2=-2\n&END\n1.0 0 0 0 0\n").unwrap();
    assert_eq!(negative.spins(), (0, 2));
}

#[test]
fn symmetric_copies_may_come_if_they_agree() {
    let copies = ["2 1 2 2", "1 2 2 2", "2 2 2 1", "2 2 1 2"];
    let text: String = copies.iter().map(|indices| format!("0.25 {indices}\n")).collect();
    let integrals = read(&format!("{HEAD}{text}0.1 2 1 0 0\n0.1 1 2 0 0\n-0.5 1 0 0 0\n0 0 0 0 0\n")).unwrap();
    assert_eq!(integrals.two(1, 0, 1, 1), 0.25);
    assert_eq!(integrals.two.iter().filter(|value| **value != 0.0).count(), 1);
    assert_eq!(integrals.one[pair(1, 0)], 0.1);
    read(&format!("{HEAD}0.25 2 1 2 2\n0.25000000005 2 2 1 2\n0 0 0 0 0\n")).unwrap();
    read(&format!("{HEAD}1e6 2 1 2 2\n1000000.00005 2 2 1 2\n0 0 0 0 0\n")).unwrap();
    refused(&format!("{HEAD}0.25 2 1 2 2\n0.2500000005 2 2 1 2\n"), &["lines 5 and 6", "(2 2|1 2)", "2.5e-1"]);
    refused(&format!("{HEAD}0.25 2 1 0 0\n\n0.5 1 2 0 0\n"), &["lines 5 and 7", "h(1, 2)"]);
    refused(&format!("{HEAD}0 0 0 0 0\n0.5 0 0 0 0\n"), &["lines 5 and 6", "core energy"]);
}

/// The blocks of αα, ββ, αβ, h_α, h_β, the end of each and the core energy; one of them left out, or two exchanged.
#[test]
fn blocks_of_unrestricted_files() {
    let blocks =
        ["0.7 1 1 1 1", "0.6 1 1 1 1", "0.5 2 2 1 1\n0.4 1 1 2 2", "-1.2 1 1 0 0", "-1.1 2 1 0 0\n0.3 1 0 0 0"];
    let file = |order: &[usize], core: &str| -> String {
        let body: String = order.iter().map(|block| format!("{}\n0.0 0 0 0 0\n", blocks[*block])).collect();
        format!("&FCI NORB=2,NELEC=2,MS2=0,IUHF=1\n&END\n{body}{core}")
    };
    let integrals = read(&file(&[0, 1, 2, 3, 4], "0.9 0 0 0 0\n\n")).unwrap();
    let beta = integrals.beta.clone().unwrap();
    assert_eq!((integrals.two(0, 0, 0, 0), beta.two[0], integrals.core), (0.7, 0.6, 0.9));
    assert_eq!((beta.mixed[2 * 3], beta.mixed[2], beta.mixed[0]), (0.5, 0.4, 0.0), "pq of the alpha electron first");
    assert_eq!((integrals.one(0, 0), beta.one[pair(1, 0)], beta.one[0]), (-1.2, -1.1, 0.0));
    let missing =
        ["", "in block 2, (ij|kl) of two β", "is a block missing", "without a core energy", "without a core energy"];
    for (left_out, words) in missing.iter().enumerate().skip(1) {
        let order: Vec<usize> = (0..5).filter(|block| *block != left_out).collect();
        refused(&file(&order, "0.0 0 0 0 0\n"), &[words]);
    }
    refused(&file(&[0, 1, 2, 3], "0.9 0 0 0 0\n"), &["line 12", "0.9 ends block 5, h_ij of β", "is one missing"]);
    refused(&file(&[2, 0, 1, 3, 4], "0.9 0 0 0 0\n"), &["lines 3 and 4", "(1 1|2 2)"]);
    refused(&file(&[3, 4, 0, 1, 2], "0.9 0 0 0 0\n"), &["line 3", "h(1, 1) in block 1", "two α"]);
    refused(&file(&[0, 1, 3, 2, 4], "0.9 0 0 0 0\n"), &["line 7", "h(1, 1) in block 3", "an α and a β electron"]);
    refused(&file(&[0, 1, 2, 3, 4], "0.9 0 0 0 0\n0.1 1 1 0 0\n"), &["line 16", "after the core energy (line 15)"]);
    refused(&file(&[0, 1, 2, 3, 4], ""), &["without a core energy"]);
    refused(&file(&[0, 1, 2, 3, 4], "1.0 1 1 0 0\n"), &["block 6", "the core energy"]);
    // Blocks of both spins without IUHF=1.
    let blocks = "0.5 1 1 1 1\n0.0 0 0 0 0\n0.6 1 1 1 1\n0.0 0 0 0 0\n";
    refused(&format!("&FCI NORB=1,NELEC=1\n&END\n{blocks}"), &["lines 3 and 5", "(1 1|1 1)", "line 4", "IUHF=1"]);
    // A file of one set of orbitals that says IUHF=1.
    refused("&FCI NORB=1,NELEC=1,IUHF=1\n&END\n0.5 1 1 1 1\n-1.0 1 1 0 0\n0.7 0 0 0 0\n", &["line 4", "block 1"]);
}

#[test]
fn other_kinds_of_files_are_refused_by_name() {
    let with = |key: &str| format!("&FCI NORB=2,NELEC=2,MS2=0,\n {key},\n&END\n1.0 0 0 0 0\n");
    refused(&with("IUHF=2"), &["line 2", "IUHF", "0 or 1", "2"]);
    refused(&with("UHF=.TRUE."), &["line 2", "UHF", "unrestricted or spin-orbital"]);
    refused(&with("TREL=.TRUE."), &["TREL", "spin-orbital"]);
    refused(&with("GHF=T"), &["GHF", "spin-orbital"]);
    refused(&with("ICOMPLEX=2"), &["ICOMPLEX", "0 or 1"]);
    refused(&with("FOO=1"), &["line 2", "FOO", "not known", "NORB"]);
    refused(&with("NORB=3"), &["NORB", "twice"]);
    refused(&format!("{HEAD}0.5 1 1 1 1\n(0.5,0.0) 1 1 1 1\n"), &["line 6", "complex"]);
    refused(&format!("{HEAD}0.5 0.0 1 1 1 1\n"), &["line 5"]);
    refused("12 13\n", &["line 1", "&FCI", "12 13"]);
}

#[test]
fn namelists_that_say_too_little_or_nonsense() {
    let with = |head: &str| format!("&FCI {head}\n&END\n1.0 0 0 0 0\n");
    refused("", &["empty"]);
    refused("\n \n", &["empty"]);
    refused("&FCI NORB=2,NELEC=2\n 1.0 0 0 0 0\n", &["never ends", "&END"]);
    refused(&with("NELEC=2"), &["no NORB"]);
    refused(&with("NORB=2"), &["no NELEC"]);
    refused(&with("NORB=0,NELEC=0"), &["NORB = 0"]);
    refused(&with("NORB=100000,NELEC=2"), &["NORB = 100000", "256"]);
    refused(&with("NORB=-2,NELEC=2"), &["NORB", "0 or more", "-2"]);
    refused(&with("NORB=two,NELEC=2"), &["NORB", "whole number", "TWO"]);
    refused(&with("NORB=2,NELEC=5"), &["NELEC = 5", "at most 4"]);
    refused(&with("NORB=2,NELEC=2,MS2=1"), &["NELEC = 2", "MS2 = 1"]);
    refused(&with("NORB=2,NELEC=1,MS2=3"), &["NELEC = 1", "MS2 = 3"]);
    refused(&with("NORB=2,NELEC=3,MS2=3"), &["NELEC = 3", "MS2 = 3"]);
    refused(&with("NORB=2,NELEC=2,MS2=-9223372036854775808"), &["MS2"]);
    refused(&with("NORB=2,NELEC=2,ORBSYM=1"), &["line 1", "1 irreps", "NORB = 2"]);
    refused(&with("NORB=2,NELEC=2,ORBSYM=1,9"), &["ORBSYM", "1 to 8"]);
    refused(&with("NORB=2,NELEC=2,ORBSYM=0,8"), &["ORBSYM", "1 to 8", "0 to 7"]);
    refused(&with("NORB=2,NELEC=2,ORBSYM(2)=1,ORBSYM(1)=1"), &["line 1", "ORBSYM(2) leaves a gap", "ORBSYM(1)"]);
    refused(&with("NORB=2,NELEC=2,ORBSYM(1)=1,ISYM=1"), &["line 1", "1 irreps", "NORB = 2"]);
    refused(&with("NORB=2,NELEC=2,ORBSYM(1)=1,ORBSYM(1)=1"), &["line 1", "ORBSYM appears twice"]);
    refused(&with("NORB=2,NELEC=2,ORBSYM(0)=1"), &["line 1", "ORBSYM(0)"]);
    refused(&with("NORB=2,NELEC=2,ORBSYM=99999999999*1"), &["line 1"]);
    refused(&with("2,NORB=2"), &["line 1", "KEY=value"]);
    refused(&with("NORB==2"), &["line 1", "KEY=value"]);
    refused("&FCI NORB=2,NELEC=2 / 1.0\n", &["line 1"]);
    refused(&format!("&FCI NORB=2,NELEC=2,ORBSYM={}", "1,".repeat(40_000)), &["longer than"]);
}

#[test]
fn lines_that_are_not_integrals() {
    let with = |line: &str| format!("{HEAD}{line}\n1.0 0 0 0 0\n");
    refused(&with("nan 1 1 1 1"), &["line 5", "nan", "finite"]);
    refused(&with("-Inf 1 1 1 1"), &["line 5", "finite"]);
    refused(&with("0.5x 1 1 1 1"), &["line 5", "0.5x", "not a number"]);
    refused(&with("0.5 3 1 1 1"), &["line 5", "`3`", "NORB = 2"]);
    refused(&with("0.5 -1 1 1 1"), &["line 5", "-1"]);
    refused(&with("0.5 99999999999999999999999 1 1 1"), &["line 5", "not an orbital"]);
    refused(&with("0.5 1.0 1 1 1"), &["line 5", "1.0"]);
    refused(&with("0.5 1 1 1"), &["line 5", "4 fields"]);
    refused(&with("0.5 1 1 1 1 1"), &["line 5", "6 fields"]);
    refused(&with("0.5 1 1 1 0"), &["line 5", "[1, 1, 1, 0]"]);
    refused(&with("0.5 0 1 0 0"), &["line 5", "[0, 1, 0, 0]"]);
    refused(HEAD, &["line 4", "no integrals"]);
}

#[test]
fn files_that_were_cut_off() {
    // Cut after any byte, the last line feed among them, it is never taken.
    let whole = format!("{HEAD}0.5 2 2 2 2\n-1.25 2 1 0 0\n0.7 0 0 0 0\n");
    read(&whole).unwrap();
    for length in HEAD.len()..whole.len() {
        refused(&whole[..length], &["line"]);
    }
    refused(&format!("{HEAD}0.5 2 2 2 2\n-1.25 2 1 0 0\n"), &["line 6", "cut off", "core energy"]);
    assert!(matches!(Integrals::read("no/such/file"), Err(FcidumpError::Io { .. })));
    // What is wrong in a file is told with its name.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.FCIDUMP");
    std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
    let message = Integrals::read(&path).unwrap_err().to_string();
    assert!(message.contains("cut.FCIDUMP: line 7"), "{message}");
}

/// Nothing is allocated on the word of a header alone.
#[test]
fn promises_that_a_file_cannot_keep() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.FCIDUMP");
    std::fs::write(&path, "&FCI NORB=256,NELEC=2,MS2=0 &END\n1.0 0 0 0 0\n").unwrap();
    let message = Integrals::read(&path).unwrap_err().to_string();
    assert!(message.contains("NORB = 256 asks for 6493078272 bytes"), "{message}");
    assert_eq!(FcidumpHeader::read(&path).unwrap().orbitals, 256);
    // A model of two-body forces may leave the table of 128 orbitals nearly empty.
    std::fs::write(&path, "&FCI NORB=100,NELEC=2,MS2=0 &END\n-1.0 2 1 0 0\n4.0 1 1 1 1\n0 0 0 0 0\n").unwrap();
    assert_eq!(Integrals::read(&path).unwrap().one(0, 1), -1.0);
    refused(&format!("&FCI NORB=2,NELEC=2,{} /\n", "ORBSYM=1 ".repeat(3000)), &["never ends"]);
}
