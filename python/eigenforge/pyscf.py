"""Full CI for PySCF: a solver for ``mcscf.CASCI`` and ``mcscf.CASSCF``.

``mc = mcscf.CASSCF(mf, 6, 6); mc.fcisolver = eigenforge.pyscf.FCISolver(mol)``. States, products with H of given
vectors, density matrices and ⟨S²⟩ of a state are eigenforge's, in PySCF's order and signs; transition densities, and all of it in spaces below
``MUCH`` determinants, are PySCF's own.
"""

from __future__ import annotations

import tempfile
import warnings
from hashlib import sha256
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyscf import ao2mo, symm
from pyscf.fci import cistring, direct_spin1

from ._eigenforge import FullCi, density_matrices, spin_squares
from .errors import InputError, NotConvergedWarning
from .model import Model, molecule
from .results import Result

#: How far S² of a state may be from the one that is looked for, and how many states are looked at for it.
SPIN, MOST_ROOTS = 1e-3, 64
#: Determinants from which a product or a density matrix is worth setting up, and from which a product is worth the way to a card.
MUCH, ON_CARDS = 20_000, 200_000


class FCISolver(direct_spin1.FCISolver):  # type: ignore[misc]
    """Full CI by eigenforge.

    Attributes beside PySCF's: ``device`` ("auto", "cpu", "cuda:0", …), ``solver`` and ``residual_tol``, the residual norm relative to that of
    H, by default from ``conv_tol``. ``certify = False`` leaves out the search for missed states that follows each solve and takes about as long:
    an eigenstate is found whose residual is as small, which is the lowest where the start has a part of it. A search for one state begins with
    ``ci0`` and counts its ``iterations``; other searches leave their report in ``result``.
    """

    converged: Any
    eci: Any
    ci: Any
    _keys = {"device", "solver", "residual_tol", "certify", "result", "iterations"}

    def __init__(self, mol: Any = None) -> None:
        super().__init__(mol)
        self.device = "auto"
        self.solver: str | None = None
        self.residual_tol: float | None = None
        self.certify = True
        self.result: Result | None = None
        self.iterations: int | None = None
        self._kept: tuple[Any, FullCi] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    def kernel(
        self,
        h1e: NDArray[np.float64],
        eri: NDArray[np.float64],
        norb: int,
        nelec: Any,
        ci0: Any = None,
        tol: float | None = None,
        max_cycle: int | None = None,
        nroots: int | None = None,
        ecore: float = 0.0,
        orbsym: Any = None,
        wfnsym: Any = None,
        **_others: Any,
    ) -> tuple[Any, Any]:
        """The lowest states: (energy, vector), or of several roots a list of each. Energies include ``ecore``."""
        up, down = (int(count) for count in direct_spin1._unpack_nelec(nelec, self.spin))
        if not 0 <= down <= norb or not 0 <= up <= norb:
            raise InputError(f"expected 0 to {norb} electrons of each spin in {norb} orbitals, found {up} up and {down} down")
        if any(np.iscomplexobj(each) or not np.isfinite(each).all() for each in (h1e, eri, ecore)):
            raise InputError("expected real integrals that are finite")
        roots = self.nroots if nroots is None else nroots
        # Energies err by the square of residuals.
        least = 1e-2 * np.sqrt(self.conv_tol if tol is None else tol)
        keys: dict[str, Any] = {
            "tolerance": self.residual_tol or float(max(1e-12, min(1e-5, least))),
            "max_iterations": self.max_cycle if max_cycle is None else max_cycle,
            "certify": bool(self.certify),
        }
        if self.solver is not None:
            keys["solver"] = self.solver
        self.norb, self.nelec = norb, nelec
        start = self._start(ci0, roots, (norb, up, down), self.wfnsym if wfnsym is None else wfnsym)
        if start is not None:
            H = self._hamiltonian((norb, up, down), np.asarray(h1e), np.asarray(eri), start.size)
            energy, vector, _, self.converged, self.iterations = H.lowest(np.ravel(start), keys["tolerance"], keys["max_iterations"], keys["certify"])
            self.eci, self.ci = energy + float(ecore), vector.reshape(start.shape)
            return self.eci, self.ci
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            # A few cycles are enough for some steps of CASSCF: `converged` says it.
            warnings.simplefilter("ignore", NotConvergedWarning)
            file = Path(folder) / "FCIDUMP"
            irreps = self._irreps(orbsym, wfnsym)
            text = _fcidump(np.asarray(h1e), ao2mo.restore(8, np.asarray(eri), norb), (norb, up, down), ecore, irreps.pop("numbers", None))
            file.write_text(text)
            energies, states = self._states(molecule(file, averages=False, **irreps), keys, roots, (norb, up, down))
        if roots == 1:
            self.eci, self.ci = float(energies[0]), states[0]
        else:
            self.converged = [self.converged] * len(states)
            self.eci, self.ci = np.asarray(energies), states
        return self.eci, self.ci

    def contract_2e(
        self, eri: NDArray[np.float64], fcivec: NDArray[np.float64], norb: int, nelec: Any, link_index: Any = None, **others: Any
    ) -> NDArray[np.float64]:
        """Σ g_pqrs E_pq E_rs on a vector, with g of ``absorb_h1e``."""
        space = self._space(norb, nelec)
        g: NDArray[np.float64] = ao2mo.restore(1, np.asarray(eri), norb)
        if space is None or not _is_symmetric(g):
            product: NDArray[np.float64] = super().contract_2e(eri, fcivec, norb, nelec, link_index, **others)
            return product
        # E_pq E_rs = a†_p a†_r a_s a_q + δ_qr E_ps
        H = self._hamiltonian(space, np.einsum("pqqs->ps", g), 2.0 * g, fcivec.size)
        return H.multiply(np.ravel(fcivec)).reshape(fcivec.shape)

    def _hamiltonian(self, space: tuple[int, int, int], one: NDArray[np.float64], two: NDArray[np.float64], size: int) -> FullCi:
        """H on a device; the last one is kept, since CASSCF multiplies many vectors with the same integrals."""
        device = "cpu" if self.device == "auto" and size < ON_CARDS else self.device
        norb = space[0]
        packed = np.ascontiguousarray(one[np.tril_indices(norb)], np.float64), ao2mo.restore(8, np.asarray(two, np.float64), norb)
        key = (space, device, *(sha256(part.tobytes()).digest() for part in packed))
        if self._kept is None or self._kept[0] != key:
            self._kept = key, FullCi(space, *packed, 0.0, device)
        return self._kept[1]

    def _start(self, ci0: Any, roots: int, space: tuple[int, int, int], wfnsym: Any) -> NDArray[np.float64] | None:
        """`ci0` where a search for one state of a large space may begin with it; others begin with eigenforge's own guess."""
        if ci0 is None or roots != 1 or wfnsym is not None or self.solver is not None or hasattr(self, "ss_penalty"):
            return None
        norb, up, down = space
        shape = (comb(norb, up), comb(norb, down))
        vector = ci0[0] if isinstance(ci0, (list, tuple)) and len(ci0) == 1 else ci0
        if shape[0] * shape[1] < MUCH or not isinstance(vector, np.ndarray) or vector.size != shape[0] * shape[1]:
            return None
        start = np.asarray(vector, np.float64).reshape(shape)
        return start if np.isfinite(start).all() and start.any() else None

    def spin_square(self, fcivec: Any, norb: int, nelec: Any) -> tuple[float, float]:
        """⟨S²⟩ and 2S + 1 of that S."""
        space = self._space(norb, nelec)
        if space is None:
            square, multiplicity = super().spin_square(fcivec, norb, nelec)
            return float(square), float(multiplicity)
        square = float(np.vdot(fcivec, fcivec)) * spin_squares(space, np.reshape(fcivec, (1, -1)))[0]
        return square, 2.0 * np.sqrt(square + 0.25)

    def make_rdm1s(self, fcivec: Any, norb: int, nelec: Any, link_index: Any = None) -> Any:
        """γ_pq = ⟨q† p⟩ of ↑ and of ↓."""
        space = self._space(norb, nelec)
        if space is None:
            return super().make_rdm1s(fcivec, norb, nelec, link_index)
        up, down, _ = density_matrices(space, np.reshape(fcivec, (1, -1)), False)
        norm = np.vdot(fcivec, fcivec)
        return norm * up.T, norm * down.T

    def make_rdm1(self, fcivec: Any, norb: int, nelec: Any, link_index: Any = None) -> Any:
        """γ_pq, summed over spins."""
        return sum(self.make_rdm1s(fcivec, norb, nelec, link_index))

    def make_rdm12(self, fcivec: Any, norb: int, nelec: Any, link_index: Any = None, reorder: bool = True) -> Any:
        """γ_pq and Γ_pqrs = Σ ⟨p† r† s q⟩, summed over spins."""
        space = self._space(norb, nelec)
        if space is None or not reorder:
            return super().make_rdm12(fcivec, norb, nelec, link_index, reorder)
        up, down, two = density_matrices(space, np.reshape(fcivec, (1, -1)), True)
        norm = np.vdot(fcivec, fcivec)
        return norm * (up + down).T, norm * two

    def _space(self, norb: int, nelec: Any) -> tuple[int, int, int] | None:
        """Orbitals and electrons of a space that is worth it."""
        up, down = (int(count) for count in direct_spin1._unpack_nelec(nelec, self.spin))
        return (norb, up, down) if comb(norb, up) * comb(norb, down) >= MUCH else None

    def _irreps(self, orbsym: Any, wfnsym: Any) -> dict[str, Any]:
        """The irreps of orbitals and states as keys of ``[ci]``, where PySCF asks for one."""
        orbsym = self.orbsym if orbsym is None else orbsym
        wfnsym = self.wfnsym if wfnsym is None else wfnsym
        if wfnsym is None or orbsym is None:
            return {}
        # Irreps of linear molecules are those of a subgroup plus tens.
        group = {"Dooh": "D2h", "Coov": "C2v", "SO3": "D2h"}.get(self.mol.groupname, self.mol.groupname)
        number = symm.irrep_name2id(self.mol.groupname, wfnsym) if isinstance(wfnsym, str) else int(wfnsym)
        name = symm.irrep_id2name(group, number % 10)
        return {"irrep": name, "point_group": group, "orbsym": "pyscf", "numbers": [int(number) % 10 for number in orbsym]}

    def _states(self, model: Model, keys: dict[str, Any], roots: int, space: tuple[int, int, int]) -> tuple[list[float], list[NDArray[np.float64]]]:
        """The lowest states; with ``fix_spin_`` the lowest of that spin, for which more are looked for until there are as many."""
        norb, up, down = space
        size = comb(norb, up) * comb(norb, down)
        penalised = hasattr(self, "ss_penalty")
        wanted = (up - down) / 2 * ((up - down) / 2 + 1)
        if getattr(self, "ss_value", None) is not None:
            wanted = float(self.ss_value)
        count = min(size, roots)
        while True:
            self.result = model.solve(device=self.device, vectors=True, states=count, **keys)
            self.converged = self.result.converged
            states = [_pyscf_order(vector, self.result.basis, norb, up, down) for vector in self.result.vectors]
            found = list(zip(self.result.energies.tolist(), states, strict=True))
            if penalised:
                found = [(energy, state) for energy, state in found if abs(self.spin_square(state, norb, (up, down))[0] - wanted) < SPIN]
            if len(found) >= roots or not penalised and count == size:
                chosen = found[:roots]
                return [energy for energy, _ in chosen], [state for _, state in chosen]
            if count >= min(size, MOST_ROOTS):
                raise InputError(f"expected {roots} states of S² = {wanted}, found {len(found)} among the lowest {count}")
            count = min(size, 2 * count + 2)


