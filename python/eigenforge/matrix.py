"""Hermitian matrices of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._eigenforge import ProblemText
from .errors import InputError
from .model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Rows that the library numbers.
MOST_ROWS = 2**32 - 1


class Matrix(Model):
    """A real symmetric or complex Hermitian matrix, SciPy's in any format or an array: :meth:`solve` finds its lowest eigenvalues,
    :meth:`linear_operator` multiplies with it on cores or a card. A real skew-symmetric A is solved as i A.
    """

    def __init__(self, A: Any) -> None:  # noqa: N803
        from scipy import sparse

        if not sparse.issparse(A):
            A = np.asarray(A)
            if A.ndim != 2:
                raise InputError(f"expected a matrix, found an array of {A.ndim} dimensions")
        rows, columns = A.shape
        if rows != columns or rows > MOST_ROWS:
            raise InputError(f"expected a square matrix of at most {MOST_ROWS} rows, found {rows} x {columns}")
        if A.dtype.kind not in "biufc" or A.dtype.itemsize > (16 if A.dtype.kind == "c" else 8):
            raise InputError(f"expected numbers that float64 or complex128 holds, found {A.dtype}")
        number = np.complex128 if A.dtype.kind == "c" else np.float64
        compressed = sparse.csr_matrix(A, dtype=number, copy=True)
        # Columns ascend, and each stands once.
        compressed.sum_duplicates()
        self._elements: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[Any]] = (
            compressed.indptr.astype(np.uint64),
            compressed.indices.astype(np.uint32),
            compressed.data,
        )
        self._sections, self._text, self._folder, self._name = {}, None, Path(), "the matrix"

    @property
    def elements(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[Any]]:
        """Compressed rows: where each begins, columns, values."""
        return self._elements

    def _problem(self, verb: str = "", sectors: str = "") -> ProblemText:
        if verb or sectors:
            raise InputError(f"expected a model for {verb or 'sectors'}, found a matrix", "a matrix has solve() and linear_operator()")
        return ProblemText.of_matrix(*self._elements, self.to_toml() or "[solve]")
