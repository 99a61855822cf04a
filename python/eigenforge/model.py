"""Models."""

from __future__ import annotations

import contextlib
import copy
import html
import json
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._eigenforge import Operator, ProblemText
from .errors import InputError, NotConvergedWarning
from .lattice import Lattice
from .progress import Progress, reporter
from .results import Record, Result
from .text import plain, sections, toml

if TYPE_CHECKING:
    from .linear import LinearOperator


class Model:
    """A Hamiltonian in a sector, and what is wanted of it: the sections of a model file.

    ``Model(lattice, H)`` with H of operators, or a text (``"sum(<i, j> in bonds; sdots(i, j))"``), or :func:`quspin` lists. ``site`` says what
    a site carries ("electron", "spin 1/2", "boson 4", … or a list) where the operators leave that open; ``parameters`` are the names that a
    text uses. ``Model(lattice, name="hubbard", t=1, u=4)`` is a named model.

    Methods that add to a model return a new one, so that one model may be solved in many sectors.
    """

    def __init__(
        self,
        lattice: Lattice,
        H: Operator | str | dict[str, str] | None = None,
        *,
        site: str | Sequence[str] | None = None,
        parameters: dict[str, Any] | None = None,
        name: str | None = None,
        **keys: Any,
    ) -> None:
        if not isinstance(lattice, Lattice):
            raise InputError(f"expected a Lattice, found {type(lattice).__name__}", "such as Lattice.chain(8)")
        if not isinstance(H, (Operator, str, dict, type(None))):
            raise InputError(f"expected operators, a text or quspin(…) for H, found {type(H).__name__}")
        if (H is None) == (name is None):
            raise InputError('expected either a Hamiltonian or the name of a model, such as name="hubbard"')
        model: dict[str, Any] = {"name": name or "terms", **keys}
        if isinstance(H, Operator):
            model["products"] = H.text()
            model["site"] = site if site is not None else _implied_site(H, len(lattice))
        else:
            model.update({"H": H} if isinstance(H, str) else H or {})
            if site is not None:
                model["site"] = site
        self._sections: dict[str, Any] = plain({"model": model, "lattice": lattice.section})
        if parameters:
            self._sections["parameters"] = plain(parameters, "parameters")
        self._text: str | None = None
        self._folder = Path()
        self._name = "the model"

    @property
    def folder(self) -> Path:
        """Where paths of the model begin: the folder of its file, or the current one."""
        return self._folder

    @property
    def lattice(self) -> Lattice | None:
        """The lattice; None of a molecule."""
        keys = self._sections.get("lattice")
        return Lattice(**keys) if keys else None

    @classmethod
    def from_sections(cls, **keys: dict[str, Any]) -> Model:
        """A model of the sections of a model file: ``Model.from_sections(model={…}, lattice={…}, sector={…})``."""
        model = cls.__new__(cls)
        model._sections = plain(keys)
        model._text, model._folder, model._name = None, Path(), "the model"
        return model

    @classmethod
    def _from_text(cls, text: str, name: str, folder: Path) -> Model:
        ProblemText(name, text, folder, "evolve", "")
        model = cls.from_sections(**sections(text))
        model._text, model._folder, model._name = text, folder, name
        return model

    def section(self, name: str, **keys: Any) -> Model:
        """The model with keys in a section of its file: ``section("dmrg", states=[64, 128])``."""
        before = self._sections.get(name, {})
        if isinstance(before, list):
            raise InputError(f"[[{name}]] is a list of sections: term(), forbid() and charge() add one")
        return self._with(name, {**before, **plain(keys, name)})

    def _with(self, name: str, section: Any) -> Model:
        other = copy.copy(self)
        other._sections = {**self._sections, name: section}
        other._text = None
        return other

    def term(self, **keys: Any) -> Model:
        """The model with another ``[[term]]``: ``term(operators="S+ S-", on="bonds", conjugate=True)``."""
        return self._with("term", [*self._sections.get("term", []), plain(keys, "term")])

    def forbid(self, **keys: Any) -> Model:
        """The model without some states: ``forbid(levels=[1, 1], on="bonds")``."""
        return self._with("forbid", [*self._sections.get("forbid", []), plain(keys, "forbid")])

    def charge(self, **keys: Any) -> Model:
        """The model with a charge that ``sector(charges={"momentum": 1})`` fixes: ``charge(name="momentum", values=[0, 1, 2], modulo=3)``."""
        return self._with("charge", [*self._sections.get("charge", []), plain(keys, "charge")])

    def without(self, *names: str) -> Model:
        """The model without some sections: ``without("sector")`` for all states."""
        other = copy.copy(self)
        other._sections = {name: keys for name, keys in self._sections.items() if name not in names}
        other._text = None
        return other

    def sector(self, **charges: Any) -> Model:
        """The model in a sector: ``up``, ``down``, ``two_sz``, ``particles``, ``bosons``, ``parity``, …"""
        return self.section("sector", **charges)

    def symmetry(self, **keys: Any) -> Model:
        """The model in a symmetry sector: ``k``, ``irrep``, ``reflection``, ``spin_inversion``, …"""
        return self.section("symmetry", **keys)

    def observables(self, **keys: Any) -> Model:
        """The model with observables, operators or texts: ``observables(corner=sz(0) * sz(3), whole="sum(i in sites; sz(i))")``."""
        return self.section("observables", **keys)

    def entanglement(self, **keys: Any) -> Model:
        """The model whose ``solve`` reports density matrices of sets of sites: ``entanglement(sites=[[0, 1, 2]])``."""
        return self.section("entanglement", **keys)

    def dmrg(self, **keys: Any) -> Model:
        """The model as a chain for DMRG."""
        return self.section("dmrg", **keys)

    def to_toml(self) -> str:
        """The model as the text of a model file, which the command runs as well."""
        return self._text if self._text is not None else toml(self._sections)

    def save(self, path: str | Path) -> None:
        """Writes the model file."""
        Path(path).write_text(self.to_toml())

    def _problem(self, verb: str = "", sectors: str = "") -> ProblemText:
        return ProblemText(self._name, self.to_toml(), self._folder, verb, sectors)

    def export(self, output: str | Path, **options: Any) -> Record:
        """Writes H for other programs: ``format`` matrix-market, npz, pauli, qiskit or terms, by the ending of the file if it is left out;
        ``force=True`` overwrites one."""
        return self._command("export", output=output, **options)

    def build(self, arch: str | Sequence[str], **options: Any) -> Record:
        """Compiles the model's kernels into the cache ahead of time: ``build(["sm_80", "sm_90"])``."""
        return self._command("build", arch=arch, **options)

    def tune(self, device: str = "cuda", **options: Any) -> Record:
        """Times the launch shapes of the model's kernels on a card, and keeps the fastest for later runs."""
        return self._command("tune", device=device, **options)

    def _command(self, verb: str, **options: Any) -> Record:
        from .command import command

        found: Record = command(verb, self, **options)
        return found

    def describe(self) -> str:
        """Model, lattice, sector and all defaults."""
        return self._problem().describe()

    def inspect(self, stage: str = "cuda", *, kernel: str | None = None, arch: str | None = None, machine: str | None = None) -> str:
        """A stage between model and machine code: ir, ir-ron, plan, cuda, ptx, sass, resources, cost."""
        return self._problem().inspect(stage, kernel, arch, machine)

    def plan(self, machine: str | None = None) -> dict[str, Any]:
        """Memory, work, choices and kernels of a run on a machine: h200, h100, a100, rtx4090 or cpu."""
        plan: dict[str, Any] = json.loads(self._problem().plan(machine))
        return plan

    def solve(
        self,
        *,
        device: str = "auto",
        vectors: bool | None = None,
        sectors: str = "",
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 30.0,
        resume: bool = False,
        overrides: str | Path | None = None,
        progress: Progress | bool | None = None,
        **keys: Any,
    ) -> Result:
        """Finds the lowest states; with ``which="highest"`` the highest, with ``near=0.3`` those nearest to an energy, with ``states="all"`` all.

        ``states``, ``tolerance``, ``solver``, ``seed`` and others are keys of ``[solve]``, or of ``[dmrg]`` where the model has that section.
        ``sectors="all"`` solves every symmetry sector. Without ``vectors`` eigenvectors come to the host where they have at most 2²⁷ elements
        together. ``progress`` is called with a dict now and then; without it a notebook (with tqdm) and a terminal show it after a second, with
        True always, with False never.
        """
        model = self.section("dmrg" if "dmrg" in self._sections else "solve", **keys) if keys else self
        problem = model._problem(sectors=sectors)
        with _shown(progress) as call:
            options = _options(device, vectors, checkpoint, checkpoint_every, resume, overrides, call)
            report, arrays, remarks = problem.solve(options)
        return _checked(Result(report, arrays, [*problem.notes, *remarks]), problem.folder)

    def spectrum(self, *, device: str = "auto", **keys: Any) -> Result:
        """Spectral functions, of molecules too; keys are those of ``[spectrum]``, and ``checkpoint``, ``checkpoint_every``, ``resume``
        and ``progress`` as of :meth:`solve`."""
        return self._curves("spectrum", device, keys)

    def thermal(self, *, device: str = "auto", **keys: Any) -> Result:
        """Thermal averages; keys are those of ``[thermal]``, and those of :meth:`spectrum`."""
        return self._curves("thermal", device, keys)

    def evolve(self, *, device: str = "auto", **keys: Any) -> Result:
        """A state in time, with ``dmrg`` a matrix-product state, of which ``vectors=True`` keeps the last for :meth:`Result.save`; keys are
        those of ``[evolve]``, and those of :meth:`spectrum`."""
        return self._curves("evolve", device, keys)

    def _curves(self, verb: str, device: str, keys: dict[str, Any]) -> Result:
        checkpoint, progress = keys.pop("checkpoint", None), keys.pop("progress", None)
        every, resume, vectors = keys.pop("checkpoint_every", 30.0), keys.pop("resume", False), keys.pop("vectors", False)
        model = self.section(verb, **keys) if keys else self
        problem = model._problem(verb)
        with _shown(progress) as call:
            options = _options(device, vectors, checkpoint, every, resume, None, call)
            report, remarks = problem.curves(verb, options)
        return _checked(Result(report, None, remarks), problem.folder)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.to_toml())}</pre>"

    def linear_operator(self, device: str = "cpu") -> LinearOperator:
        """H as an operator of SciPy's, in the order of :meth:`basis`."""
        from .linear import LinearOperator

        return LinearOperator(self._problem().multiply(device))

    def basis(self) -> dict[str, NDArray[np.uint64]]:
        """The basis states: ``states``, or for electrons in a sector of ``up`` and ``down`` ``up_states`` and ``down_states``, of which the up
        index runs fastest."""
        return self._problem().basis()

    def to_scipy(self) -> Any:
        """H as a ``scipy.sparse.csr_matrix`` in the order of :meth:`basis`."""
        from scipy.sparse import load_npz

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "matrix.npz"
            self._problem().write_matrix(file)
            return load_npz(file)

    def __repr__(self) -> str:
        return f"<Model {self._sections.get('model', {}).get('name', 'ci')}: {', '.join(self._sections)}>"


