#!/usr/bin/env python3
"""Writes peroxide_14_in_21.FCIDUMP with PySCF: hydrogen peroxide in 6-31G(d), both 1s shells frozen, 14 electrons in the next 21 orbitals of
restricted Hartree–Fock, without symmetry. Full CI of it has 116,280² = 13,521,038,400 determinants.

    python3 benches/ci/peroxide.py        # needs pyscf (2.x)
"""

import math
import os

from pyscf import ao2mo, gto, mcscf, scf
from pyscf.tools import fcidump

FROZEN, ELECTRONS, ORBITALS = 2, 14, 21
# Bond lengths in ångström, angles in degrees: near the experiment's (Koput 1986).
O_O, O_H, BEND, TORSION = 1.464, 0.964, math.radians(99.9), math.radians(111.8)


def geometry():
    across, along = O_H * math.sin(BEND), O_H * math.cos(BEND)
    half = O_O / 2
    turned = across * math.cos(TORSION), across * math.sin(TORSION)
    return [
        ("O", (0.0, 0.0, -half)),
        ("O", (0.0, 0.0, half)),
        ("H", (across, 0.0, -half + along)),
        ("H", (turned[0], turned[1], half - along)),
    ]


def main():
    molecule = gto.M(atom=geometry(), basis="6-31g*", symmetry=False, verbose=0)
    field = scf.RHF(molecule).run(conv_tol=1e-12)
    assert field.converged
    space = mcscf.CASCI(field, ORBITALS, ELECTRONS)
    assert space.ncore == FROZEN
    one, core = space.get_h1eff()
    two = ao2mo.restore(8, space.get_h2eff(), ORBITALS)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peroxide_14_in_21.FCIDUMP")
    fcidump.from_integrals(path, one, two, ORBITALS, ELECTRONS, nuc=core, ms=0, tol=1e-14, float_format=" %.16g")
    print(f"RHF {field.e_tot:.9f}, wrote {path}")


main()
