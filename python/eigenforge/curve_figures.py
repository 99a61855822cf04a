"""Figures of spectra, temperatures and times, by matplotlib: what ``result.plot()`` draws of these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .figures import MOST_LINES, MOST_PANELS, axes, panels, point_name


def _numbers(values: Any) -> NDArray[np.float64]:
    """Numbers with null as NaN."""
    return np.array(values, dtype=float)


def _momentum(q: dict[str, Any]) -> str:
    return point_name(q) or "(" + ", ".join(f"{number:.3g}" for number in q["cartesian"]) + ")"


def spectrum(report: dict[str, Any], ax: Any = None) -> Any:
    """S(q, ω): lines of up to four momenta, else a map over the momenta; of several temperatures a panel each."""
    temperatures = list(dict.fromkeys(curve["temperature"] for curve in report["curves"]))
    if len(temperatures) > MOST_PANELS:
        raise InputError(f"expected at most {MOST_PANELS} temperatures for a figure, found {len(temperatures)}", "to_pandas() has all")
    several = len(temperatures) > 1
    places = panels(len(temperatures), ax) if several else [axes(ax)]
    for place, temperature in zip(places, temperatures, strict=True):
        curves = [curve for curve in report["curves"] if curve["temperature"] == temperature]
        (_lines if len(curves) <= MOST_LINES else _map)(report, curves, place)
        if temperature is not None:
            place.set_title(f"T = {temperature:g}", fontsize="medium")
    return places if several else places[0]


def _lines(report: dict[str, Any], curves: list[dict[str, Any]], ax: Any) -> None:
    omega = _numbers(report["omega"])
    for curve in curves:
        line, errors = _numbers(curve["curve"]), curve["errors"]
        drawn = ax.plot(omega, line, label=f"q = {_momentum(curve['q'])}")[0]
        if errors is not None:
            ax.fill_between(omega, line - _numbers(errors), line + _numbers(errors), color=drawn.get_color(), alpha=0.3, lw=0)
    ax.set(xlabel="ω", ylabel=f"S(q, ω) of {report['of']}")
    ax.legend(fontsize="small")


def _map(report: dict[str, Any], curves: list[dict[str, Any]], ax: Any) -> None:
    along = _numbers([curve["along"] for curve in curves])
    is_path = bool((np.diff(along) > 0).all())
    place = along if is_path else np.arange(len(curves), dtype=float)
    # Each momentum has the strip that is nearest to it.
    middle = (place[1:] + place[:-1]) / 2
    edges = np.concatenate([[2 * place[0] - middle[0]], middle, [2 * place[-1] - middle[-1]]])
    omega = _numbers(report["omega"])
    half = (omega[1:] + omega[:-1]) / 2
    heights = np.concatenate([[2 * omega[0] - half[0]], half, [2 * omega[-1] - half[-1]]])
    drawn = ax.pcolormesh(edges, heights, _numbers([curve["curve"] for curve in curves]).T, cmap="magma")
    named = [number for number, curve in enumerate(curves) if curve["q"].get("point") or len(curves) <= 12]
    labels = [_momentum(curves[number]["q"]) for number in named]
    ax.set_xticks(place[named], labels, fontsize="small", rotation=45 if any(len(label) > 5 for label in labels) else 0)
    ax.set(xlabel="q", ylabel="ω", ylim=(omega[0], omega[-1]))
    ax.figure.colorbar(drawn, ax=ax, label=f"S(q, ω) of {report['of']}")


def conductivity(report: dict[str, Any], ax: Any = None) -> Any:
    """Re σ(ω) without its part at ω = 0."""
    ax = axes(ax)
    found = report["conductivity"]
    ax.plot(_numbers(report["omega"]), _numbers(found["curve"]))
    ax.set(xlabel="ω", ylabel="Re σ(ω)")
    return ax


def thermal(report: dict[str, Any], ax: Any = None) -> Any:
    """Every quantity over T, with its standard errors, a panel each."""
    shown = [entry for entry in report["quantities"] if entry["name"] != "ln_z"][:MOST_PANELS]
    T = _numbers(report["temperatures"])
    places = panels(len(shown), ax)
    for place, entry in zip(places, shown, strict=True):
        values, errors = _numbers(entry["values"]), _numbers(entry["errors"])
        drawn = place.plot(T, values, "-" if len(T) > 12 else "o-", ms=3)[0]
        if (errors > 0).any():
            place.fill_between(T, values - errors, values + errors, color=drawn.get_color(), alpha=0.3, lw=0)
        place.set(xlabel="T", ylabel=entry["name"].replace("_", " "))
        if T.min() > 0 and T.max() / T.min() > 20:
            place.set_xscale("log")
    return places


def evolution(report: dict[str, Any], ax: Any = None) -> Any:
    """What was recorded over time, a panel each: numbers as lines, of sites and of the cuts of a chain as maps."""
    times = _numbers(report["times"])
    quantities = [(name, report[name]) for name in ("energy", "echo") if name in report["record"] and report.get(name)]
    quantities += [(entry["name"], entry["values"]) for entry in report["averages"]]
    quantities += [(f"entropy of {len(entry['sites'])} sites", entry["values"]) for entry in report["entropies"]]
    if report.get("chain"):
        quantities.append(("entropy of cuts", report["chain"]["cut_entropies"]))
    quantities = [(name, values) for name, values in quantities if np.ndim(values) <= 2][:MOST_PANELS]
    if not quantities:
        raise InputError("nothing was recorded that a figure shows", 'record=["energy", "echo", …] or entropy=[[0, 1]] of evolve')
    places = panels(len(quantities), ax)
    label = "τ" if report["imaginary"] else "t"
    for place, (name, values) in zip(places, quantities, strict=True):
        array = _numbers(values)
        if array.ndim == 1:
            place.plot(times, array)
            place.set(xlabel=label, ylabel=name)
            if np.ptp(array) < 1e-9 * max(1.0, float(abs(array).max())):
                # A constant is a line in the middle, and not its rounding.
                place.set_ylim(array.mean() - 1, array.mean() + 1)
        else:
            signed = bool((array < 0).any())
            most = float(abs(array).max()) or 1.0
            limits = {"vmin": -most, "vmax": most, "cmap": "RdBu_r"} if signed else {"vmin": 0.0, "vmax": most, "cmap": "viridis"}
            drawn = place.pcolormesh(np.arange(array.shape[1]), times, array, shading="nearest", **limits)
            place.set(xlabel="cut" if name == "entropy of cuts" else "site", ylabel=label)
            place.figure.colorbar(drawn, ax=place, label=name)
    return places
