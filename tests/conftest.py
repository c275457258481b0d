"""What several stages need: the command as a real process, and a small sweep file."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two workers with tiny matrices: torch's would wait

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell's `&` leaves it, in children too
    signal.signal(signal.SIGINT, signal.default_int_handler)

RUDE = Path(__file__).parent / "survival" / "rude"

Ddbench = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def ddbench() -> Ddbench:
    """Run `ddbench ARGS` to its end, as a user would."""

    def run(*args: object, timeout_s: float = 240.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from ddbench.cli.main import main; main()", *map(str, args)],
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )

    return run


@pytest.fixture(scope="session")
def write_sweep(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A sweep file on the embedded engine; keywords replace lines of it."""

    def write(
        *,
        arms: str = "[autoregressive]",
        server: str = "",
        count: int = 6,
        concurrency: str = "[1]",
        max_new_tokens: int = 24,
        logprobs: bool = False,
        repeats: int = 1,
        prompts: str = "builtin:mixed",
    ) -> Path:
        path = tmp_path_factory.mktemp("sweep") / "small.yaml"
        path.write_text(
            "name: small\n"
            "server:\n"
            "  engine: embedded\n"
            "  model: builtin\n"
            "  draft_model: builtin\n"
            f"{server}"
            f"arms: {arms}\n"
            "load:\n"
            f"  prompts: {prompts}\n"
            f"  count: {count}\n"
            f"  concurrency: {concurrency}\n"
            f"  max_new_tokens: {max_new_tokens}\n"
            f"  logprobs: {str(logprobs).lower()}\n"
            f"repeats: {repeats}\n"
        )
        return path

    return write


@pytest.fixture(scope="session")
def write_rude_sweep(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A sweep file whose SGLang is tests/survival/rude; its pids go to `pids` beside the file."""

    def write(
        manners: str = "",
        *,
        arms: str = "[{plain: {algorithm: null}}]",
        count: int = 4,
        concurrency: str = "[1, 2]",
        repeats: str = "2",
        visits: int = 2,
        timeout_s: float = 600.0,
        ready_timeout_s: float = 60.0,
        step_s: float = 0.0,
        max_new_tokens: int = 4,
    ) -> Path:
        folder = tmp_path_factory.mktemp("rude")
        path = folder / "rude.yaml"
        shutil.copytree(RUDE, folder / "rude")  # out of git: a commit is another server
        path.write_text(
            "name: rude\n"
            "server:\n"
            "  engine: sglang\n"
            "  model: no/model\n"
            f"  python: {sys.executable}\n"
            "  flags: {device: cpu}\n"
            f"  ready_timeout_s: {ready_timeout_s}\n"
            "  env:\n"
            f"    PYTHONPATH: {folder / 'rude'}\n"
            f"    RUDE: '{manners}'\n"
            f"    RUDE_PIDS: {folder / 'pids'}\n"
            f"    RUDE_STEP_S: {step_s}\n"
            f"arms: {arms}\n"
            "load:\n"
            f"  count: {count}\n"
            f"  concurrency: {concurrency}\n"
            f"  max_new_tokens: {max_new_tokens}\n"
            f"  timeout_s: {timeout_s}\n"
            f"repeats: {repeats}\n"
            f"visits: {visits}\n"
        )
        return path

    return write
