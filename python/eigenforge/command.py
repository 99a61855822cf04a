"""The command ``eigenforge``."""

from __future__ import annotations

import signal
import sys

from . import _eigenforge, tools


def main() -> None:
    """Runs the command line of this process."""
    tools.find_compiler()
    # The command has signals of its own.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_eigenforge.command(["eigenforge", *sys.argv[1:]]))
