//! ORBSYM in several numberings: PySCF's and Molpro's of the same molecule (both files by PySCF 2.14), PNTGRP, and what only the
//! integrals tell.

use super::random::Random;
use eigenforge::ci::{AbelianGroup, Integrals, IrrepLabel, OrbitalSymmetry, Orbsym, SymmetryKeys};
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/ci").join(name)
}

fn keys(orbsym: Orbsym, point_group: Option<AbelianGroup>) -> SymmetryKeys {
    SymmetryKeys { orbsym, point_group }
}

/// A text with other numbers or keys in its namelist.
fn read(head: &str, name: &str, keys: SymmetryKeys) -> Result<(Integrals, OrbitalSymmetry), String> {
    let text = std::fs::read_to_string(file(name)).unwrap();
    let body = text.split_once("&END\n").unwrap().1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("FCIDUMP");
    std::fs::write(&path, format!("{head}&END\n{body}")).unwrap();
    Integrals::read_with(&path, keys).map_err(|error| error.to_string())
}

fn number(symmetry: &OrbitalSymmetry, name: &str) -> Result<u8, String> {
    symmetry.number(&IrrepLabel::Name(name.into())).map_err(|error| error.to_string())
}

#[test]
fn a_zero_is_pyscfs_and_a_group_makes_it_molpros() {
    let name = "H2O_sto3g_pyscf.FCIDUMP";
    let (integrals, symmetry) = Integrals::read_with(file(name), SymmetryKeys::default()).unwrap();
    assert!(integrals.obey_irreps() || integrals.largest_forbidden(&symmetry.irreps) < 1e-10);
    assert_eq!(symmetry.note(), None);
    assert!(symmetry.describe().unwrap().contains("PySCF"));
    // Four irreps may be those of three groups: only the first has the same number in all.
    assert_eq!(symmetry.number(&IrrepLabel::Number(1)).unwrap(), 1);
    let error = symmetry.number(&IrrepLabel::Number(2)).unwrap_err().to_string();
    assert!(error.contains("point_group") && error.contains("molpro_orbsym=True"), "{error}");
    assert!(number(&symmetry, "B1").unwrap_err().contains("point_group"));

    let group = Some(AbelianGroup::C2v);
    let (_, known) = Integrals::read_with(file(name), keys(Orbsym::Auto, group)).unwrap();
    let (_, molpro) = read("&FCI NORB=7,NELEC=10,ORBSYM=1,1,3,1,2,1,3\n", name, keys(Orbsym::Molpro, group)).unwrap();
    assert_eq!(known.irreps, [1, 1, 3, 1, 2, 1, 3]);
    assert_eq!(known.irreps, molpro.irreps);
    assert_eq!((number(&known, "b1"), known.label(2).as_str()), (Ok(2), "2 (B1 of C2v)"));
    assert!(number(&known, "B1u").unwrap_err().contains("A1, B1, B2, A2"));
    let error = known.number(&IrrepLabel::Number(5)).unwrap_err().to_string();
    assert!(error.contains("C2v has no irrep 5"), "{error}");
    let refused = Integrals::read_with(file(name), keys(Orbsym::Molpro, None)).unwrap_err().to_string();
    assert!(refused.contains("irrep 0") && refused.contains("orbsym = \"pyscf\""), "{refused}");
    let refused =
        Integrals::read_with(file(name), keys(Orbsym::Pyscf, Some(AbelianGroup::Cs))).unwrap_err().to_string();
    assert!(refused.contains("irrep 3") && refused.contains("0 to 1 in Cs"), "{refused}");
}

/// B2u, B3u, B2g and B3g of N2 have the numbers 6, 7, 2, 3 in PySCF and 3, 2, 6, 7 in Molpro: both are possible in both.
#[test]
fn pi_orbitals_are_undecided_and_the_key_decides() {
    let name = "N2_sto3g_pi_pyscf.FCIDUMP";
    let (_, symmetry) = Integrals::read_with(file(name), SymmetryKeys::default()).unwrap();
    assert_eq!(symmetry.irreps, [6, 7, 2, 3]);
    assert!(symmetry.note().unwrap().contains("ORBSYM = 6,7,2,3 is read in Molpro's numbering"));
    assert!(number(&symmetry, "B1u").unwrap_err().contains("point_group"));
    let (_, pyscf) = Integrals::read_with(file(name), keys(Orbsym::Pyscf, None)).unwrap();
    assert_eq!(
        (pyscf.irreps.as_slice(), pyscf.group, pyscf.note()),
        (&[3u8, 2, 6, 7][..], Some(AbelianGroup::D2h), None)
    );
    assert_eq!(number(&pyscf, "B1U"), Ok(5));
    for key in [Orbsym::Molpro, Orbsym::Psi4] {
        let (_, molpro) = Integrals::read_with(file(name), keys(key, None)).unwrap();
        assert_eq!((molpro.irreps.as_slice(), molpro.note()), (&[6u8, 7, 2, 3][..], None));
    }
    // Older versions of PySCF write the irreps of a linear molecule: E2gx and E2gy are 10 and 11.
    let (_, linear) = read("&FCI NORB=4,NELEC=4,ORBSYM=10,11,5,7\n", name, SymmetryKeys::default()).unwrap();
    assert_eq!(linear.irreps, [1, 4, 5, 2]);
}

