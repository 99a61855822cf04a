"""What runs find."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import tables
from ._eigenforge import Report
from .errors import InputError


def _value(value: Any) -> Any:
    """Lists of numbers as arrays (null is NaN), objects as records."""
    if isinstance(value, dict):
        return Record(value)
    if not isinstance(value, list) or not value:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return [_value(item) for item in value]
    return array if array.dtype.kind in "biuf" else value


class Record(Mapping[str, Any]):
    """An object of a report: keys as attributes, lists of numbers as arrays. Names and nesting are those of the command's JSON."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return _value(self._data[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getattribute__(self, key: str) -> Any:
        # A report has keys of its own with names of a mapping's methods.
        if key in ("values", "items", "basis", "vectors"):
            data = object.__getattribute__(self, "_data")
            if key in data:
                return _value(data[key])
        return object.__getattribute__(self, key)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        if key not in self._data:
            raise AttributeError(f"{type(self).__name__} has no {key!r}; it has {', '.join(self._data)}")
        return self[key]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._data)})"

    def _repr_html_(self) -> str:
        return tables.as_html(self._data)

    def to_dict(self) -> dict[str, Any]:
        """The object as the JSON has it."""
        return self._data


class Result(Record):
    """The report of a run: ``energies``, ``residuals``, ``multiplicities``, ``levels``, ``observables``, … as the command's JSON has them.
    ``str`` is the summary that the command prints."""

    def __init__(self, report: Report, arrays: dict[str, NDArray[Any]] | None, remarks: list[str]) -> None:
        super().__init__(json.loads(report.json))
        self._summary = report.summary
        self._arrays = arrays
        self._report: Report | None = report
        self.converged: bool = report.converged
        self.remarks = remarks

    def __copy__(self) -> Result:
        other: Result = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_report": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def vectors(self) -> NDArray[Any]:
        """(states, dimension): a row each, in the order of :attr:`basis`."""
        return self._array()["vectors"]

    @property
    def basis(self) -> dict[str, NDArray[Any]]:
        """The basis states of the vectors: ``states``, ``up_states`` and ``down_states`` (the up index runs fastest), or of determinants
        ``alpha_states`` and ``beta_states``."""
        return {name: array for name, array in self._array().items() if name.endswith("states")}

    def _array(self) -> dict[str, NDArray[Any]]:
        if self._arrays is None:
            help = "solve(vectors=True) brings those of one diagonalisation; sweeps, DMRG and curves have none"
            raise InputError("this result has no vectors", help)
        return self._arrays

    def save(self, folder: str | Path) -> list[Path]:
        """Writes report.json, pictures and, where there are any, vectors.npz into a folder."""
        if self._report is None:
            raise InputError("a result that was unpickled has no files to write; to_dict() is its report")
        paths = [Path(path) for path in self._report.write(Path(folder))]
        if self._arrays is not None:
            paths.append(Path(folder) / "vectors.npz")
            np.savez(paths[-1], **dict(self._arrays))  # type: ignore[arg-type]
        return paths

    def to_pandas(self, table: str | None = None) -> Any:
        """A table as a frame: ``"points"`` of a sweep, ``"levels"`` (the tower of all sectors), ``"states"``, ``"curves"`` of a spectrum,
        ``"quantities"`` over T, ``"times"``, or any list of objects of the report, such as ``"sweeps"``, ``"history"`` or ``"cuts"``. The first
        that there is unless one is named."""
        import pandas

        return pandas.DataFrame(tables.table(self._data, table))

    @property
    def figures(self) -> list[str]:
        """The names that :meth:`plot` takes, that of ``plot()`` first."""
        from . import plots

        return plots.names(self._data)

    def plot(self, figure: str | None = None, ax: Any = None) -> Any:
        """Draws a figure with matplotlib, on ``ax`` or a new one, and returns its Axes, or of several quantities an array of them.

        ``"energies"``, ``"tower"`` (against S(S + 1)), ``"dispersion"`` (E(k)), ``"structure_factor"``, ``"convergence"``, ``"entropies"``,
        ``"magnetisation"``, ``"spectrum"``, ``"conductivity"``, ``"thermal"``, ``"evolution"``: :attr:`figures` lists those of this result.
        """
        from . import plots

        return plots.draw(self._data, figure, ax)

    def __str__(self) -> str:
        return self._summary

    def __repr__(self) -> str:
        return f"<Result {'converged' if self.converged else 'NOT converged'}: {', '.join(self._data)}>"

    def _repr_html_(self) -> str:
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self.remarks)
        return f"<pre>{html.escape(self._summary)}</pre>{remarks}"
