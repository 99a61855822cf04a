#!/usr/bin/env python3
"""Writes the integrals of N2 and Cr2 that DMRG is measured on, with PySCF: orbitals of restricted Hartree–Fock with their irreps of D2h.

    N2_ccpvdz_10e_26o.FCIDUMP   cc-pVDZ, 1.0977 ångström, 1s shells frozen: 10 electrons in 26 orbitals
    Cr2_vdz_24e_30o.FCIDUMP     Ahlrichs VDZ [5s2p2d], 1.5 ångström, the lowest 12 orbitals frozen: 24 electrons in 30 orbitals

    python3 benches/ci/dimers.py          # needs pyscf (2.x) and basis_set_exchange
"""

import os

import basis_set_exchange
from pyscf import gto, mcscf, scf, symm
from pyscf.tools import fcidump


def write(name, molecule, frozen, smallest):
    field = scf.RHF(molecule)
    field.conv_tol = 1e-11
    field.kernel()
    orbitals = field.mo_coeff.shape[1] - frozen
    electrons = molecule.nelectron - 2 * frozen
    space = mcscf.CASCI(field, orbitals, electrons)
    one, core = space.get_h1eff()
    irreps = symm.label_orb_symm(molecule, molecule.irrep_id, molecule.symm_orb, field.mo_coeff)[frozen:]
    irreps = [fcidump.ORBSYM_MAP["D2h"][irrep] for irrep in irreps]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    fcidump.from_integrals(path, one, space.get_h2eff(), orbitals, electrons, nuc=core, ms=0, orbsym=irreps, tol=smallest)
    print(f"{name}: {electrons} electrons in {orbitals} orbitals, Hartree-Fock {field.e_tot:.9f}")


chromium = gto.basis.parse(basis_set_exchange.get_basis("Ahlrichs VDZ", elements=["Cr"], fmt="nwchem", header=False))
nitrogen = gto.M(atom="N 0 0 0; N 0 0 1.0977", basis="cc-pvdz", symmetry="D2h", verbose=0)
write("N2_ccpvdz_10e_26o.FCIDUMP", nitrogen, 2, 1e-14)
dimer = gto.M(atom="Cr 0 0 -0.75; Cr 0 0 0.75", basis={"Cr": chromium}, symmetry="D2h", verbose=0)
write("Cr2_vdz_24e_30o.FCIDUMP", dimer, 12, 1e-12)