#[test]
fn the_group_of_a_file_is_read() {
    let name = "N2_sto3g_pi_pyscf.FCIDUMP";
    let head = |group: &str| format!("&FCI\nNORB=4,\nNELEC=4,\nORBSYM=3,2,6,7,\nISYM=1,\nPNTGRP={group},\n");
    for group in ["D2H", "d2h", "'D2h'", "Dooh"] {
        let (_, symmetry) = read(&head(group), name, SymmetryKeys::default()).unwrap();
        assert_eq!((symmetry.irreps.as_slice(), symmetry.note()), (&[3u8, 2, 6, 7][..], None));
        assert_eq!(number(&symmetry, "B3u"), Ok(2));
    }
    let error = read(&head("D3H"), name, SymmetryKeys::default()).unwrap_err();
    assert!(error.contains("line 6: PNTGRP should be C1, Ci"), "{error}");
    let error = read(&head("D2H"), name, keys(Orbsym::Auto, Some(AbelianGroup::C2v))).unwrap_err();
    assert!(error.contains("point_group = \"C2v\", but PNTGRP of the integrals is D2h"), "{error}");
    let error = read(&head("C2V"), name, SymmetryKeys::default()).unwrap_err();
    assert!(error.contains("ORBSYM = 3,2,6,7 is neither"), "{error}");
    // All 1: no symmetry, in PySCF too.
    let (_, none) = read("&FCI NORB=4,NELEC=4,ORBSYM=1,1,1,1\n", name, keys(Orbsym::Pyscf, None)).unwrap();
    assert_eq!(none.irreps, [1; 4]);
    let (_, none) = read("&FCI NORB=4,NELEC=4,ORBSYM=4*1\n", name, SymmetryKeys::default()).unwrap();
    assert_eq!((none.irreps.as_slice(), none.note()), (&[1u8; 4][..], None));
}

/// B1g, B2g, Au, B3u multiply to Ag in PySCF's numbering (1 ^ 2 ^ 4 ^ 7 = 0), but these numbers do not in Molpro's; Ag, B3u, B2u, B1g do in
/// Molpro's (0 ^ 1 ^ 2 ^ 3 = 0), but these numbers do not in PySCF's.
#[test]
fn integrals_decide_where_only_one_numbering_allows_them() {
    for (pyscf, numbers, expected) in
        [(true, [1, 2, 4, 7, 1, 2], vec![4, 6, 8, 2, 4, 6]), (false, [1, 2, 3, 4, 1, 2], vec![1, 2, 3, 4, 1, 2])]
    {
        let mut integrals = Random(3).integrals(6, 2, 2);
        integrals.irreps = numbers.iter().map(|number| number + u8::from(pyscf)).collect();
        keep_irreps(&mut integrals);
        assert!(integrals.obey_irreps());
        // The noise of a program that does not impose the symmetry.
        integrals.one.iter_mut().filter(|value| **value == 0.0).for_each(|value| *value = 1e-9);
        let mut text = Vec::new();
        integrals.write_to(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let line = text.lines().find(|line| line.contains("ORBSYM")).unwrap();
        let listed: Vec<String> = numbers.iter().map(u8::to_string).collect();
        let text = text.replace(line, &format!(" ORBSYM={},", listed.join(",")));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("FCIDUMP");
        std::fs::write(&path, text).unwrap();
        let (_, symmetry) = Integrals::read_with(&path, SymmetryKeys::default()).unwrap();
        assert_eq!((symmetry.irreps.clone(), symmetry.note()), (expected, None));
        assert_eq!(symmetry.describe().is_some_and(|words| words.contains("by the integrals")), pyscf);
    }
}

/// Sets what the orbitals' irreps forbid to 0.
fn keep_irreps(integrals: &mut Integrals) {
    use eigenforge::ci::pair;
    let irreps: Vec<u8> = integrals.irreps.iter().map(|irrep| irrep - 1).collect();
    let n = integrals.orbitals;
    for p in 0..n {
        for q in 0..=p {
            if irreps[p] != irreps[q] {
                integrals.one[pair(p, q)] = 0.0;
            }
            for r in 0..n {
                for s in 0..=r {
                    if irreps[p] ^ irreps[q] ^ irreps[r] ^ irreps[s] != 0 {
                        integrals.two[pair(pair(p, q), pair(r, s))] = 0.0;
                    }
                }
            }
        }
    }
}
