"""Quantum many-body eigenproblems on generated CUDA kernels.

A model is written with operators at sites (:func:`cdag`, :func:`c`, :func:`n`, :func:`sz`, …) on a :class:`Lattice`, as text, or as a model file
(:func:`read`). :class:`Model` solves it, makes its curves, shows its kernels and multiplies with it.

Conventions: H = -t Σ (c†c + h.c.) + U Σ n↑n↓ with the minus inside; S = σ/2 for spins; site 0 is the least significant bit of a state;
|n⟩ = Π c†_i↑ Π c†_j↓ |0⟩.
"""

from . import tools as _tools
from ._eigenforge import VERSION as __version__
from ._eigenforge import HermitianConjugate, Operator, c, cdag, chirality, n, operator, products, sdots, sum
from .command import VERBS, Output, command
from .convert import from_openfermion, from_qiskit, quspin
from .errors import EigenforgeError, InputError, NotConvergedWarning, RunError
from .lattice import Lattice
from .matrix import Matrix
from .model import Model, molecule, parse, read, sweep
from .results import Record, Result

#: Spins of electrons, and the Hermitian conjugate of what it is added to: ``A + hc``.
up, down = "up", "dn"
hc = HermitianConjugate()


def sp(site: int) -> Operator:
    """S⁺ of a site."""
    return operator("S+", site)


def sm(site: int) -> Operator:
    """S⁻ of a site."""
    return operator("S-", site)


def sx(site: int) -> Operator:
    """Sˣ of a site."""
    return operator("Sx", site)


def sy(site: int) -> Operator:
    """Sʸ of a site."""
    return operator("Sy", site)


def sz(site: int) -> Operator:
    """Sᶻ of a site."""
    return operator("Sz", site)


def X(site: int) -> Operator:  # noqa: N802
    """Pauli's X of a qubit."""
    return operator("X", site)


def Y(site: int) -> Operator:  # noqa: N802
    """Pauli's Y of a qubit."""
    return operator("Y", site)


def Z(site: int) -> Operator:  # noqa: N802
    """Pauli's Z of a qubit; Z|1⟩ = -|1⟩."""
    return operator("Z", site)


def bdag(site: int) -> Operator:
    """b† of a site."""
    return operator("bdag", site)


def b(site: int) -> Operator:
    """b of a site."""
    return operator("b", site)


_tools.find_compiler()

__all__ = [
    "EigenforgeError",
    "HermitianConjugate",
    "InputError",
    "Lattice",
    "Matrix",
    "Model",
    "NotConvergedWarning",
    "Operator",
    "Output",
    "Record",
    "Result",
    "RunError",
    "VERBS",
    "X",
    "Y",
    "Z",
    "__version__",
    "b",
    "bdag",
    "c",
    "cdag",
    "chirality",
    "command",
    "down",
    "from_openfermion",
    "from_qiskit",
    "hc",
    "molecule",
    "n",
    "operator",
    "parse",
    "products",
    "quspin",
    "read",
    "sdots",
    "sm",
    "sp",
    "sum",
    "sweep",
    "sx",
    "sy",
    "sz",
    "up",
]