def _options(
    device: str,
    vectors: bool | None,
    checkpoint: str | Path | None,
    checkpoint_every: float,
    resume: bool,
    overrides: str | Path | None,
    progress: Progress | None,
) -> dict[str, Any]:
    for name, value, fits in [
        ("device", device, isinstance(device, str)),
        ("vectors", vectors, vectors is None or isinstance(vectors, bool)),
        ("resume", resume, isinstance(resume, bool)),
    ]:
        if not fits:
            raise InputError(f"{name}: found {value!r} of type {type(value).__name__}")
    if progress is not None and not callable(progress):
        raise InputError(f"progress: expected something that can be called with a dict, found {progress!r}")
    if not (isinstance(checkpoint_every, (int, float)) and 0 < checkpoint_every < float("inf")):
        raise InputError(f"checkpoint_every: expected a positive number of seconds, found {checkpoint_every!r}")
    if resume and checkpoint is None:
        raise InputError("resume=True needs the folder that the state was saved to: checkpoint=…")
    return {
        "device": device,
        "vectors": vectors,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "resume": resume,
        "overrides": overrides,
        "progress": progress,
    }


@contextlib.contextmanager
def _shown(progress: Progress | bool | None) -> Iterator[Any]:
    """What a run calls on its way."""
    own = reporter(progress)
    if own is None:
        yield None if isinstance(progress, bool) else progress
    else:
        with own:
            yield own


