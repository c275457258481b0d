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


def test_help_imports_nothing_heavy_and_costs_little() -> None:
    code = (
        "import resource, sys\n"
        "from ddbench.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        f"print([m for m in {LIGHT!r} if m in sys.modules], file=sys.stderr)\n"
        "print(used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    )
    run = [sys.executable, "-c", code]
    subprocess.run(run, check=True, capture_output=True)  # writes the byte code

    tries = [subprocess.run(run, check=True, capture_output=True, text=True) for _ in range(5)]

    outputs = [done.stderr.splitlines()[-2:] for done in tries]
    assert all(loaded == "[]" for loaded, _ in outputs)
    assert min(float(cpu_s) for _, cpu_s in outputs) < 0.35
