"""ddbench conformance --python PATH [--patches ddtree] [--gpu]"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ddbench.conformance.verdict import Check
    from ddbench.records import FlagValue


def conformance(
    python: Annotated[
        str | None,
        typer.Option(envvar="DDBENCH_SGLANG_PYTHON", help="The interpreter that has SGLang."),
    ] = None,
    patches: Annotated[
        str | None, typer.Option(help="A patch series, applied to a copy first: ddtree.")
    ] = None,
    gpu: Annotated[
        bool, typer.Option("--gpu", help="Also without CUDA graphs, and on several GPUs.")
    ] = False,
    trees: Annotated[
        bool | None,
        typer.Option("--trees/--no-trees", help="Draft trees too; by default with patches."),
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="Only this case, such as tree-8-31-4; repeatable.")
    ] = None,
    flag: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A flag for every server of SGLang; repeatable."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, help="Of log-probabilities; 1e-4 is for float32.")
    ] = 1e-4,
    logs: Annotated[
        Path | None, typer.Option(help="Keep the servers' logs there, whatever comes of it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """A tiny model pair through your SGLang, held against a reference; 1 if they differ."""
    import shutil
    import tempfile
    import time

    from ddbench.conformance.cases import EXACT_ENV_ON_A_GPU, EXACT_ON_A_GPU, cases, only
    from ddbench.conformance.run import Build, conform
    from ddbench.errors import ServerError
    from ddbench.server.accelerators import count_gpus

    if not python:
        raise ServerError(
            "no interpreter of an environment with SGLang was named",
            remedy="Give --python PATH, or set $DDBENCH_SGLANG_PYTHON.",
        )
    flags = dict(map(_flag, flag or ()))
    gpus = count_gpus()
    if gpu and not gpus:
        raise ServerError(
            "--gpu was asked for, and no GPU is seen here",
            remedy="Run it on the GPU host, or leave --gpu out.",
        )
    on_gpu = gpus > 0 and flags.get("device") != "cpu"
    build = Build(
        python=python,
        patches=patches,
        flags=tuple({**dict(EXACT_ON_A_GPU if on_gpu else ()), **flags}.items()),
        env=dict(EXACT_ENV_ON_A_GPU) if on_gpu else {},
        tolerance=tolerance,
    )
    chosen = cases(trees=patches is not None if trees is None else trees, gpus=gpus if gpu else 0)
    if case:
        chosen = only(chosen, case)
    folder = logs or Path(tempfile.mkdtemp(prefix="ddbench-conformance-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise ServerError(
            f"cannot keep logs in {folder}: {cause.strerror}", remedy="Give --logs another folder."
        ) from cause
    started_at = time.monotonic()
    found: list[Check] = []
    for check in conform(build, chosen, folder):
        found.append(check)
        if not as_json:
            _print(check)
    failed = [check for check in found if not check.passed]
    took_s = time.monotonic() - started_at
    if as_json:
        _print_json(found, took_s)
    else:
        verdict = f"{len(failed)} FAILED" if failed else "all passed"
        typer.echo(f"{len(found)} checks on {len(chosen)} servers in {took_s:.0f} s: {verdict}")
    if failed or logs is not None:
        typer.echo(f"logs: {folder}", err=True)
    else:
        shutil.rmtree(folder)
    if failed:
        raise typer.Exit(1)


def _flag(text: str) -> "tuple[str, FlagValue]":
    from ddbench.errors import PlanError

    name, separator, value = text.removeprefix("--").partition("=")
    if not name or not separator:
        raise PlanError(
            f"--flag {text!r} is no NAME=VALUE", remedy="Write --flag attention-backend=fa3."
        )
    return name, {"true": True, "false": False}.get(value.lower(), value)


def _print(check: "Check") -> None:
    mark = "ok  " if check.passed else "FAIL"
    typer.echo(f"{mark}  {check.case}: {check.what} ({check.detail})")
    if check.divergence is not None:
        typer.echo(f"      first divergence: {check.divergence}")


def _print_json(found: "list[Check]", took_s: float) -> None:
    import json
    from dataclasses import asdict

    passed = all(check.passed for check in found)
    report = {"passed": passed, "took_s": took_s, "checks": [asdict(check) for check in found]}
    typer.echo(json.dumps(report, indent=2))
