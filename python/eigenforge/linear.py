"""H as a linear operator for SciPy and CuPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import linalg

from ._eigenforge import Multiply
from .errors import InputError

#: DLPack's numbers of memory that a card sees: its own, and managed one.
ON_CARDS = (2, 13)


class LinearOperator(linalg.LinearOperator):  # type: ignore[misc]
    """y = H x, of float64 or float32 as the model's ``precision`` says, or complex where H or x is. ``eigsh``, ``lobpcg`` and ``expm_multiply`` of
    SciPy take it.

    An operator on a card also takes arrays of that card, CuPy's, PyTorch's, or any with DLPack or the CUDA array interface, and multiplies them
    where they are, in the order of the caller's current stream. The host does not wait.
    """

    __array_ufunc__ = None

    def __init__(self, multiply: Multiply) -> None:
        self._multiply = multiply
        dtype = np.dtype(multiply.dtype)
        self._complex = np.result_type(dtype, np.complex64)
        super().__init__(dtype, (multiply.states, multiply.states))

    def matvec(self, x: Any, out: Any = None, stream: int | None = None) -> Any:
        """H x of a vector, shape (N,) or (N, 1); into ``out`` where one is given, of the same shape and dtype.

        ``stream`` is the driver's handle of the stream that arrays of a card are in order with; CuPy's and PyTorch's current ones are found.
        """
        library = _library_on_card(x)
        if library:
            if tuple(x.shape) not in ((self.shape[0],), (self.shape[0], 1)):
                raise InputError(f"expected a vector of shape ({self.shape[0]},), found {tuple(x.shape)}")
            return self._card_times(x, out, stream, library)
        x = self._cast(x)
        if x.shape not in ((self.shape[0],), (self.shape[0], 1)):
            raise InputError(f"expected a vector of shape ({self.shape[0]},), found {x.shape}")
        return self._times(x, out)

    def matmat(self, X: Any, out: Any = None, stream: int | None = None) -> Any:  # noqa: N803
        """H X of columns, shape (N, K), in any order in memory; into ``out`` where one is given."""
        library = _library_on_card(X)
        X = X if library else self._cast(X)
        if X.ndim != 2 or X.shape[0] != self.shape[0]:
            raise InputError(f"expected an array of shape ({self.shape[0]}, columns), found {tuple(X.shape)}")
        return self._card_times(X, out, stream, library) if library else self._times(X, out)

    def dot(self, x: Any) -> Any:
        """H x, of an array of the host or of a card, or the product with another operator or number."""
        if not _library_on_card(x):
            return super().dot(x)
        return self.matvec(x) if x.ndim == 1 else self.matmat(x)

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
        if array.dtype == self.dtype or array.dtype == self._complex:
            return array
        wanted = np.result_type(array.dtype, self.dtype)
        if wanted not in (self.dtype, self._complex):
            raise InputError(f"expected numbers that {self.dtype} holds, found {array.dtype}")
        return array.astype(wanted)

    def _times(self, x: NDArray[Any], out: Any) -> NDArray[Any]:
        if out is None:
            out = np.empty(x.shape, x.dtype)
        elif not isinstance(out, np.ndarray) or out.shape != x.shape or out.dtype != x.dtype:
            found = f"{out.shape} and {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
            raise InputError(f"expected an `out` of shape {x.shape} and {x.dtype}, found {found}")
        elif not out.flags.writeable or np.may_share_memory(out, x) or (out.size > 1 and 0 in out.strides):
            raise InputError("expected an `out` that can be written, has memory for each element and is apart from x")
        columns, target = (x[:, None], out[:, None]) if x.ndim == 1 else (x, out)
        self._multiply.host(columns, target)
        written: NDArray[Any] = out
        return written

    def _card_times(self, x: Any, out: Any, stream: int | None, library: str) -> Any:
        if out is None:
            if library not in ("cupy", "torch"):
                raise InputError(f"expected an `out` for an array of {library}", "out=… is where y is written")
            out = sys.modules[library].empty_like(x)
        elif not _library_on_card(out):
            raise InputError(f"expected an `out` on the card as x is, found {type(out).__name__}")
        if stream is None:
            stream = _current_stream(library, x)
        self._multiply.card(x, out, stream)
        return out


def _library_on_card(x: Any) -> str:
    """The library of an array that lies on a card, "" of others."""
    if isinstance(x, np.ndarray):
        return ""
    library = type(x).__module__.partition(".")[0]
    if library == "cupy":
        on_card = type(x).__name__ == "ndarray"
    elif library == "torch":
        on_card = bool(getattr(x, "is_cuda", False))
    else:
        place = getattr(x, "__dlpack_device__", None)
        on_card = place()[0] in ON_CARDS if place is not None else hasattr(type(x), "__cuda_array_interface__")
    return library if on_card else ""


def _current_stream(library: str, x: Any) -> int | None:
    """The stream that a library's next work goes to; None of a library whose streams are not known here."""
    if library == "cupy":
        stream: int = sys.modules["cupy"].cuda.get_current_stream().ptr
        return stream
    if library == "torch":
        handle: int = sys.modules["torch"].cuda.current_stream(x.device).cuda_stream
        return handle
    return None
