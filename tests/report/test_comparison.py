"""A comparison as text and Markdown: whole tables, labels beside numbers, nothing comes alive."""

import gzip
import io
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from ddbench.compare.arms import ComparedArm, arms_of
from ddbench.compare.linear_vs_tree import LinearVsTree, compare_linear_with_trees
from ddbench.report.comparison import sections
from ddbench.report.comparison_formats import comparison_markdown, comparison_text
from ddbench.report.sections import Said, plain
from ddbench.runs.store import RunStore

RUNS = Path(__file__).parent.parent / "fixtures" / "runs"
GFM = MarkdownIt("commonmark").enable("table")
NASTY = 'x|y \\| `z` ``` <script>alert(1)</script>\n# heading\n| - | @user [a](b) [bold]‮"'


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> list[ComparedArm]:
    folder = tmp_path_factory.mktemp("quickstart")
    with sqlite3.connect(folder / "run.sqlite") as database:
        dump = gzip.decompress((RUNS / "quickstart.sql.gz").read_bytes()).decode()
        database.executescript(dump)
    database.close()
    with RunStore.open(folder) as store:
        return arms_of("quickstart", store.launches(), store.results())


@pytest.fixture(scope="module")
def found(arms: list[ComparedArm]) -> LinearVsTree:
    return compare_linear_with_trees(arms, arms)


@pytest.fixture(scope="module")
def unlike(arms: list[ComparedArm]) -> LinearVsTree:
    """A tree with a name and a setting from hell, forced past what differs."""
    tree = next(arm for arm in arms if arm.name == "tree-8-31-4")
    odd = replace(tree, name=NASTY, settings={**tree.settings, "dtype": NASTY})
    return compare_linear_with_trees(arms, [odd], force=True)


def as_text(comparison: LinearVsTree, *, width: int = 140) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(comparison_text(sections(comparison)))
    return stream.getvalue()


def as_markdown(comparison: LinearVsTree) -> str:
    return comparison_markdown(sections(comparison))


def rows(markdown: str) -> list[list[str]]:
    """Table rows split as GitHub does, before any parser can add or drop cells."""
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.names.add(tag)


def test_the_findings_come_first_and_name_the_engine(found: LinearVsTree) -> None:
    first = sections(found)[0]

    assert first.title == "Answer"
    assert first.sentences[0] == ("Measured on the embedded demo model, CPU.",)


def test_inside_a_report_the_engine_is_not_named_once_more(found: LinearVsTree) -> None:
    inside = sections(found, is_alone=False)

    assert inside[0].sentences == sections(found)[0].sentences[1:]


@pytest.mark.parametrize("render", [as_text, as_markdown])
def test_both_forms_say_what_was_found(
    found: LinearVsTree, render: Callable[[LinearVsTree], str]
) -> None:
    said = " ".join(render(found).replace("`", "").split())

    for sentence in (
        "tree-8-31-4 at concurrency 4: tokens/step better, 1.32x [1.27, 1.37] n=48; tok/s "
        "undecided",
        "tree-8-31-4 over linear-8: not within the range: it pays nowhere from 1 to 8",
        "tree-8-7-1 and linear-8 at concurrency 8: equivalent within 1% in tokens/step; identical "
        "tokens in 48 and identical steps in 48 of 48 prompts.",
        "Autoregressive against itself at concurrency 8: 48 of 48 identical.",
        "One visit: drift and launch-to-launch variance not measured.",
    ):
        assert sentence in said


def test_every_table_is_whole_and_every_ratio_carries_n(found: LinearVsTree) -> None:
    markdown = as_markdown(found)
    html = GFM.render(markdown)

    for section in sections(found):
        assert {len(row) for row in section.rows} <= {len(section.header)}
    assert html.count("<table>") == sum(bool(section.header) for section in sections(found))
    assert html.count("<tr>") == len(rows(markdown)) - html.count("<table>")
    ratios = next(s for s in sections(found) if s.title == "Ratios")
    for row in ratios.rows:
        for cell in row[1:]:
            assert re.fullmatch(r"[\d.]+x( \[[\d.]+, [\d.]+\])? n=\d+", plain(cell))


