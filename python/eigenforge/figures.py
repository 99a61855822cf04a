"""Figures of results, by matplotlib: what ``result.plot()`` draws.

In: the report of a run, with the names of the command's JSON. Out: matplotlib's Axes, or of several quantities an array of them. Energies are in the
unit of the amplitudes, momenta in one over the nearest-neighbour distance, entropies in nats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .zone import cell_polygon, copies_in_cell

if TYPE_CHECKING:
    from .lattice import Lattice

#: Marks of the total spins 0, 1/2, 1, … and of what has none.
MARKS = "os^Dv<>ph*"
#: Curves up to which a spectrum is drawn as lines, and panels of a figure.
MOST_LINES, MOST_PANELS = 4, 9
PI = "π"


def axes(ax: Any) -> Any:
    """The axes to draw on: those that are given, or those of a new figure."""
    if ax is not None:
        return ax
    return _pyplot().subplots(layout="constrained")[1]


def panels(count: int, ax: Any) -> NDArray[Any]:
    """Axes for several quantities: a new figure of up to three columns."""
    if ax is not None:
        given = np.ravel(np.asarray(ax, dtype=object))
        if len(given) < count:
            raise InputError(f"expected {count} axes, found {len(given)}", "leave `ax` out for a new figure")
        return given[:count]
    columns = min(count, 3 if count > 4 else 2)
    rows = -(-count // columns)
    grid = _pyplot().subplots(rows, columns, figsize=(3.6 * columns, 2.6 * rows), layout="constrained", squeeze=False)[1]
    flat = grid.ravel()
    for empty in flat[count:]:
        empty.set_axis_off()
    return np.asarray(flat[:count], dtype=object)


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError("figures need matplotlib, which is not installed", "pip install matplotlib, or eigenforge[plot]") from error
    return pyplot


def _levels(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Levels with `energy`, `spins` and, of all sectors, `sectors`."""
    return [{**level, "spins": level.get("spins") or (level.get("spin") or {}).get("spins") or []} for level in report.get("levels") or []]


def _mark(spin: float | None) -> str:
    return "x" if spin is None else MARKS[round(2 * spin) % len(MARKS)]


def _spin_name(spin: float) -> str:
    return f"S = {spin:g}" if float(spin).is_integer() else f"S = {round(2 * spin)}/2"


def _of_sector(sector: dict[str, Any]) -> tuple[tuple[int, ...], str]:
    """The whole numbers of a sector's momentum, none of a named point, and its name by momentum and irrep; "" of a run of one sector."""
    momentum, values = sector.get("momentum") or {}, sector.get("values") or {}
    point, k = point_name(momentum), tuple(momentum.get("k", ()))
    name = point or (f"k = {_whole(k)}" if k else "")
    return () if point else k, " ".join(word for word in (name, values.get("symmetry.irrep") or "") if word)


def point_name(momentum: dict[str, Any]) -> str:
    """The name of a point of high symmetry; "" of others."""
    name: str = momentum.get("point") or ""
    return {"Gamma": "Γ", "Pi": PI}.get(name, name)


def _whole(k: Sequence[int]) -> str:
    return str(k[0]) if len(k) == 1 else "(" + ", ".join(map(str, k)) + ")"


