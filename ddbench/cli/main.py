"""The `ddbench` command. The one place that turns errors into exit codes.

0: done   1: an ERROR finding, a failed trial or a failed gate   2: could not do what was asked
"""

import signal
import sys
from types import FrameType

import typer
from rich.console import Console

from ddbench.cli import (
    check,
    compare,
    conformance,
    doctor,
    explain,
    export,
    patch,
    predict,
    report,
    serve,
    sweep,
)
from ddbench.errors import DdbenchError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("sweep")(sweep.sweep)
app.command("serve")(serve.serve)
app.add_typer(compare.app, name="compare")
app.add_typer(report.app, name="report")
app.command("check")(check.check)
app.command("explain")(explain.explain)
app.command("export")(export.export)
app.command("predict")(predict.predict)
app.add_typer(patch.app, name="patch")
app.command("conformance")(conformance.conformance)
app.command("doctor")(doctor.doctor)


@app.callback()
def root() -> None:
    """Benchmark and diagnose speculative decoding on SGLang."""


def main() -> None:
    signal.signal(signal.SIGTERM, _unwind)
    try:
        app()
    except DdbenchError as error:
        stderr = Console(stderr=True, soft_wrap=True, highlight=False)
        stderr.print(f"error: {error}", style="red", markup=False)
        stderr.print(f"  try: {error.remedy}", markup=False)
        sys.exit(2)


def _unwind(signum: int, _frame: FrameType | None) -> None:
    """Without this SIGTERM skips every `finally`, and the server outlives us."""
    sys.exit(128 + signum)
