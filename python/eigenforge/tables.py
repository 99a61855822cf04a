"""Results as tables: rows for pandas, and HTML for notebooks.

In: the report of a run, with the names of the command's JSON. Out: columns by name, those of sweep.csv, tower.csv, spectrum.csv, thermal.csv and
evolution.csv.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import InputError

#: Entries of a list that HTML shows.
SHOWN = 6
Rows = list[dict[str, Any]]


def _short(key: str, others: list[str]) -> str:
    """A key without its section, where that leaves it different from others."""
    name = key.rsplit(".", 1)[-1]
    return name if [other.rsplit(".", 1)[-1] for other in others].count(name) == 1 else key


def _spread(name: str, value: Any) -> dict[str, Any]:
    """A list as numbered columns."""
    return {f"{name}_{i}": entry for i, entry in enumerate(value)} if isinstance(value, list) else {name: value}


def _keys(point: dict[str, Any], keys: list[str]) -> dict[str, Any]:
    """The values of the swept keys at a point."""
    row: dict[str, Any] = {}
    for key, value in point["values"].items():
        row |= _spread(_short(key, keys), value)
    return row


def _headline(verb: str, report: dict[str, Any]) -> dict[str, Any]:
    """Numbers that stand for the curves of a point."""
    if verb == "spectrum":
        drude = (report.get("conductivity") or {}).get("drude_weight")
        return {"energy": report["energy"], "weight": report["total_weight"]} | ({} if drude is None else {"drude_weight": drude})
    if verb == "thermal":
        heat: list[float] = next((entry["values"] for entry in report["quantities"] if entry["name"] == "heat_capacity"), [])
        largest = max(zip(heat, report["temperatures"], strict=True), default=None)
        return {"lowest": report["lowest"]} | ({} if largest is None else {"largest_c": largest[0], "at_t": largest[1]})
    last = {name: values[-1] if (values := report.get(name)) else None for name in ("energy", "echo")}
    return {**last, "bound": report["bound"]}


def points(report: dict[str, Any]) -> Rows:
    """A sweep, a row for each point."""
    rows = []
    for point in report["points"]:
        row = _keys(point, report["keys"])
        if "verb" in report:
            rows.append({**row, **_headline(report["verb"], point["report"]), "seconds": point["seconds"], "converged": point["converged"]})
            continue
        row["dimension"] = point["dimension"]
        for i, energy in enumerate(point["energies"]):
            row[f"energy_{i}"] = energy
            for column, name in (("multiplicities", "multiplicity"), ("s", "s"), ("s_squared", "s_squared")):
                values = point.get(column) or []
                if i < len(values):
                    row[f"{name}_{i}"] = values[i]
        certificates = [number for number in point.get("certificates") or [] if number is not None]
        row[f"largest_{report['certificate']}"] = max(certificates, default=None)
        for name, value in (point.get("observables") or {}).items():
            if isinstance(value, (int, float)) and name != "averaged_over":
                row[name if name not in row else f"{name}_"] = value
        rows.append({**row, "seconds": point["seconds"], "converged": point["converged"]})
    return rows


def levels(report: dict[str, Any]) -> Rows:
    """The levels; of all sectors a row for each level, sector and total spin."""
    rows = []
    lowest = min((level["energy"] for level in report["levels"]), default=0.0)
    for level in report["levels"]:
        start = {
            "energy": level["energy"],
            "above": level["energy"] - lowest,
            "multiplicity": level.get("states", level.get("multiplicity")),
            "complete": level["complete"],
        }
        for sector in level.get("sectors") or [{}]:
            keys = sector.get("values") or {}
            spins = sector.get("spins") or level.get("spins") or (level.get("spin") or {}).get("spins")
            for entry in spins or [{}]:
                s = entry.get("s")
                row = {**start, "s": s, "s_s_plus_1": None if s is None else s * (s + 1), "states": entry.get("states", sector.get("states"))}
                for key, value in keys.items():
                    row |= _spread(_short(key, list(keys)), value)
                momentum = sector.get("momentum")
                if momentum:
                    row |= {"q_x": momentum["cartesian"][0], "q_y": momentum["cartesian"][1], "q_name": momentum.get("point")}
                rows.append(row)
    return rows


def states(report: dict[str, Any]) -> Rows:
    """A row for each state."""
    columns = {"energies": "energy", "residuals": "residual", "uncertainties": "uncertainty", "multiplicities": "multiplicity"}
    found = {columns.get(key, key): report[key] for key in (*columns, "s_squared") if report.get(key)}
    return [{name: values[i] for name, values in found.items() if i < len(values)} for i in range(len(report["energies"]))]


def curves(report: dict[str, Any]) -> Rows:
    """A row for each ω, momentum and temperature."""
    rows = []
    for curve in report["curves"]:
        start = {"q_x": curve["q"]["cartesian"][0], "q_y": curve["q"]["cartesian"][1], "q_name": curve["q"].get("point")}
        if curve["temperature"] is not None:
            start["temperature"] = curve["temperature"]
        errors = curve["errors"] or [None] * len(curve["curve"])
        for omega, value, error in zip(report["omega"], curve["curve"], errors, strict=True):
            rows.append({**start, "omega": omega, "value": value} | ({} if error is None else {"error": error}))
    return rows


def quantities(report: dict[str, Any]) -> Rows:
    """A row for each temperature."""
    rows = [{"temperature": T} for T in report["temperatures"]]
    for entry in report["quantities"]:
        for row, value, error in zip(rows, entry["values"], entry["errors"], strict=True):
            row |= {entry["name"]: value, f"{entry['name']}_error": error}
    return rows


def times(report: dict[str, Any]) -> Rows:
    """A row for each time."""
    named = [(name, report[name]) for name in ("energy", "echo", "log_norm", "bounds") if report.get(name)]
    named += [(entry["name"], entry["values"]) for entry in report["averages"]]
    named += [("S_" + "_".join(map(str, entry["sites"])), entry["values"]) for entry in report["entropies"]]
    rows: Rows = [{"t": t} for t in report["times"]]
    for name, values in named:
        for row, value in zip(rows, values, strict=True):
            row |= _spread(name, value)
    return rows


def _of_points(name: str) -> Callable[[dict[str, Any]], Rows]:
    """The tables of all points of a sweep below each other, each row with the values of the keys."""

    def rows(report: dict[str, Any]) -> Rows:
        return [{**_keys(point, report["keys"]), **row} for point in report["points"] for row in table(point["report"], name)]

    return rows


def plain(rows: Rows) -> Rows:
    """A list of the report as it is, without what is nested in its objects."""
    return [{key: value for key, value in row.items() if not isinstance(value, (dict, list))} for row in rows]


#: The tables with columns of their own; the first that a report has is that of ``to_pandas()``.
TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], Rows]]] = {
    "points": ("points", points),
    "curves": ("curves", curves),
    "quantities": ("quantities", quantities),
    "times": ("averages", times),
    "states": ("residuals", states),
    "levels": ("levels", levels),
}


#: The table of a point of a sweep of curves, by the verb.
SWEPT = {"spectrum": "curves", "thermal": "quantities", "evolve": "times"}


def table(report: dict[str, Any], name: str | None) -> Rows:
    """The rows of a table by its name."""
    if "points" in report and name is not None and name == SWEPT.get(report.get("verb", "")):
        return _of_points(name)(report)
    known = [own for own, (key, _) in TABLES.items() if report.get(key) is not None and (own != "levels" or report[key])]
    lists = [key for key, value in report.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if name is None:
        if not known:
            return states(report) if report.get("energies") else plain(report[lists[0]]) if lists else []
        name = known[0]
    if name in known:
        return TABLES[name][1](report)
    if name in lists:
        return plain(report[name])
    every = ", ".join(dict.fromkeys([*known, *lists]))
    raise InputError(f'expected a table of {every or "a result that has some"}, found "{name}"')


def as_html(report: dict[str, Any]) -> str:
    """An object as a table of its keys."""
    left = "style='text-align:left'"
    rows = (f"<tr><th {left}>{html.escape(key)}</th><td {left}>{_cell(value)}</td></tr>" for key, value in report.items())
    return f"<table>{''.join(rows)}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(value)
        return f"<i>{html.escape(keys)}</i>"
    if isinstance(value, list):
        if not value:
            return ""
        shape = np.shape(value) if not any(isinstance(entry, (dict, str)) for entry in value) and _is_even(value) else (len(value),)
        if len(shape) > 1 or isinstance(value[0], dict):
            return "<i>" + " × ".join(map(str, shape)) + "</i>"
        more = ", …" if len(value) > SHOWN else ""
        return html.escape(", ".join(_number(entry) for entry in value[:SHOWN]) + more)
    text = _number(value)
    return html.escape(text if len(text) <= 200 else text[:200] + " …")


def _is_even(value: list[Any]) -> bool:
    """Whether NumPy takes a list of lists as an array."""
    try:
        np.shape(value)
    except ValueError:
        return False
    return True


def _number(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else "" if value is None else str(value)
