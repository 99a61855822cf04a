"""Keys of Python as the text of a model file."""

from __future__ import annotations

import json
from decimal import Decimal
from math import isfinite
from numbers import Integral, Real
from typing import Any

from ._eigenforge import Operator, json_of_toml, toml_of_json
from .errors import InputError


def plain(value: Any, key: str = "the model") -> Any:
    """A copy of a value in numbers, texts, lists and dicts; operators as their text. What has no place in a model file is refused with its key."""
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, Operator):
        return value.expression()
    if isinstance(value, dict):
        return {str(name): plain(entry, str(name) if key == "the model" else f"{key}.{name}") for name, entry in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(entry, key) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), key)
    if hasattr(value, "__fspath__"):
        return str(value.__fspath__())
    if isinstance(value, Integral):
        if not -(2**63) <= int(value) < 2**63:
            raise InputError(f"{key}: expected a whole number of at most 64 bits, found {value}")
        return int(value)
    if isinstance(value, complex):
        return {"re": plain(value.real, key), "im": plain(value.imag, key)}
    if isinstance(value, (Real, Decimal)):
        if not isfinite(value):
            raise InputError(f"{key}: expected a finite number, found {value}")
        return float(value)
    raise InputError(f"{key}: expected numbers, texts, lists or dicts, found {value!r} of type {type(value).__name__}")


def toml(keys: dict[str, Any]) -> str:
    """The text of sections and keys."""
    return toml_of_json(json.dumps(plain(keys)))


def sections(text: str) -> dict[str, Any]:
    """The sections of a text."""
    found: dict[str, Any] = json.loads(json_of_toml(text))
    return found