def _checked(result: Result, folder: Path | None) -> Result:
    if folder is not None:
        result.save(folder)
    if not result.converged:
        text = "the result has not converged; see its residuals and warnings"
        warnings.warn(text, NotConvergedWarning, stacklevel=3)
    return result


def _implied_site(operator: Operator, sites: int) -> str | list[str]:
    """What the words of an operator say that sites carry."""
    kinds: dict[int, set[str]] = {}
    for site, kind in operator.site_kinds():
        kinds.setdefault(site, set()).add(kind)
    for site, found in kinds.items():
        # Electrons have spins too.
        if found == {"electron", "spin 1/2"}:
            kinds[site] = {"electron"}
        elif len(found) > 1:
            raise InputError(f"site {site} has operators of {' and '.join(sorted(found))}: a site carries one of them")
    named = [next(iter(found)) for found in kinds.values()]
    if not named or "n" in {word for _, words in operator.terms for word, site in words if site not in kinds}:
        advice = 'say what a site carries, such as site="electron", "spin 1", "boson 4", "flavours 3", or a list of one a site'
        raise InputError(f"the operators leave open what the sites carry: {advice}")
    if len(set(named)) == 1:
        return named[0]
    missing = [site for site in range(sites) if site not in kinds]
    if missing:
        raise InputError(f"site {missing[0]} has no operator that says what it carries: give a list `site` of one a site")
    return [next(iter(kinds[site])) for site in range(sites)]


def read(path: str | Path) -> Model:
    """The model of a model file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: a model file is TOML") from error
    return Model._from_text(text, str(path), path.parent)


def parse(text: str) -> Model:
    """The model of the text of a model file."""
    return Model._from_text(text, "the text", Path())


def molecule(fcidump: str | Path | dict[str, Any], **keys: Any) -> Model:
    """Configuration interaction with the integrals of an FCIDUMP file; keys are those of ``[ci]``."""
    return Model.from_sections(ci={"fcidump": fcidump, **keys})


def sweep(*values: Any) -> dict[str, Any]:
    """Values for a key, of which each is solved: ``Model(lat, name="hubbard", t=1, u=sweep(2, 4, 8))``, or ``sweep({"from": 0, "to": 1,
    "points": 5})``."""
    if len(values) == 1 and isinstance(values[0], dict):
        return {"sweep": values[0]}
    return {"sweep": list(values[0]) if len(values) == 1 and np.ndim(values[0]) else list(values)}
