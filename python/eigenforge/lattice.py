"""Lattices."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._eigenforge import LatticeData
from .errors import InputError
from .results import Record
from .text import plain, toml


class Lattice:
    """Sites and bonds: the keys of ``[lattice]`` in a model file.

    ``Lattice.square(4, 4, boundary="open")``, ``Lattice(kind="kagome", size=[3, 2])``, ``Lattice.from_edges(4, [(0, 1), (1, 2, 0.5)])``. A
    lattice is open unless ``boundary`` says otherwise.
    """

    def __init__(self, **keys: Any) -> None:
        self.section: dict[str, Any] = plain(keys, "lattice")
        is_swept = any(isinstance(value, dict) for value in self.section.values())
        self._made = None if is_swept else LatticeData(toml(self.section))

    @property
    def _data(self) -> LatticeData:
        if self._made is None:
            raise InputError("a key of this lattice is swept: it stands for several, and a model of it can be solved alone")
        return self._made

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.section,)

    @classmethod
    def chain(cls, length: int, **keys: Any) -> Lattice:
        """A chain."""
        return cls(kind="chain", size=length, **keys)

    @classmethod
    def ladder(cls, length: int, legs: int, **keys: Any) -> Lattice:
        """A ladder of two or more legs."""
        return cls(kind="ladder", size=[length, legs], **keys)

    @classmethod
    def square(cls, *size: Any, **keys: Any) -> Lattice:
        """A square lattice: two lengths, or two periods such as [[4, -2], [2, 2]]."""
        return cls(kind="square", size=_size(size), **keys)

    @classmethod
    def triangular(cls, *size: Any, **keys: Any) -> Lattice:
        """A triangular lattice."""
        return cls(kind="triangular", size=_size(size), **keys)

    @classmethod
    def honeycomb(cls, *size: Any, **keys: Any) -> Lattice:
        """A honeycomb lattice of cells with two sites."""
        return cls(kind="honeycomb", size=_size(size), **keys)

    @classmethod
    def kagome(cls, *size: Any, **keys: Any) -> Lattice:
        """A kagome lattice of cells with three sites."""
        return cls(kind="kagome", size=_size(size), **keys)

    @classmethod
    def from_edges(cls, sites: int, edges: Sequence[Sequence[Any]]) -> Lattice:
        """Sites and edges (i, j) or (i, j, weight)."""
        return cls(sites=sites, edges=[[_whole(edge[0]), _whole(edge[1]), *edge[2:]] for edge in edges])

    @property
    def sites(self) -> range:
        """The sites."""
        return range(self._data.sites())

    @property
    def bonds(self) -> list[tuple[int, int, float]]:
        """(i, j, weight) of every bond, in the order that lists of one value a bond follow."""
        return self._data.bonds()

    @property
    def bond_sites(self) -> NDArray[np.int64]:
        """(bonds, 2): i and j of every bond, in the order of :attr:`bonds`."""
        return np.array([bond[:2] for bond in self.bonds], dtype=np.int64).reshape(-1, 2)

    @property
    def bond_weights(self) -> NDArray[np.float64]:
        """(bonds,): the weight of every bond."""
        return np.array([bond[2] for bond in self.bonds], dtype=np.float64)

    @property
    def bond_kinds(self) -> list[str]:
        """The name of each bond's kind, "" of a further bond; empty where the lattice has no kinds."""
        return self._data.bond_kinds()

    def bonds_at(self, shell: int) -> list[tuple[int, int, float]]:
        """Pairs of nearest (1), second (2), … neighbours."""
        return self._data.bonds_at(shell)

    def neighbors(self, site: int) -> list[int]:
        """The sites that a bond joins with a site."""
        return self._data.neighbors(site)

    def distance(self, i: int, j: int) -> float:
        """The shortest distance of two sites, around periodic directions too."""
        return self._data.distance(i, j)

    def displacement(self, i: int, j: int) -> list[float] | None:
        """The shortest displacement from i to j; None where several are as short."""
        return self._data.displacement(i, j)

    @property
    def positions(self) -> NDArray[np.float64]:
        """(sites, 2)."""
        return self._data.positions()

    @property
    def primitive_vectors(self) -> NDArray[np.float64]:
        """(2, 2), a vector a row."""
        return self._data.primitive_vectors()

    @property
    def momenta(self) -> list[list[int]]:
        """The whole numbers ``k`` of every momentum, as ``[symmetry]`` takes them."""
        return self._data.momenta()

    @property
    def momentum_fractions(self) -> NDArray[np.float64]:
        """(momenta, 2): the parts of a turn of a step along each primitive vector, from 0 to 1."""
        return self._data.momentum_fractions()

    @property
    def wavevectors(self) -> NDArray[np.float64]:
        """(momenta, 2): q_x and q_y in one over the nearest-neighbour distance, in the order of :attr:`momenta`."""
        found: NDArray[np.float64] = self.momentum_fractions @ self.reciprocal_vectors
        return found

    @property
    def reciprocal_vectors(self) -> NDArray[np.float64]:
        """(2, 2), a vector b a row, with a_i · b_j = 2π δ_ij."""
        inverse = np.linalg.inv(self.primitive_vectors)
        return np.asarray(2 * np.pi * inverse.T, dtype=np.float64)

    @property
    def periods(self) -> NDArray[np.int64]:
        """(periodic directions, 2): the period vectors of the torus, in cells."""
        return np.array(self.record.periods, dtype=np.int64).reshape(-1, 2)

    @property
    def record(self) -> Record:
        """The lattice as a report has it: positions, bonds, vectors, periods, momenta with names of the points of high symmetry."""
        return Record(json.loads(self._data.record()))

    def plot(self, ax: Any = None) -> Any:
        """Draws sites with their numbers, and bonds, with matplotlib; returns the Axes."""
        from .figures import lattice

        return lattice(self, ax)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def __len__(self) -> int:
        return self._data.sites()

    def __repr__(self) -> str:
        return f"<Lattice {self._made.describe() if self._made else self.section}>"


def _again(section: dict[str, Any]) -> Lattice:
    return Lattice(**section)


def _whole(number: Any) -> Any:
    """Edges in an array of NumPy's have sites that are floats."""
    return int(number) if int(number) == number else number


def _size(size: tuple[Any, ...]) -> Any:
    return size[0] if len(size) == 1 and not np.isscalar(size[0]) else list(size)
