"""ddbench compare linear-vs-tree RUN [RUN2], ddbench compare drafters RUN"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddbench.compare.arms import ComparedArm
    from ddbench.compare.fail_if import Condition, Judged
    from ddbench.report.drafters import DrafterReport
    from ddbench.report.sections import Section

app = typer.Typer(help="Compare arms of measured runs.", no_args_is_help=True)

AsMarkdown = Annotated[
    bool, typer.Option("--markdown", help="For a pull request: Markdown on stdout.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Plain data on stdout.")]


@app.callback()
def _comparisons() -> None:
    """Compare arms of measured runs."""


@app.command("linear-vs-tree")
def linear_vs_tree(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    run2: Annotated[
        Path | None, typer.Argument(help="Another one, whose trees are held against RUN's line.")
    ] = None,
    linear: Annotated[
        str | None, typer.Option(metavar="NAME", help="Default: the linear arm most like the tree.")
    ] = None,
    tree: Annotated[
        str | None, typer.Option(metavar="NAME", help="Default: every tree; any arm can be named.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Compare what differs, and label every number.")
    ] = False,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(metavar="COND", help='Exit 1 when it surely holds: "tokens_per_step < 0.98".'),
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(
            metavar="LIMITS",
            help="The fastest arm that keeps `tpot_s<0.02,ttft_s<1`; means, or METRIC.p95.",
        ),
    ] = None,
    markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Is the tree better than the line here, by how much, how sure, and why?"""
    from dataclasses import asdict

    from ddbench.compare.fail_if import judge, read_condition
    from ddbench.compare.linear_vs_tree import compare_linear_with_trees
    from ddbench.compare.slo import recommend
    from ddbench.report.comparison import sections
    from ddbench.report.plain_data import comparison_data
    from ddbench.stats.service_level import read_limits

    conditions = [read_condition(text) for text in fail_if or []]
    limits = () if slo is None else read_limits(slo)
    line_side, drafters = _read(run)
    tree_side = line_side
    if run2 is not None:
        tree_side, more = _read(run2)
        drafters += more
    found = compare_linear_with_trees(line_side, tree_side, linear=linear, tree=tree, force=force)
    judged = judge(conditions, found.measured(), found.left_out())
    everyone = {(arm.run, arm.name): arm for arm in (*line_side, *tree_side)}
    levels = recommend(list(everyone.values()), limits) if limits else []
    if as_json:
        data = comparison_data(found, drafters=drafters, levels=levels)
        _print_json({**data, "fail_if": [asdict(one) for one in judged]})
    else:
        _print(sections(found, drafters=drafters, levels=levels), markdown=markdown)
    _pass_or_fail(judged, conditions)


@app.command("drafters")
def drafters(
    run: Annotated[Path, typer.Argument(help="A run with an arm that recorded its drafts.")],
    markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """How good is each recorded drafter, and can a tree help it? Coverage, calibration, gain."""
    from ddbench.errors import RunError
    from ddbench.report.drafter_sections import drafter_sections
    from ddbench.report.plain_data import drafter_data

    _, found = _read(run)
    if not found:
        raise RunError(
            f"{run} holds no recorded drafts",
            remedy="Add `- linear: {block_size: N, record_drafts: true}` to the arms of the "
            "sweep, as sweeps/drafters.yaml has it.",
        )
    if as_json:
        _print_json({"drafters": [drafter_data(one) for one in found]})
    else:
        _print(list(drafter_sections(found)), markdown=markdown)


def _read(run: Path) -> tuple[list[ComparedArm], list[DrafterReport]]:
    """The arms of a run, and what its recordings say."""
    from ddbench.compare.arms import arms_of
    from ddbench.report.drafters import drafter_reports
    from ddbench.runs.store import RunStore

    with RunStore.open(run) as store:
        launches, results = store.launches(), list(store.results())
    return arms_of(str(run), launches, results), drafter_reports(run, launches, results)


def _print_json(data: Mapping[str, Any]) -> None:
    import orjson

    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode())


def _print(found: Sequence[Section], *, markdown: bool) -> None:
    from ddbench.cli.consoles import stdout_console
    from ddbench.report.comparison_formats import comparison_markdown, comparison_text

    if markdown:
        typer.echo(comparison_markdown(found), nl=False)
    else:
        stdout_console().print(comparison_text(found))


def _pass_or_fail(judged: Sequence[Judged], conditions: Sequence[Condition]) -> None:
    """1 where a condition surely holds; an undecided one cannot pass a gate either."""
    from ddbench.errors import NotComparable

    held = [one for one in judged if one.holds]
    for one in held:
        typer.echo(f"fails: {one}", err=True)
    if held:
        raise typer.Exit(1)
    if unknown := [one for one in judged if one.holds is None]:
        raise NotComparable(
            "cannot be told: " + "; ".join(str(one) for one in unknown),
            remedy="Measure 40 prompts or more, 2 repeats for tok/s, and what was left out again.",
        )
    if conditions:
        typer.echo(f"{len(conditions)} conditions: none holds", err=True)
