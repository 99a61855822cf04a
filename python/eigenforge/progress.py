"""Progress of a run: a bar of tqdm in a notebook, a line on a terminal."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

#: Called with a dict of phase, iteration, energies, residual, tolerance, elapsed and remaining.
Progress = Callable[[dict[str, Any]], None]
#: Seconds after which a run shows its progress, and between two lines of it.
QUIET, EVERY = 1.0, 0.2


def reporter(wish: Progress | bool | None) -> Reporter | None:
    """Who shows the progress of a run: True always, False nobody; None in a notebook or on a terminal, after a second."""
    if wish is False or wish is not True and (wish is not None or not (is_notebook() or sys.stderr.isatty())):
        return None
    return Reporter(0.0 if wish is True else QUIET)


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class Reporter:
    """Shows what it is called with; a context that takes it away."""

    def __init__(self, quiet: float) -> None:
        self._from = time.monotonic() + quiet
        self._bar: Any = None
        self._width = 0
        self._first: tuple[str, float] | None = None

    def __call__(self, step: dict[str, Any]) -> None:
        now = time.monotonic()
        if now < self._from:
            return
        self._from = now + EVERY
        text, done = self._text(step), self._done(step)
        if is_notebook() and self._make_bar():
            self._bar.n = round(100 * done) if done is not None else self._bar.n
            self._bar.set_description_str(text)
            return
        line = text if done is None else f"{text}, {100 * done:.0f} %"
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def _text(self, step: dict[str, Any]) -> str:
        energies = step.get("energies") or []
        energy = f", E = {energies[0]:.10g}" if energies else ""
        residual = f", residual {step['residual']:.1e}" if step.get("residual") is not None else ""
        left = step.get("remaining")
        left = f", {left:.0f} s left" if left is not None and math.isfinite(left) else ""
        return f"{step['phase']} {step['iteration']}{energy}{residual}{left}"

    def _done(self, step: dict[str, Any]) -> float | None:
        """The part of the way from the first residual of a phase to the tolerance, in digits."""
        residual, tolerance = step.get("residual"), step.get("tolerance")
        if not residual or not tolerance:
            return None
        if self._first is None or self._first[0] != step["phase"]:
            self._first = (step["phase"], residual)
        way = math.log(self._first[1] / tolerance)
        return min(1.0, max(0.0, math.log(self._first[1] / residual) / way)) if way > 0 else 1.0

    def _make_bar(self) -> bool:
        if self._bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return False
            self._bar = tqdm(total=100, leave=False, bar_format="{desc} |{bar}| {percentage:3.0f} %")
        return True

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
