"""ddbench compare linear-vs-tree RUN [RUN2]"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ddbench.compare.arms import ComparedArm
    from ddbench.compare.fail_if import Condition, Judged
    from ddbench.compare.linear_vs_tree import LinearVsTree

app = typer.Typer(help="Compare arms of measured runs.", no_args_is_help=True)


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
    markdown: Annotated[
        bool, typer.Option("--markdown", help="For a pull request: Markdown on stdout.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Plain data on stdout.")] = False,
) -> None:
    """Is the tree better than the line here, by how much, how sure, and why?"""
    from ddbench.compare.fail_if import judge, read_condition
    from ddbench.compare.linear_vs_tree import compare_linear_with_trees

    conditions = [read_condition(text) for text in fail_if or []]
    line_side = _arms(run)
    tree_side = line_side if run2 is None else _arms(run2)
    found = compare_linear_with_trees(line_side, tree_side, linear=linear, tree=tree, force=force)
    judged = judge(conditions, found.measured())
    if as_json:
        _print_json(found, judged)
    else:
        _print_text(found, markdown=markdown)
    _pass_or_fail(judged, conditions)


def _arms(run: Path) -> list[ComparedArm]:
    from ddbench.compare.arms import arms_of
    from ddbench.runs.store import RunStore

    with RunStore.open(run) as store:
        return arms_of(str(run), store.launches(), store.results())


def _print_json(found: LinearVsTree, judged: list[Judged]) -> None:
    from dataclasses import asdict

    import orjson

    data = {**asdict(found), "fail_if": [asdict(one) for one in judged]}
    for pair, plain in zip(found.pairs, data["pairs"], strict=True):
        for cell, plain_cell in zip(pair.cells, plain["cells"], strict=True):
            plain_cell["label"] = pair.label_of(cell)
    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode())


def _print_text(found: LinearVsTree, *, markdown: bool) -> None:
    from rich.console import Console

    from ddbench.report.comparison import sections
    from ddbench.report.comparison_formats import comparison_markdown, comparison_text

    if markdown:
        typer.echo(comparison_markdown(sections(found)), nl=False)
    else:
        Console(soft_wrap=False, highlight=False).print(comparison_text(sections(found)))


def _pass_or_fail(judged: list[Judged], conditions: list[Condition]) -> None:
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
            remedy="Measure 40 prompts or more, and 2 repeats for tok/s.",
        )
    if conditions:
        typer.echo(f"{len(conditions)} conditions: none holds", err=True)
