"""Cells of lattices in the plane, such as the first Brillouin zone.

In: two vectors, a row each. Out: the points that are nearer to the origin than to any other point of their lattice.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

#: How far around the origin points of the lattice are looked at, after its vectors were made short.
AROUND = range(-2, 3)


def _short(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two shortest vectors of the same lattice (Lagrange's reduction)."""
    a, b = sorted(np.array(vectors, dtype=float), key=lambda vector: float(vector @ vector))
    while True:
        b = b - round(float(a @ b) / float(a @ a)) * a
        if b @ b >= a @ a * (1 - 1e-12):
            return np.array([a, b])
        a, b = b, a


def _neighbours(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    short = _short(vectors)
    steps = np.array([pair for pair in product(AROUND, AROUND) if any(pair)], dtype=np.float64)
    return np.asarray(steps @ short, dtype=np.float64)


def cell_polygon(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """(corners, 2): the cell's corners, in order."""
    points = _neighbours(vectors)
    size = abs(points).max()
    corners = size * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    for point in points:
        corners = _cut(corners, point)
    return np.asarray(corners, dtype=np.float64)


def _cut(corners: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of a polygon that is nearer to the origin than to a point."""
    beyond = corners @ point - point @ point / 2
    kept: list[NDArray[np.float64]] = []
    for here, there, a, b in zip(corners, np.roll(corners, -1, axis=0), beyond, np.roll(beyond, -1), strict=True):
        if a <= 0:
            kept.append(here)
        if (a < 0 < b) or (b < 0 < a):
            kept.append(here + (there - here) * a / (a - b))
    return np.array(kept)


def copies_in_cell(points: NDArray[np.float64], vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The copies of points, by vectors of the lattice, that lie in the cell or on its edge, and which point each is a copy of."""
    neighbours, short = _neighbours(vectors), _short(vectors)
    half = (neighbours**2).sum(axis=1) / 2
    steps = np.array([np.array(pair) @ short for pair in product(AROUND, AROUND)])
    places, numbers = [], []
    for number, point in enumerate(points):
        inside = point - np.round(point @ np.linalg.inv(short)) @ short
        for place in inside + steps:
            if (neighbours @ place <= half * (1 + 1e-9)).all():
                places.append(place)
                numbers.append(number)
    return np.array(places), np.array(numbers)
