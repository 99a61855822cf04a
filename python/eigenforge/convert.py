"""Operators of other packages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ._eigenforge import Operator, products
from .errors import InputError


def from_openfermion(operator: Any, spinless: bool = False) -> Operator:
    """An operator of OpenFermion's ``QubitOperator`` or ``FermionOperator``.

    A fermion mode 2i is ↑ at site i and 2i + 1 is ↓, as OpenFermion has them; with ``spinless`` mode i is site i.
    """

    def word(factor: tuple[int, Any]) -> tuple[str, int]:
        index, action = factor
        if action in ("X", "Y", "Z"):
            return action, index
        name = "cdag" if action else "c"
        return (name, index) if spinless else (f"{name}_{('up', 'dn')[index % 2]}", index // 2)

    return products([(complex(value), [word(factor) for factor in term]) for term, value in operator.terms.items()])


def from_qiskit(operator: Any) -> Operator:
    """An operator of Qiskit's ``SparsePauliOp``; the last letter of a label is qubit 0, and site 0."""

    def words(label: str) -> list[tuple[str, int]]:
        return [(letter, site) for site, letter in enumerate(reversed(label)) if letter != "I"]

    return products([(complex(value), words(label)) for label, value in operator.to_list()])


def quspin(static_list: Sequence[Any], pauli: int | bool | None = None) -> dict[str, str]:
    """QuSpin's site-coupling lists, as the operator of a model: ``Model(lattice, quspin(static, pauli=0), site="spin 1/2")``.

    ``pauli`` is that of the basis; spins ½ need it, because QuSpin's default, 1, means σ and not S.
    """

    def number(value: Any) -> Any:
        value = complex(value)
        return value.real if value.imag == 0 else [value.real, value.imag]

    lists = [[name, [[number(entry[0]), *map(int, entry[1:])] for entry in entries]] for name, entries in static_list]
    if pauli is None:
        return {"quspin": json.dumps(lists)}
    if int(pauli) not in (-1, 0, 1):
        raise InputError(f"expected a pauli of -1, 0 or 1, found {pauli}")
    return {"quspin": json.dumps({"pauli": int(pauli), "static_list": lists})}
