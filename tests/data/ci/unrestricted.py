"""Unrestricted molecules: FCIDUMP files with IUHF=1, dipoles over the orbitals of each spin, and energies of PySCF's fci.direct_uhf.

python3 unrestricted.py, with PySCF 2.14, writes unrestricted.json and *_uhf.FCIDUMP beside itself.
"""

import json
from pathlib import Path

import numpy
from pyscf import ao2mo, fci, gto, scf

HERE = Path(__file__).parent
LEAST = 1e-15
MOLECULES = {
    # One bond of water pulled apart: spins localise, and both sets of orbitals differ.
    "OH_H_sto3g_uhf": dict(atom="O 0 0 0; H 0 0.76 0.59; H 0 -1.9 1.45", spin=0),
    "NH2_sto3g_uhf": dict(atom="N 0 0 0; H 0 0.80 0.60; H 0 -0.80 0.60", spin=1),
    "B_631g_uhf": dict(atom="B 0 0 0", spin=3, basis="6-31g"),
}


def lines_of_two(values, exchange):
    n = values.shape[0]
    pairs = [(i, j) for i in range(n) for j in range(i + 1)]
    for a, (i, j) in enumerate(pairs):
        for k, l in pairs[: a + 1] if exchange else pairs:
            if abs(values[i, j, k, l]) > LEAST:
                yield f"{float(values[i, j, k, l])!r} {i + 1} {j + 1} {k + 1} {l + 1}"


def lines_of_one(values):
    for i in range(values.shape[0]):
        for j in range(i + 1):
            if abs(values[i, j]) > LEAST:
                yield f"{float(values[i, j])!r} {i + 1} {j + 1} 0 0"


def write(name, n, electrons, spin, two, one, core):
    end = ["0.0 0 0 0 0"]
    lines = [f"&FCI NORB={n},NELEC={electrons},MS2={spin},IUHF=1,", "&END"]
    for values, exchange in zip(two, [True, True, False]):
        lines += [*lines_of_two(values, exchange), *end]
    for values in one:
        lines += [*lines_of_one(values), *end]
    lines.append(f"{core!r} 0 0 0 0")
    (HERE / f"{name}.FCIDUMP").write_text("\n".join(lines) + "\n")


def write_dipole(name, components, nuclei):
    lines = []
    for spin in range(2):
        for component, nuclear in zip(components[spin], nuclei):
            lines += [*lines_of_one(component), f"{nuclear!r} 0 0 0 0"]
    (HERE / f"{name}.dipole").write_text("\n".join(lines) + "\n")


cases = []
for name, molecule in MOLECULES.items():
    atoms = gto.M(atom=molecule["atom"], basis=molecule.get("basis", "sto-3g"), spin=molecule["spin"], verbose=0)
    field = scf.UHF(atoms)
    field.conv_tol = 1e-12
    # Mixed orbitals of both spins break the symmetry of the closed shell.
    start = field.get_init_guess(key="minao")
    if molecule["spin"] == 0:
        start[0][:, -1] *= 1.3
        start[0][:1, :1] += 0.3
    field.kernel(dm0=start)
    moved = field.mo_coeff
    if molecule["spin"] == 0:
        # HOMO and LUMO of α mixed, if the field stayed closed: orbitals of both spins must differ.
        occupied = atoms.nelec[0]
        turn = numpy.eye(moved[0].shape[1])
        turn[occupied - 1 : occupied + 1, occupied - 1 : occupied + 1] = [[0.8, -0.6], [0.6, 0.8]]
        moved = (moved[0] @ turn, moved[1])
    n, h = moved[0].shape[1], field.get_hcore()
    one = [c.T @ h @ c for c in moved]
    pair = lambda c, d: ao2mo.restore(1, ao2mo.general(atoms, (c, c, d, d), compact=False), n) if c is d else \
        ao2mo.general(atoms, (c, c, d, d), compact=False).reshape(n, n, n, n)
    two = [pair(moved[0], moved[0]), pair(moved[1], moved[1]), pair(moved[0], moved[1])]
    core = float(atoms.energy_nuc())
    write(name, n, atoms.nelectron, molecule["spin"], two, one, core)
    solver = fci.direct_uhf.FCISolver()
    solver.conv_tol, solver.nroots, solver.max_cycle, solver.max_space = 1e-13, 3, 400, 40
    energies, states = solver.kernel(tuple(one), (two[0], two[2], two[1]), n, atoms.nelec, ecore=core)
    alpha, beta = solver.make_rdm1s(states[0], n, atoms.nelec)
    with atoms.with_common_orig((0, 0, 0)):
        ao = -atoms.intor("int1e_r")
    components = [[c.T @ x @ c for x in ao] for c in moved]
    nuclei = [float(x) for x in atoms.atom_charges() @ atoms.atom_coords()]
    write_dipole(name, components, nuclei)
    dipole = [
        nuclei[k] + float(numpy.sum(components[0][k] * alpha) + numpy.sum(components[1][k] * beta)) for k in range(3)
    ]
    case = dict(id=name, orbitals=n, alpha=int(atoms.nelec[0]), beta=int(atoms.nelec[1]), core=core)
    case |= dict(energies=[float(e) for e in energies], dipole=dipole, uhf=float(field.e_tot))
    case |= dict(gamma_alpha=[float(x) for x in alpha.diagonal()], gamma_beta=[float(x) for x in beta.diagonal()])
    difference = float(numpy.abs(one[0] - one[1]).max())
    print(name, n, atoms.nelec, field.e_tot, energies, dipole, "h differs by", difference)
    cases.append(case)
(HERE / "unrestricted.json").write_text(json.dumps(dict(pyscf="2.14.0", cases=cases), indent=1) + "\n")