def tower(report: dict[str, Any], ax: Any = None) -> Any:
    """E against S(S + 1): colours by momentum and irrep, marks by the total spin."""
    ax = axes(ax)
    points: dict[tuple[tuple[int, ...], str], list[tuple[float, float]]] = {}
    for level in _levels(report):
        for sector in level.get("sectors") or [level]:
            name = _of_sector(sector)
            for entry in sector.get("spins") or level["spins"]:
                points.setdefault(name, []).append((entry["s"] * (entry["s"] + 1), level["energy"]))
    for number, ((_, label), energies) in enumerate(sorted(points.items())):
        x, y = np.array(energies).T
        # Neighbours in the legend lie beside each other.
        shift = 0.0 if len(points) == 1 else 0.18 * (number / (len(points) - 1) - 0.5)
        ax.plot(x + shift, y, MARKS[number % len(MARKS)], label=label or None, mfc="none" if number >= len(MARKS) else None, ms=5)
    spins = sorted({entry["s"] for level in _levels(report) for entry in level["spins"]})
    ax.set_xticks([s * (s + 1) for s in spins], [f"{s * (s + 1):g}" for s in spins])
    ax.set(xlabel="S(S + 1)", ylabel="E")
    if any(name for _, name in points):
        ax.legend(fontsize="x-small", ncols=1 + len(points) // 12)
    return ax


def dispersion(report: dict[str, Any], ax: Any = None) -> Any:
    """E(k) of the levels of all momenta; marks by the total spin."""
    ax = axes(ax)
    momenta: dict[tuple[int, ...], tuple[dict[str, Any], list[tuple[float, float | None]]]] = {}
    for level in _levels(report):
        for sector in level["sectors"]:
            momentum = sector["momentum"]
            spins = [entry["s"] for entry in sector.get("spins") or []] or [None]
            entries = momenta.setdefault(tuple(momentum["k"]), (momentum, []))[1]
            entries.extend((level["energy"], spin) for spin in spins)
    along = all(len(k) == 1 for k in momenta)
    keys = sorted(momenta)
    if along:
        places = [2 * max(momenta[key][0]["fraction"]) for key in keys]
        ax.set_xlabel(f"q/{PI}")
    else:
        places = list(range(len(keys)))
        names = [point_name(momenta[key][0]) or _whole(key) for key in keys]
        ax.set_xticks(places, names, rotation=90 if len(keys) > 8 else 0, fontsize="small")
        ax.set_xlabel("momentum")
    lowest = [min(energy for energy, _ in momenta[key][1]) for key in keys]
    ax.plot(places, lowest, "-", color="0.8", zorder=0)
    drawn: dict[float | None, list[tuple[float, float]]] = {}
    for place, key in zip(places, keys, strict=True):
        for energy, spin in momenta[key][1]:
            drawn.setdefault(spin, []).append((place, energy))
    for spin, found in sorted(drawn.items(), key=lambda entry: -1.0 if entry[0] is None else entry[0]):
        x, y = np.array(found).T
        ax.plot(x, y, _mark(spin), ms=5, mfc="none", label=None if spin is None else _spin_name(spin))
    ax.set_ylabel("E")
    if any(spin is not None for spin in drawn):
        ax.legend(fontsize="small")
    return ax


def energies(report: dict[str, Any], ax: Any = None) -> Any:
    """Energies against the number that a sweep changes; of one run its levels as lines."""
    ax = axes(ax)
    if "points" not in report:
        for level in _levels(report) or [{"energy": energy, "spins": []} for energy in report["energies"]]:
            ax.plot([0, 1], [level["energy"]] * 2, "-", color="C0")
            spins = ", ".join(_spin_name(entry["s"]) for entry in level["spins"])
            ax.annotate(spins, (1.02, level["energy"]), fontsize="x-small", va="center", annotation_clip=False)
        ax.set_xticks([])
        ax.set(xlim=(-0.5, 1.5), ylabel="E")
        return ax
    key = swept_number(report)
    if key is None:
        raise InputError("a line needs one key whose values are numbers", 'plot("tower"), plot("dispersion") or to_pandas()')
    rows = sorted((point["values"][key], point["energies"]) for point in report["points"] if point["energies"])
    for state in range(max((len(found) for _, found in rows), default=0)):
        line = [(x, found[state]) for x, found in rows if len(found) > state]
        ax.plot(*np.array(line).T, "o-", ms=4, label=f"E{state}")
    ax.set(xlabel=key.rsplit(".", 1)[-1], ylabel="E")
    ax.legend(fontsize="small")
    return ax


def swept_number(report: dict[str, Any]) -> str | None:
    """The one key of a sweep whose values are numbers."""
    keys = report.get("keys") or []
    values = [point["values"].get(keys[0]) for point in report["points"]] if len(keys) == 1 else []
    is_number = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in values]
    return keys[0] if values and all(is_number) else None


def structure_factor(report: dict[str, Any], ax: Any = None) -> Any:
    """S(q): over the first Brillouin zone, or of one periodic direction from 0 to 2π."""
    ax = axes(ax)
    found = report["structure_factor"]
    name = {"sdots": "S(q)", "szsz": "Szz(q)"}.get(found["observable"], found["observable"])
    periods, values = report["lattice"]["periods"], np.array([entry["value"] for entry in found["values"]])
    if len(periods) < 2:
        # Ladders have a line for each momentum of their rungs.
        along = int(np.argmax(np.abs(periods[0]))) if periods else 0
        q = 2 * np.array([entry["fraction"] for entry in found["values"]])
        for other in np.unique(q[:, 1 - along].round(9)):
            chosen = np.flatnonzero(abs(q[:, 1 - along] - other) < 1e-6)
            order = chosen[np.argsort(q[chosen, along])]
            ax.plot(q[order, along], values[order], "o-", ms=4, label=f"across: {other:.4g} {PI}")
        ax.set(xlabel=f"q/{PI}", ylabel=name)
        if len(ax.lines) > 1:
            ax.legend(fontsize="small")
        return ax
    from matplotlib.collections import PolyCollection

    reciprocal = np.array(report["lattice"]["reciprocal_vectors"])
    q = np.array([entry["cartesian"] for entry in found["values"]])
    places, numbers = copies_in_cell(q, reciprocal)
    # Around each momentum the part of the zone that is nearest to it.
    period = np.array(periods, dtype=float) @ np.array(report["lattice"]["vectors"])
    tile = cell_polygon(2 * np.pi * np.linalg.inv(period).T)
    values = structure_factor_at(report, places)
    shapes = PolyCollection([tile + place for place in places], array=values, cmap="viridis", edgecolors="face")
    ax.add_collection(shapes)
    zone = cell_polygon(reciprocal)
    ax.plot(*np.vstack([zone, zone[:1]]).T, color="white", lw=2)
    ax.plot(*np.vstack([zone, zone[:1]]).T, color="black", lw=1)
    named = {numbers[i]: place for i, place in enumerate(places)}
    for number, place in named.items():
        name_of_point = point_name(found["values"][number])
        if name_of_point:
            box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8}
            ax.annotate(name_of_point, place, ha="center", va="center", fontsize="small", bbox=box)
    ax.set(aspect="equal", xlabel="q$_x$", ylabel="q$_y$")
    ax.autoscale_view()
    ax.figure.colorbar(shapes, ax=ax, label=name)
    return ax


