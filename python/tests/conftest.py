"""Where the project is, for tests of the installed package."""

import os
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("EIGENFORGE_ROOT", Path(__file__).parents[2]))


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def command() -> list[str]:
    """The command of the same environment."""
    return [str(Path(sys.executable).parent / "eigenforge")]


@pytest.fixture(autouse=True)
def heeds_ctrl_c():
    """A shell starts what runs in the background with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