def test_force_labels_every_ratio(unlike: LinearVsTree) -> None:
    for title in ("Ratios", "Why"):
        section = next(s for s in sections(unlike) if s.title == title)
        labelled = [
            plain(cell)
            for row in section.rows
            for cell in row
            if not isinstance(cell, Said) and "x" in plain(cell)
        ]
        assert labelled
        assert all("unlike conditions" in cell for cell in labelled)


def test_force_labels_what_all_concurrencies_say_together(arms: list[ComparedArm]) -> None:
    chain = next(arm for arm in arms if arm.name == "tree-8-7-1")
    odd = replace(chain, settings={**chain.settings, "dtype": "bfloat16"})

    text = as_markdown(compare_linear_with_trees(arms, [odd], force=True))

    assert "`tree-8-7-1` over `linear-8` (unlike conditions): not within the range" in text
    assert (
        "`tree-8-7-1` and `linear-8` at concurrency 1 (unlike conditions): equivalent within"
        in text
    )


def test_a_hostile_name_becomes_no_markup_anywhere(unlike: LinearVsTree) -> None:
    markdown = as_markdown(unlike)
    tags = Tags()
    tags.feed(GFM.render(markdown))

    assert tags.names <= {
        *("h2", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td", "p"),
    }
    widths = {len(row) for row in rows(markdown)}
    assert widths <= {len(section.header) for section in sections(unlike)}
    assert "‮" not in markdown
    assert "‮" not in as_text(unlike)
    assert "[bold]" in as_text(unlike, width=1000)


def test_two_witnesses_that_disagree_are_shown(arms: list[ComparedArm]) -> None:
    tree = next(arm for arm in arms if arm.name == "tree-8-31-4")
    slow = replace(tree, trials=tuple(replace(t, wall_s=2 * (t.wall_s or 0)) for t in tree.trials))

    said = as_text(compare_linear_with_trees(arms, [slow]), width=400)

    assert "DISAGREE: factors against the client's tok/s +1" in said


def test_a_loss_that_noise_explains_is_said_to_be_no_finding(found: LinearVsTree) -> None:
    noisy = replace(found.losslessness[0], outcome="within noise")

    text = as_markdown(replace(found, losslessness=(noisy,)))

    assert "so that no loss can be told from its noise" in text
    assert "so that no loss can be told from its noise" not in as_markdown(found)


def test_what_graphs_are_worth_has_a_table_where_both_were_run(arms: list[ComparedArm]) -> None:
    linear = next(arm for arm in arms if arm.name == "linear-8")
    settings = {**linear.settings, "disable_cuda_graph": "false"}
    found = compare_linear_with_trees(
        [*arms, replace(linear, name="from-graphs", settings=settings)], arms, tree="tree-8-31-4"
    )

    said = as_text(found)

    assert "CUDA graphs: on over off, of arms that differ in nothing else" in said
    assert "from-graphs  linear-8  1.00x" in said


def test_shares_of_too_few_prompts_are_said_once_to_have_no_interval(found: LinearVsTree) -> None:
    text = comparison_markdown(sections(found))

    said = (
        "pooled over the steps of n=48 prompts; shares of fewer than 64 prompts have no intervals."
    )
    assert text.count(f"At concurrency 1, {said}") == 1


def test_arms_of_two_runs_are_said_to_differ_by_what_happened_between_them(
    arms: list[ComparedArm],
) -> None:
    """The second run has a second visit, which the first has not: one is all they share."""
    later = [_again(arm) for arm in arms]

    one = comparison_markdown(sections(compare_linear_with_trees(arms, arms)))
    two = comparison_markdown(sections(compare_linear_with_trees(arms, later)))

    said = "whatever the machine changed from one run to the other is in every ratio of times"
    assert said in two
    assert said not in one
    assert "One visit: drift and launch-to-launch variance not measured." in two


def _again(arm: ComparedArm) -> ComparedArm:
    second = tuple(replace(one, trial=replace(one.trial, visit=1)) for one in arm.trials)
    return replace(arm, run="later", trials=(*arm.trials, *second))


def test_a_table_of_one_concurrency_alone_says_which(arms: list[ComparedArm]) -> None:
    """Acceptance by category is that of the lowest."""
    found = compare_linear_with_trees(arms, arms)
    later = replace(found, pairs=tuple(replace(pair, cells=pair.cells[1:]) for pair in found.pairs))

    titles = {section.title: section for section in sections(later)}

    assert titles["Acceptance by category"].sentences == (("At concurrency 4.",),)
