"""Which figures a result has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import curve_figures, figures
from .errors import InputError

#: A figure: its name, whether a report has it, and what draws it.
Figure = tuple[str, Callable[[dict[str, Any]], bool], Callable[..., Any]]


def _has_momenta(report: dict[str, Any]) -> bool:
    sectors = [sector for level in report.get("levels") or [] for sector in level.get("sectors") or []]
    return bool(sectors) and all(sector.get("momentum") for sector in sectors)


def _has_spins(report: dict[str, Any]) -> bool:
    levels = report.get("levels") or []
    return len(levels) > 1 and any(level.get("spins") or (level.get("spin") or {}).get("spins") for level in levels)


def _has_energies(report: dict[str, Any]) -> bool:
    if "verb" in report:
        return False
    return figures.swept_number(report) is not None if "points" in report else len(report.get("energies") or []) > 1


#: In the order in which ``plot()`` looks for one.
FIGURES: list[Figure] = [
    ("conductivity", lambda report: bool(report.get("conductivity")), curve_figures.conductivity),
    ("spectrum", lambda report: bool(report.get("curves")), curve_figures.spectrum),
    ("thermal", lambda report: bool(report.get("quantities")), curve_figures.thermal),
    ("evolution", lambda report: "times" in report and "record" in report, curve_figures.evolution),
    ("magnetisation", lambda report: bool((report.get("magnetisation") or {}).get("steps")), figures.magnetisation),
    ("dispersion", _has_momenta, figures.dispersion),
    ("energies", _has_energies, figures.energies),
    ("tower", _has_spins, figures.tower),
    ("structure_factor", lambda report: bool((report.get("structure_factor") or {}).get("values")), figures.structure_factor),
    ("convergence", lambda report: bool(report.get("history") or report.get("sweeps")), figures.convergence),
    ("entropies", lambda report: bool(report.get("cuts")), figures.entropies),
    ("energies", lambda report: "points" not in report and bool(report.get("energies")), figures.energies),
]


def names(report: dict[str, Any]) -> list[str]:
    """The figures that a report has, that of ``plot()`` first."""
    return list(dict.fromkeys(name for name, has, _ in FIGURES if has(report)))


def draw(report: dict[str, Any], name: str | None, ax: Any) -> Any:
    """Draws a figure by its name, or the first that the report has."""
    known = names(report)
    if name is None:
        name = known[0] if known else ""
    if name not in known:
        if name in {figure for figure, _, _ in FIGURES}:
            raise InputError(f'this result has no figure "{name}"', f"it has {', '.join(known) or 'none'}")
        raise InputError(f'expected a figure of {", ".join(known) or "a result that has some"}, found "{name}"')
    return next(function for figure, _, function in FIGURES if figure == name)(report, ax)
