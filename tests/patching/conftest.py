"""A small package named sglang, an interpreter that has it, and a patch series for it.

The patches are written by git, from commits. Its server is ddbench's own engine, which says first
how many nodes a tree has: none without the patches.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ddbench.patching.base_hashes import base_hashes

VERSION = "0.5.23"
SERVER_ARGS = """\
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        for name in NAMES:
            parser.add_argument("--" + name)
NAMES = (
    "attention-backend device disable-cuda-graph disable-overlap-schedule dtype enable-metrics "
    "host max-running-requests max-total-tokens mem-fraction-static model-path port "
    "sampling-backend skip-server-warmup speculative-algorithm speculative-dflash-block-size "
    "speculative-draft-model-path speculative-ddtree-budget speculative-ddtree-topk"
).split()
"""
LAUNCH_SERVER = """\
import importlib.util, runpy, sys
tree = importlib.util.find_spec("sglang.srt.tree")
print("a tree has", "no" if tree is None else __import__("sglang.srt.tree").srt.tree.nodes, "nodes")
asked = dict(zip(sys.argv, sys.argv[1:]))
theirs = ("--model-path", "--host", "--port", "--max-running-requests", "--speculative-algorithm",
          "--speculative-draft-model-path", "--speculative-dflash-block-size",
          "--speculative-ddtree-budget", "--speculative-ddtree-topk")
sys.argv = ["engine", "--enable-metrics"]
sys.argv += [word for name in theirs if name in asked for word in (name, asked[name])]
runpy.run_module("ddbench.engine", run_name="__main__")
"""
FILES = {
    "sglang/__init__.py": "from sglang.version import __version__\n",
    "sglang/version.py": f'__version__ = "{VERSION}"\n',
    "sglang/srt/__init__.py": "",
    "sglang/srt/spec.py": "".join(f"line_{n} = {n}\n" for n in range(40)),
    "sglang/srt/untouched.py": "answer = 42\n",
    "sglang/srt/server_args.py": SERVER_ARGS,
    "sglang/launch_server.py": LAUNCH_SERVER,
    "sglang/data.bin": "not Python\n",
}


@dataclass(frozen=True)
class FakeSglang:
    """`python` finds the package in `site_packages`, behind whatever PYTHONPATH says."""

    python: str
    site_packages: Path
    series: Path  # holds sglang-0.5.23/

    def snapshot(self) -> dict[str, tuple[int, int, bytes]]:
        """Everything an observer of the installation could see change."""
        files = sorted(p for p in self.site_packages.rglob("*") if p.is_file())
        stats = {p: p.stat() for p in files}
        return {str(p): (stats[p].st_mtime_ns, stats[p].st_mode, p.read_bytes()) for p in files} | {
            str(p): (p.stat().st_mtime_ns, 0, b"") for p in [self.site_packages / "sglang"]
        }


Git = Callable[..., bytes]


@pytest.fixture(scope="session")
def git() -> Git:
    """Run `git ARGUMENTS` in a folder; what it prints."""
    return run_git


def run_git(folder: Path, *arguments: str) -> bytes:
    settings = ("user.name=t", "user.email=t@example.com", "core.autocrlf=false")
    options = [word for setting in settings for word in ("-c", setting)]
    command = ["git", "-C", str(folder), *options, *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.fixture
def fake(tmp_path: Path) -> FakeSglang:
    site_packages = tmp_path / "site-packages"
    for name, text in FILES.items():
        path = site_packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    info = site_packages / f"sglang-{VERSION}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {VERSION}\n")
    (info / "entry_points.txt").write_text("[fake.plugins]\nspec = sglang.srt.spec:line_3\n")
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        f'export PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH{os.pathsep}}}{site_packages}"\n'
        f'exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    series = tmp_path / "series"
    _write_series(series / f"sglang-{VERSION}", tmp_path / "repository")
    base = base_hashes(series / f"sglang-{VERSION}", site_packages)
    (series / f"sglang-{VERSION}" / "base.sha256").write_text(base)
    return FakeSglang(str(python), site_packages, series)


def _write_series(folder: Path, repository: Path) -> None:
    """Two commits: one changes and creates, one changes both again and removes a file."""
    folder.mkdir(parents=True)
    package = repository / "sglang"
    for name, text in FILES.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run_git(repository, "init", "-q")
    run_git(repository, "add", ".")
    run_git(repository, "commit", "-q", "-m", "base")
    spec = package / "srt" / "spec.py"
    spec.write_text(spec.read_text().replace("line_3 = 3\n", "line_3 = 33\n"))
    (package / "srt" / "tree.py").write_text("nodes = 15\n")
    run_git(repository, "add", ".")
    run_git(repository, "commit", "-q", "-m", "Draft a tree")
    spec.write_text(spec.read_text().replace("line_30 = 30\n", "line_30 = 300\nmore = 1\n"))
    (package / "srt" / "tree.py").write_text("nodes = 31\n")
    (package / "data.bin").unlink()
    run_git(repository, "add", ".")
    run_git(repository, "commit", "-q", "-m", "Verify it")
    run_git(repository, "format-patch", "-q", "-o", str(folder), "HEAD~2")
