"""Which flags the installed SGLang knows, asked before a launch that would fail minutes later.

The answer comes from SGLang's own parser, run by its own interpreter; ddbench need not be
installed there. It takes about 7 s, so it is asked once per interpreter and environment.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ddbench.errors import ServerError

PARSER_TIMEOUT_S = 180.0

_PRINT_OPTIONS = """
import argparse, json
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser()
ServerArgs.add_cli_args(parser)
options = [name for action in parser._actions for name in action.option_strings]
print("OPTIONS " + json.dumps(options))
"""


def unknown_flags(
    python: str,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    timeout_s: float = PARSER_TIMEOUT_S,
) -> list[str]:
    """The flags of `argv` that the SGLang of `python` would refuse, in order; values are ignored.

    Args:
        python: the interpreter that has SGLang.
        argv: flags as they will be passed, with leading dashes; other words are skipped.
        env: what the launch adds to this process's environment (a PYTHONPATH changes the answer).

    Raises ServerError when that interpreter cannot be run, or has no SGLang that can be imported.
    """
    known = known_flags(python, env=env, timeout_s=timeout_s)
    flags = dict.fromkeys(word.partition("=")[0] for word in argv if word.startswith("--"))
    return [flag for flag in flags if not _is_accepted(flag, known)]


def require_known_flags(argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
    """Raises ServerError, in the words of SGLang's own parser, when it would refuse `argv`."""
    if unknown := unknown_flags(argv[0], argv, env=env):
        raise ServerError(
            f"error: unrecognized arguments: {' '.join(unknown)} (no server was started)",
            remedy="Remove the flag from the sweep file, or use a server version that has it.",
        )


def known_flags(
    python: str, *, env: Mapping[str, str] | None = None, timeout_s: float = PARSER_TIMEOUT_S
) -> frozenset[str]:
    """Every option string of SGLang's parser, dashes included. Raises as unknown_flags does."""
    return _ask_parser(python, tuple(sorted((env or {}).items())), timeout_s)


def _is_accepted(flag: str, known: frozenset[str]) -> bool:
    """argparse also takes an abbreviation, where only one option begins with it."""
    return flag in known or sum(name.startswith(flag) for name in known) == 1


@lru_cache(maxsize=32)
def _ask_parser(python: str, env: tuple[tuple[str, str], ...], timeout_s: float) -> frozenset[str]:
    try:
        asked = subprocess.run(
            [python, "-c", _PRINT_OPTIONS],
            env={**os.environ, **dict(env)},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except OSError as cause:
        raise ServerError(
            f"cannot run {python}: {cause.strerror}",
            remedy="Set `python:` or $DDBENCH_SGLANG_PYTHON to the interpreter that has SGLang.",
        ) from cause
    except subprocess.TimeoutExpired as cause:
        raise ServerError(
            f"SGLang's parser did not answer within {timeout_s:.0f} s ({python})",
            remedy="Byte-compile that environment (`python -m compileall`), and try again.",
        ) from cause
    for line in asked.stdout.splitlines():
        if line.startswith("OPTIONS "):
            return frozenset(json.loads(line.removeprefix("OPTIONS ")))
    last_words = asked.stderr.strip().splitlines()[-1:] or [f"exit code {asked.returncode}"]
    raise ServerError(
        f"SGLang cannot be imported by {python}: {last_words[0]}",
        remedy="Run `ddbench doctor` to see what that environment lacks.",
    )
