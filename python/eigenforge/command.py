"""The command ``eigenforge``: of this process's words, and of a call's.

In: the words and options of a verb. Out: what it prints as JSON, as a :class:`Output`; what it refuses, as an exception.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import _eigenforge, tools
from .errors import EigenforgeError, InputError, NotConvergedWarning, RunError
from .matrix import Matrix
from .model import Model
from .results import Record

#: The exit code of a run that has not converged.
NOT_CONVERGED = 3
#: Of a process of its own: Python's path is that of the caller.
START = "import sys; sys.path[:0] = [{folder!r}]; from eigenforge.command import main; main()"


class Output(Record):
    """What a verb of the command printed as JSON. ``converged`` is False where it says so, ``remarks`` are its warnings."""

    def __init__(self, data: dict[str, Any], code: int, remarks: list[str]) -> None:
        super().__init__(data)
        self.converged = code != NOT_CONVERGED
        self.remarks = remarks


def command(*words: Any, **options: Any) -> Any:
    """Runs a verb of the command in a process of its own: ``command("su3", "count", n_max=14)`` is ``eigenforge su3 count --n-max 14``.

    Words are the verb, files, or a :class:`Model` or :class:`Matrix` in place of a file. Options have ``_`` for ``-``; True is an option without a
    value, False and None leave it out, a list has its entries with commas, an array becomes a .npz file. ``VERBS`` lists verbs with their options.

    Returns an :class:`Output` with the names of the verb's JSON, a list where that is one, and the text of a verb without JSON.
    Errors are those of other calls. Ctrl-C is passed on once: the verb ends as on a terminal.
    """
    verb = _verb(words)
    known = dict(VERBS)[verb]
    with contextlib.ExitStack() as stack:
        line = [stack.enter_context(_word(word)) for word in words]
        for name, value in options.items():
            option = name.replace("_", "-")
            if option not in known:
                raise InputError(f"eigenforge {verb} has no option {name!r}", f"it has {', '.join(each.replace('-', '_') for each in known)}")
            line += stack.enter_context(_option(option, value))
        # Only the plan is JSON there.
        wants_json = "json" in known and "json" not in options and (verb != "inspect" or options.get("stage") == "cost")
        code, text, said = _run([*line, "--json"] if wants_json else line)
    return _outcome(code, text, said)


#: The verbs with the names of their options.
VERBS: list[tuple[str, list[str]]] = _eigenforge.verbs()


def _verb(words: tuple[Any, ...]) -> str:
    first = [word for word in words[:2] if isinstance(word, str)]
    names = [name for name, _ in VERBS]
    for count in (2, 1):
        if len(first) >= count and " ".join(first[:count]) in names:
            return " ".join(first[:count])
    raise InputError(f"expected a verb of the command, found {' '.join(first)!r}", f"it has {', '.join(names)}")


@contextlib.contextmanager
def _word(word: Any) -> Iterator[str]:
    """A word, or the path of a file of a model or a matrix."""
    if isinstance(word, Matrix):
        from scipy import sparse

        row_start, columns, values = word.elements
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "matrix.npz"
            size = len(row_start) - 1
            sparse.save_npz(file, sparse.csr_matrix((values, columns.astype(np.int64), row_start.astype(np.int64)), shape=(size, size)))
            yield str(file)
    elif isinstance(word, Model):
        # Beside the files that it names.
        with tempfile.NamedTemporaryFile("w", suffix=".toml", prefix=".", dir=word.folder, encoding="utf-8") as written:
            written.write(word.to_toml())
            written.flush()
            yield written.name
    elif isinstance(word, (str, os.PathLike, int, float)):
        yield os.fspath(word) if isinstance(word, os.PathLike) else str(word)
    else:
        raise InputError(f"expected a text, a path, a Model or a Matrix, found {type(word).__name__}")


@contextlib.contextmanager
def _option(option: str, value: Any) -> Iterator[list[str]]:
    if value is None or value is False:
        yield []
    elif value is True:
        yield [f"--{option}"]
    elif isinstance(value, np.ndarray) and value.ndim:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{option}.npz"
            np.savez(file, **{option: value})  # type: ignore[arg-type]
            yield [f"--{option}={file}"]
    elif isinstance(value, (list, tuple, range)):
        yield [f"--{option}={','.join(map(str, value))}"]
    else:
        with _word(value.item() if isinstance(value, np.generic) else value) as text:
            yield [f"--{option}={text}"]


def _run(line: list[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command."""
    start = START.format(folder=str(Path(__file__).resolve().parent.parent))
    # A session of its own: signals come from here alone.
    child = subprocess.Popen(
        [sys.executable, "-c", start, *line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            text, said = child.communicate()
            break
        except KeyboardInterrupt as heard:
            interrupt = heard
            child.send_signal(signal.SIGINT)
        except BaseException:
            child.kill()
            raise
    if interrupt is not None and child.returncode != 0:
        interrupt.add_note(said.strip()) if hasattr(interrupt, "add_note") else None
        raise interrupt
    return child.returncode, text, said


def _outcome(code: int, text: str, said: str) -> Any:
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = None
    if isinstance(found, dict) and {"error", "kind", "code"} <= found.keys():
        raise _error(found["kind"], found["error"], found.get("help"), found.get("problems"))
    remarks = [line.removeprefix("warning: ") for line in said.splitlines() if line.startswith("warning: ")]
    if found is None and code not in (0, NOT_CONVERGED) and not text:
        raise _error("input" if code == 2 else "fault", said.strip() or f"the command ended with {code}")
    if code == NOT_CONVERGED:
        warnings.warn("the result has not converged; see its warnings", NotConvergedWarning, stacklevel=3)
    if isinstance(found, dict):
        return Output(found, code, remarks)
    if isinstance(found, list):
        return [Record(entry) if isinstance(entry, dict) else entry for entry in found]
    return text


def _error(kind: str, error: str, help: str | None = None, problems: list[dict[str, Any]] | None = None) -> EigenforgeError:
    return (InputError if kind in ("input", "command line") else RunError)(error, help, problems)


def main() -> None:
    """Runs the command line of this process."""
    tools.find_compiler()
    # The command has signals of its own.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_eigenforge.command(["eigenforge", *sys.argv[1:]]))