def _is_symmetric(g: NDArray[np.float64]) -> bool:
    """Whether g has the eight symmetries of real orbitals."""
    least = 1e-12 * max(1e-300, float(abs(g).max()))
    others = (g.transpose(1, 0, 2, 3), g.transpose(0, 1, 3, 2), g.transpose(2, 3, 0, 1))
    return all(float(abs(g - other).max()) <= least for other in others)


def _fcidump(
    h1e: NDArray[np.float64],
    eri: NDArray[np.float64],
    space: tuple[int, int, int],
    ecore: float,
    irreps: list[int] | None,
) -> str:
    """Integrals with 8-fold symmetry as FCIDUMP, to the last bit; irreps have PySCF's numbers."""
    norb, up, down = space
    numbers = ",".join(map(str, irreps or [1] * norb))
    pairs = [(p, q) for p in range(norb) for q in range(p + 1)]
    lines = [f"&FCI NORB={norb},NELEC={up + down},MS2={up - down},ORBSYM={numbers},ISYM=1 &END"]
    values = iter(eri.tolist())
    for k, (p, q) in enumerate(pairs):
        lines += [f"{next(values)!r} {p + 1} {q + 1} {r + 1} {s + 1}" for r, s in pairs[: k + 1]]
    lines += [f"{float(h1e[p, q])!r} {p + 1} {q + 1} 0 0" for p, q in pairs]
    return "\n".join([*lines, f"{float(ecore)!r} 0 0 0 0\n"])


def _pyscf_order(vector: NDArray[np.float64], basis: dict[str, NDArray[np.uint64]], norb: int, up: int, down: int) -> NDArray[np.float64]:
    """Rows are ↑ strings and columns ↓ strings, in ascending integers."""
    strings = [np.sort(cistring.make_strings(range(norb), count)).astype(np.uint64) for count in (up, down)]
    alpha, beta = basis["alpha_states"], basis["beta_states"]
    rows, columns = (len(each) for each in strings)
    # All determinants are a grid of strings, and one of the two runs fastest.
    if (alpha[:rows] == strings[0]).all() and (beta[::rows] == strings[1]).all():
        return np.ascontiguousarray(vector.reshape(columns, rows).T)
    if (beta[:columns] == strings[1]).all() and (alpha[::columns] == strings[0]).all():
        return np.ascontiguousarray(vector.reshape(rows, columns))
    state = np.zeros((rows, columns))
    state[np.searchsorted(strings[0], alpha), np.searchsorted(strings[1], beta)] = vector
    return state
