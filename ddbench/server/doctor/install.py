"""An environment with SGLang and ddbench in it, ready to serve on a CPU.

Every step may be repeated, so the same command finishes an installation that was interrupted. A
folder that holds something else is never touched.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ddbench.errors import SetupError
from ddbench.server.doctor.engines import sglang_cpu
from ddbench.server.doctor.sglang_environment import SGLANG_VERSION, examine_environment

SIZE_BYTES = 11 * 10**9  # measured with 0.5.23 on Linux x86-64, byte code included
MARKER = "ddbench-sglang-cpu.json"

# Sources of CUDA generators, and tests of torch that need a newer Python: nothing imports them.
_NOT_COMPILED = r"/flashinfer/data/|/torch/testing/_internal/"


@dataclass(frozen=True, slots=True)
class _Step:
    what: str
    command: Sequence[str]
    may_fail: bool = False


def install_sglang_cpu(folder: Path, *, say: Callable[[str], None]) -> Path:
    """Prepare `folder` and return its interpreter. Takes minutes; `say` gets a line a step.

    Raises SetupError when the folder holds something else, the disk is too full, or a step fails.
    """
    folder = folder.absolute()
    _require_ours(folder)
    python = folder / "bin" / "python"
    free_bytes = shutil.disk_usage(_nearest_existing(folder)).free
    say(
        f"SGLang {SGLANG_VERSION} for a CPU takes about {SIZE_BYTES / 1e9:.0f} GB in {folder} "
        f"({free_bytes / 1e9:.0f} GB free)"
    )
    is_there = python.exists() and examine_environment(str(python)).sglang == SGLANG_VERSION
    if not is_there and free_bytes < SIZE_BYTES:
        raise SetupError(
            f"{folder} is on a disk with {free_bytes / 1e9:.1f} GB free; "
            f"SGLang needs about {SIZE_BYTES / 1e9:.0f} GB",
            remedy="Choose a folder on a larger disk.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).write_text(json.dumps({"sglang": SGLANG_VERSION}) + "\n")

    steps = list(_steps(folder, python))
    for number, step in enumerate(steps, start=1):
        say(f"[{number}/{len(steps)}] {step.what}")
        started_at = time.monotonic()
        _run(step)
        say(f"[{number}/{len(steps)}] done in {time.monotonic() - started_at:.0f} s")

    if not (found := sglang_cpu(examine_environment(str(python)))).is_ready:
        raise SetupError(
            f"{folder} was installed and still lacks {'; '.join(found.missing)}",
            remedy=found.advice[0] if found.advice else "Read the output of the steps above.",
        )
    return python


def _require_ours(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise SetupError(
            f"{folder} is not empty, and ddbench did not make it",
            remedy="Name a new or an empty folder.",
        )
    if folder.exists() and not folder.is_dir():
        raise SetupError(f"{folder} is a file", remedy="Name a new or an empty folder.")


def _steps(folder: Path, python: Path) -> Iterator[_Step]:
    uv = shutil.which("uv")
    if not python.exists():
        create = (
            [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)]
            if uv
            else [sys.executable, "-m", "venv", str(folder)]
        )
        yield _Step("create the environment", create)
    install = (
        [uv, "pip", "install", "--python", str(python)]
        if uv
        else [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    )
    yield _Step(
        f"install sglang {SGLANG_VERSION}: some 200 packages, most of the time and the size",
        [*install, f"sglang=={SGLANG_VERSION}"],
    )
    # Without dependencies: inside SGLang ddbench imports torch and SGLang, and they are there.
    yield _Step(
        "install ddbench beside it, the same one that is running",
        [*install, "--quiet", "--no-deps", *ddbench_requirement()],
    )
    site_packages = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    yield _Step(
        "byte-compile it, so that a server starts in half a minute",
        [
            *(
                str(python),
                "-W",
                "ignore",
                "-m",
                "compileall",
                "-q",
                "-j",
                "0",
                "-x",
                _NOT_COMPILED,
            ),
            str(folder / site_packages),
        ],
        may_fail=True,  # some packages carry files for other Pythons
    )


def ddbench_requirement() -> list[str]:
    """How to install the running ddbench once more: pip's arguments.

    Source: PEP 610; without direct_url.json it came from an index, by its version.
    """
    distribution = metadata.distribution("ddbench")
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    url = str(origin.get("url", ""))
    if vcs := origin.get("vcs_info"):
        return [f"ddbench @ {vcs['vcs']}+{url}@{vcs['commit_id']}"]
    if origin.get("dir_info", {}).get("editable"):
        return ["--editable", url.removeprefix("file://")]
    return [f"ddbench @ {url}" if url else f"ddbench=={distribution.version}"]


def _run(step: _Step) -> None:
    """Run one step with its output on our stderr: stdout is for the result."""
    env = dict(os.environ)
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        code = subprocess.run(step.command, stdout=sys.stderr, env=env, check=False).returncode
    except OSError as cause:
        raise SetupError(
            f"cannot run {step.command[0]}: {cause.strerror}",
            remedy="Install uv or Python's venv module, and try again.",
        ) from cause
    if code != 0 and not step.may_fail:
        raise SetupError(
            f"could not {step.what.partition(':')[0]}: exit code {code} of {step.command[0]}",
            remedy="Read its output above; the same command goes on where this one stopped.",
        )


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
