"""Which package may import which, and where the heavy libraries may appear."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "ddbench"

# Each stage sees what is FOR_ALL; only these may see another stage. An executor measures, on any
# host, and never sees the run's database.
ALLOWED = {
    "checks": {"stats"},
    "compare": {"stats"},
    "predict": {"stats", "plan"},
    "report": {"stats", "checks", "compare", "predict"},
    "engine": {"reference"},
    "runs": {"stats"},
    "conformance": {"reference", "plan", "patching", "server", "load", "logs"},
    "events": {"load"},
    "executors": {"events", "plan", "patching", "server", "load", "logs"},
    "sweep": {"events", "executors", "plan", "load", "runs"},
    "cli": {"*"},
}
FOR_ALL = ("records", "errors", "draft_records", "tls")
HEAVY = {
    "torch": {"reference", "engine", "sglang_plugin", "conformance"},
    "sglang": {"sglang_plugin"},
    "pandas": {"report", "runs"},
    "ray": {"executors"},
    "pyarrow": {"runs"},
}
LIGHT = ("torch", "numpy", "pandas", "pyarrow", "aiohttp", "ray")


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported; `from ddbench import x` counts as ddbench.x."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import on line {node.lineno}"
            module = node.module or ""
            yield from (
                f"{module}.{alias.name}" if module == "ddbench" else module for alias in node.names
            )


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_imports_follow_the_layout(path: Path) -> None:
    stage = path.relative_to(PACKAGE).parts[0].removesuffix(".py")

    for module in imports_of(ast.parse(path.read_text())):
        top, _, rest = module.partition(".")
        assert stage in HEAVY.get(top, {stage}), f"{top} may not be imported in {stage}/"
        if top == "ddbench" and rest and rest != "__version__":
            other = rest.split(".")[0]
            allowed = ALLOWED.get(stage, set()) | {stage, *FOR_ALL}
            assert other in allowed or "*" in allowed, f"{stage}/ may not import {other}/"


def test_a_forbidden_import_is_seen() -> None:
    """The test above reads imports with this function, so it must not be blind."""
    source = (
        "from ddbench import runs\nimport torch.nn\ndef f():\n    from ddbench.load import sse\n"
    )

    assert set(imports_of(ast.parse(source))) == {"ddbench.runs", "torch.nn", "ddbench.load"}


def test_records_and_errors_import_nothing_of_ddbench() -> None:
    for name in ("records.py", "errors.py"):
        modules = imports_of(ast.parse((PACKAGE / name).read_text()))
        assert not [m for m in modules if m.startswith("ddbench")]


def cpu_and_heavy_modules_of_help(app: str) -> tuple[float, str]:
    """Of a process that says how `app` is used: CPU seconds, and which of LIGHT it has imported."""
    code = (
        f"import resource, sys\n{app}\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        f"print([m for m in {LIGHT!r} if m in sys.modules], file=sys.stderr)\n"
        "print(used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    *_, heavy, cpu_s = done.stderr.splitlines()
    return float(cpu_s), heavy


def test_help_imports_nothing_heavy_and_costs_little() -> None:
    """Hardly more than the same from an app without a command of ours; measured 1.2 times that."""
    ours = "from ddbench.cli.main import app"
    bare = "import typer\napp = typer.Typer()\napp.command()(lambda: None)"
    cpu_and_heavy_modules_of_help(ours)  # writes the byte code

    tries = [[cpu_and_heavy_modules_of_help(app) for app in (ours, bare)] for _ in range(5)]

    assert all(heavy == "[]" for (_, heavy), _ in tries)
    best = [min(cpu_s for cpu_s, _ in column) for column in zip(*tries, strict=True)]
    assert best[0] < 2 * best[1]
