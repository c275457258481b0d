"""Where results are printed."""

import os
import sys

from rich.console import Console

PIPED_COLUMNS = 120
"""Wide enough for our tables, where nobody says how wide the reader's screen is."""


def stdout_console() -> Console:
    """As wide as the terminal or $COLUMNS; PIPED_COLUMNS in a pipe or a file."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else PIPED_COLUMNS, highlight=False)
