"""``python -m eigenforge`` is the command."""

from .command import main

main()