def structure_factor_at(report: dict[str, Any], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/N Σ_ij e^(−iq·(r_i − r_j)) ⟨A_i A_j⟩ at momenta (·, 2): where a cell has several sites it differs from copy to copy of a momentum."""
    pairs = np.array(report["observables"][report["structure_factor"]["observable"]], dtype=float)
    waves = np.exp(1j * q @ np.array(report["lattice"]["positions"]).T)
    found: NDArray[np.float64] = np.einsum("qi,ij,qj->q", waves.conj(), pairs, waves).real / len(pairs)
    return found


def convergence(report: dict[str, Any], ax: Any = None) -> Any:
    """Residuals by iteration; of DMRG the energy above its last value, and the discarded weight, by sweep."""
    ax = axes(ax)
    if "sweeps" in report:
        steps = np.arange(1, len(report["sweeps"]) + 1)
        excess = np.array([sweep["energy"] for sweep in report["sweeps"]]) - report["energies"][0]
        ax.semilogy(steps, np.where(abs(excess) > 0, abs(excess), np.nan), "o-", label="|E − E of the end|")
        dropped = np.array([sweep["discarded"] for sweep in report["sweeps"]])
        ax.semilogy(steps, np.where(dropped > 0, dropped, np.nan), "s--", label="discarded weight")
        ax.set_xlabel("sweep")
        ax.xaxis.get_major_locator().set_params(integer=True)
    else:
        history = report["history"]
        steps = np.array([entry["iteration"] for entry in history])
        residuals = np.array([np.nan if entry["residual"] is None else entry["residual"] for entry in history], dtype=float)
        ax.semilogy(steps, residuals, "o-", ms=3, label="largest residual")
        ax.axhline(report["tolerance"] * report["norm"], color="0.5", ls=":", label="tolerance × ‖H‖")
        ax.set(xlabel="iteration", ylabel="‖Hx − λx‖")
    ax.legend(fontsize="small")
    return ax


def entropies(report: dict[str, Any], ax: Any = None) -> Any:
    """The entropy of each cut of a chain of DMRG."""
    ax = axes(ax)
    cuts = report["cuts"]
    ax.plot([cut["left_sites"] for cut in cuts], [cut["entropy"] for cut in cuts], "o-", ms=3)
    ax.set(xlabel="sites left of the cut", ylabel="entropy", ylim=(0, None))
    return ax


def magnetisation(report: dict[str, Any], ax: Any = None) -> Any:
    """Sz of the lowest state of H − h Sz against the field h."""
    ax = axes(ax)
    steps = report["magnetisation"]["steps"]
    last = steps[-1]["from"] or 0.0
    end = last + 0.15 * (last - (steps[0]["from"] or 0.0) or 1.0)
    fields = np.array([step["from"] for step in steps] + [end], dtype=float)
    ax.stairs([step["two_sz"] / 2 for step in steps], fields, baseline=None, lw=1.5)
    ax.set(xlabel="h", ylabel="Sz")
    return ax


def lattice(lattice: Lattice, ax: Any = None) -> Any:
    """Sites and bonds; a bond across a periodic boundary is dashed, half of it at either end."""
    if not len(lattice.record.positions):
        raise InputError("a list of edges has no positions: its lattice cannot be drawn")
    ax = axes(ax)
    place = lattice.positions
    for i, j, weight in lattice.bonds:
        way, straight = lattice.displacement(i, j), place[j] - place[i]
        width = {"lw": max(0.3, min(3.0, 1.2 * abs(weight))), "color": "C0" if weight >= 0 else "C3", "zorder": 1}
        if way is None or np.allclose(way, straight):
            ax.plot(*np.array([place[i], place[j]]).T, "-", **width)
        else:
            for start, step in ((i, way), (j, [-way[0], -way[1]])):
                ax.plot(*np.array([place[start], place[start] + 0.5 * np.array(step)]).T, ":", **width)
    ax.plot(*place.T, "o", ms=14, mfc="white", mec="C0", zorder=2)
    for site, (x, y) in enumerate(place):
        ax.annotate(str(site), (x, y), ha="center", va="center", fontsize="small", zorder=3)
    ax.set_aspect("equal")
    ax.margins(0.1)
    ax.set_axis_off()
    return ax
