"""What can go wrong."""

from __future__ import annotations

from typing import Any


class EigenforgeError(Exception):
    """Any error of eigenforge.

    Attributes
    ----------
    message: the error in words.
    help: what to do, where that is known.
    problems: each problem of a model, as dicts of ``error``, ``help``, ``line`` and ``column`` in the text that ``Model.to_toml`` gives.
    excerpt: the places in that text, as the command shows them.
    """

    def __init__(
        self,
        message: str,
        help: str | None = None,
        problems: list[dict[str, Any]] | None = None,
        excerpt: str | None = None,
    ) -> None:
        super().__init__(message, help, problems, excerpt)
        self.message = message
        self.help = help
        self.problems = problems or []
        self.excerpt = excerpt

    def __str__(self) -> str:
        if self.excerpt:
            return self.excerpt
        return f"{self.message}\n{self.help}" if self.help else self.message


class InputError(EigenforgeError, ValueError):
    """A model, an option or an argument that cannot be run."""


class RunError(EigenforgeError, RuntimeError):
    """What happened while running: device, memory, compiler, disk."""


class NotConvergedWarning(UserWarning):
    """A result whose residuals are above the tolerance."""
