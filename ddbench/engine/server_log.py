"""Lines as SGLang 0.5.23 writes them: a local time stamp in whole seconds, then the text.

Only numbers, settings and names of settings are ever written here, never a prompt or an answer.
"""

import sys
import time


def log(text: str) -> None:
    """One write a line, so that lines of two threads do not mix; flushed at once."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    sys.stdout.write(f"[{stamp}] {text}\n")
    sys.stdout.flush()
