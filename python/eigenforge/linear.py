"""H as a linear operator for SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import linalg

from ._eigenforge import Multiply
from .errors import InputError


class LinearOperator(linalg.LinearOperator):  # type: ignore[misc]
    """y = H x, of float64, or of complex128 where H or x is complex. ``eigsh``, ``lobpcg`` and ``expm_multiply`` of SciPy take it."""

    __array_ufunc__ = None

    def __init__(self, multiply: Multiply) -> None:
        self._multiply = multiply
        dtype = np.complex128 if multiply.is_complex else np.float64
        super().__init__(np.dtype(dtype), (multiply.states, multiply.states))

    def matvec(self, x: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """H x of a vector, shape (N,) or (N, 1); into ``out`` where one is given, of the same shape and dtype."""
        x = self._cast(x)
        if x.shape not in ((self.shape[0],), (self.shape[0], 1)):
            raise InputError(f"expected a vector of shape ({self.shape[0]},), found {x.shape}")
        return self._times(x, out)

    def matmat(self, X: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:  # noqa: N803
        """H X of columns, shape (N, K), in any order in memory; into ``out`` where one is given."""
        X = self._cast(X)
        if X.ndim != 2 or X.shape[0] != self.shape[0]:
            raise InputError(f"expected an array of shape ({self.shape[0]}, columns), found {X.shape}")
        return self._times(X, out)

    def _matvec(self, x: NDArray[Any]) -> Any:
        return self.matvec(x)

    def _matmat(self, X: NDArray[Any]) -> Any:  # noqa: N803
        return self.matmat(X)

    def _rmatvec(self, x: NDArray[Any]) -> Any:
        return self.matvec(x)

    def _adjoint(self) -> LinearOperator:
        return self

    def _cast(self, x: Any) -> NDArray[Any]:
        array: NDArray[Any] = np.asarray(x)
        if array.dtype == self.dtype or array.dtype == np.complex128:
            return array
        wanted = np.result_type(array.dtype, self.dtype)
        if wanted not in (np.float64, np.complex128):
            raise InputError(f"expected numbers that {self.dtype} holds, found {array.dtype}")
        return array.astype(wanted)

    def _times(self, x: NDArray[Any], out: NDArray[Any] | None) -> NDArray[Any]:
        if out is None:
            out = np.empty(x.shape, x.dtype)
        elif not isinstance(out, np.ndarray) or out.shape != x.shape or out.dtype != x.dtype:
            found = f"{out.shape} and {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
            raise InputError(f"expected an `out` of shape {x.shape} and {x.dtype}, found {found}")
        elif not out.flags.writeable or np.may_share_memory(out, x) or (out.size > 1 and 0 in out.strides):
            raise InputError("expected an `out` that can be written, has memory for each element and is apart from x")
        columns, target = (x[:, None], out[:, None]) if x.ndim == 1 else (x, out)
        if x.dtype == np.float64:
            self._multiply.real(columns, target)
        else:
            self._multiply.complex(columns, target)
        return out
