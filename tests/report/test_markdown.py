"""The report, read by a parser of GitHub-flavoured tables."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ddbench.checks.run import Report as Checked
from ddbench.records import Environment, Failure, Launch, RequestFailed, RunResult
from ddbench.report.assemble import assemble
from ddbench.report.gfm import block, code, prose, table
from ddbench.report.markdown import render_markdown

Make = Callable[..., RunResult]
GFM = MarkdownIt("commonmark").enable("table")
NASTY = 'x|y \\| `z` ``` <script>alert(1)</script>\n# heading\n| - | @user [a](b) ‮"'
FAILED = Failure(f"server {NASTY}", f"Traceback ````\n{NASTY}", f"Read {NASTY}.")


def rendered(name: str, launches: list[Launch], results: list[RunResult]) -> str:
    return render_markdown(assemble(name, launches, results, checked=Checked((), ())))


def tables(markdown: str) -> list[list[list[str]]]:
    """The cells of each table, as the text a reader sees."""
    found: list[list[list[str]]] = []
    tokens = GFM.parse(markdown)
    for position, token in enumerate(tokens):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            found[-1][-1].append(seen(tokens[position + 1]))
    return found


def table_with(column: str, markdown: str) -> list[list[str]]:
    """The only table with a column of that name."""
    (found,) = (lines for lines in tables(markdown) if column in lines[0])
    return found


def seen(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [])


def raw_rows(markdown: str) -> list[list[str]]:
    """Table rows split as GitHub does, before any parser can add or drop cells."""
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    return [re.split(r"(?<!\\)\|", row)[1:-1] for row in rows]


def assert_tables_are_whole(markdown: str) -> None:
    for lines in tables(markdown):
        assert {len(row) for row in lines} == {len(lines[0])}
    expected = [len(row) for lines in tables(markdown) for row in lines]
    separators = [row for row in raw_rows(markdown) if set("".join(row)) <= set("- ")]
    assert len(raw_rows(markdown)) - len(separators) == len(expected)
    widths = [len(row) for row in raw_rows(markdown) if row not in separators]
    assert widths == expected


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.names.add(tag)


def html_tags(markdown: str) -> set[str]:
    tags = Tags()
    tags.feed(GFM.render(markdown))
    return tags.names


def test_every_row_of_every_table_has_its_headers_cell_count(
    sweep: list[RunResult], launches: list[Launch]
) -> None:
    markdown = rendered("quickstart", launches, sweep)

    results, over = table_with("achieved", markdown), table_with("over", markdown)
    arms, facts = table_with("engine", markdown), table_with("fact", markdown)
    assert_tables_are_whole(markdown)
    assert len(results) == 1 + 6
    assert len(over) == 1 + 6
    assert len(arms) == 1 + 3
    assert facts == [["fact", "value", "servers"], ["cpu", "AMD | EPYC", "all"]]


def test_the_table_shows_each_number_with_its_interval_and_n(
    sweep: list[RunResult], launches: list[Launch]
) -> None:
    markdown = rendered("quickstart", launches, sweep)

    header, autoregressive, linear, *_ = table_with("achieved", markdown)

    cell = dict(zip(header, linear, strict=True))
    assert cell["arm"] == "linear-8"
    for column, n in (("tokens/step", 48), ("tok/s", 2), ("TPOT ms", 48), ("TTFT median ms", 48)):
        assert re.fullmatch(rf"[\d.]+ \[[\d.]+, [\d.]+\] n={n}", cell[column]), column
    assert cell["tokens/step"].startswith("3.01 [")
    assert cell["TPOT ms"].startswith("3.32 [")
    assert dict(zip(header, autoregressive, strict=True))["tokens/step"] == "1 (by definition)"


def test_what_it_does_not_know_is_said(sweep: list[RunResult], launches: list[Launch]) -> None:
    markdown = rendered("quickstart", launches, sweep)

    assert "embedded demo model, CPU" in markdown
    assert "drift and launch-to-launch variance not measured" in markdown
    assert "Not known: `gpu` (`no nvidia-smi`)" in markdown


def test_facts_that_differ_between_servers_say_where(
    sweep: list[RunResult], launches: list[Launch]
) -> None:
    patched = Environment({"cpu": "AMD | EPYC", "sglang": "patched", "args": "x" * 1000}, {})
    other = replace(launches[2], environment=patched)

    markdown = rendered("quickstart", [*launches[:2], other], sweep)

    facts = table_with("fact", markdown)
    assert facts[1:] == [["cpu", "AMD | EPYC", "all"], ["sglang", "patched", "tree-8-31-4"]]
    assert "too long for here: `args`" in markdown


def test_two_visits_measure_drift(make_result: Make, launches: list[Launch]) -> None:
    results = [make_result(visit=0), make_result(visit=1)]

    assert "not measured" not in rendered("quickstart", launches, results)


def test_failures_come_before_any_number(
    sweep: list[RunResult], launches: list[Launch], make_result: Make
) -> None:
    failed = make_result("tree-8-31-4", concurrency=4, failure=FAILED)
    launch = replace(launches[0], failure=FAILED)

    markdown = rendered("quickstart", [launch, *launches], [failed, *sweep])

    assert markdown.index("## What failed") < markdown.index("## Results")
    what = table_with("what", markdown)
    assert [row[0] for row in what] == ["what", "launch", "trial"]
    assert "1 trials and 0 requests" in markdown
    assert_tables_are_whole(markdown)


def test_a_run_in_which_nothing_was_measured_still_reports(launches: list[Launch]) -> None:
    dead = [replace(launch, failure=FAILED, startup_s=None) for launch in launches]

    markdown = rendered("quickstart", dead, [])

    assert "Nothing was measured." in markdown
    assert_tables_are_whole(markdown)


def test_text_from_outside_breaks_nothing(make_result: Make) -> None:
    result = make_result(prompts=2)
    server = replace(
        result.trial.server,
        model=NASTY,
        flags=((NASTY, (1, NASTY)), ("bare", True)),
        env=((NASTY, NASTY),),
        patches=NASTY,
    )
    trial = replace(
        result.trial, arm=NASTY, server=server, load=replace(result.trial.load, prompts=NASTY)
    )
    requests = (*result.requests, RequestFailed(NASTY, 0.0, 0.0, NASTY))
    broken = replace(result, trial=trial, requests=requests, started_at=NASTY)
    failed = replace(broken, key="other", failure=FAILED)
    launch = Launch(
        server, (NASTY,), NASTY, 1.0, Environment({NASTY: NASTY}, {NASTY: NASTY}), FAILED
    )

    markdown = rendered(NASTY, [launch], [broken, failed])

    assert_tables_are_whole(markdown)
    assert html_tags(markdown) <= {
        *("h1", "h2", "p", "strong", "code", "pre", "ul", "li"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    headings = [t for t in GFM.parse(markdown) if t.type == "heading_open"]
    assert [t.tag for t in headings] == ["h1", *["h2"] * 7]
    assert "‮" not in markdown


@given(st.text())
def test_a_code_span_shows_its_text_and_nothing_else(text: str) -> None:
    tokens = GFM.parseInline(code(text))[0].children or []

    shown = " ".join(text.split())
    if not shown:
        assert code(text) == "(empty)"
    else:
        assert [token.type for token in tokens] == ["code_inline"]
        if shown.isprintable() and len(shown) <= 300:
            assert tokens[0].content == shown


@given(st.lists(st.text(alphabet="a|\\` <", max_size=8), min_size=1, max_size=4))
def test_a_table_cell_shows_its_text_whatever_it_holds(texts: list[str]) -> None:
    markdown = table([str(n) for n in range(len(texts))], [[code(text) for text in texts]])

    (lines,) = tables(markdown)

    assert lines[1] == [" ".join(text.split()) or "(empty)" for text in texts]


@given(st.text(alphabet="`~\n a#|<", max_size=40))
@example("before\n```\nafter")
@example("`````")
def test_a_block_ends_where_it_should(text: str) -> None:
    fence, *after = GFM.parse(block(text) + "\n\nafter")

    assert fence.type == "fence"
    assert fence.content.splitlines() == text.splitlines()
    assert [token.type for token in after] == ["paragraph_open", "inline", "paragraph_close"]


def test_a_row_of_another_length_is_a_bug() -> None:
    with pytest.raises(ValueError, match="1 cells under 2 headers"):
        table(("a", "b"), [["x"]])


@given(st.text(alphabet="ab1 .,:;-_*|\\[]()<>&@#~!'\"/=+é\n", max_size=40))
@example("1. item")
@example("- item")
@example("see www.example.org, GH-12 :tada: and a@b.c")
@example("# heading\n---")
def test_prose_shows_its_words_and_nothing_else(text: str) -> None:
    tokens = GFM.parse(prose(text))

    if not text.split():
        assert prose(text) == "(empty)"
        return
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    parts = tokens[1].children or []
    assert {part.type for part in parts} <= {"text", "code_inline"}
    assert "".join(part.content for part in parts) == " ".join(text.split())


@given(st.text(alphabet="a` .<*_", max_size=30))
def test_prose_with_backticks_brings_nothing_to_life(text: str) -> None:
    tokens = GFM.parse(prose(text))

    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {part.type for part in tokens[1].children or []} <= {"text", "code_inline"}


def test_what_stands_in_backticks_is_code() -> None:
    told = "Set `repeats: 3`, or use `visits: 2`."

    assert prose(told) == told
    assert prose("see a`b and `x|y`") == "see ``a`b`` and `x|y`"


@pytest.mark.parametrize(
    "word", ["@user", "#12", "https://x.y", "www.x.y", "GH-12", ":tada:", "a@b.c", "x_y_z", "a|b"]
)
def test_a_word_that_github_would_bring_to_life_is_code(word: str) -> None:
    assert prose(f"see {word} there") == f"see `{word}` there"


@pytest.mark.parametrize(
    "text", ["a step takes 10.88 ms at width 8", "1.32x (1.27 to 1.37)", "(5 %), so: it's 50/50!"]
)
def test_a_plain_sentence_stays_plain(text: str) -> None:
    assert prose(text) == text


def test_rates_are_rows_and_figures_of_their_own(make_result: Make, launches: list[Launch]) -> None:
    lost = RequestFailed("code-9", 0.1, 0.0, "the connection was reset")
    results = [make_result(rate_per_s=rate) for rate in (8.0, 2.5)]
    results.append(make_result("tree-8-31-4", rate_per_s=2.5))
    results[0] = replace(results[0], requests=(*results[0].requests, lost))

    report = assemble("x", launches, [*results, make_result()], checked=Checked((), ()))

    markdown = render_markdown(report)
    header, *rows = table_with("achieved", markdown)
    assert header[0] == "concurrency or rate"
    assert [row[:2] for row in rows] == [
        ["2.5/s", "linear-8"],
        ["2.5/s", "tree-8-31-4"],
        ["8/s", "linear-8"],
        ["1", "linear-8"],
    ]
    assert "## Speedup at the same rate\n" in markdown
    assert [row[:2] for row in table_with("over", markdown)[1:]] == [["2.5/s", "tree-8-31-4"]]
    assert table_with("failed requests", markdown)[1][1:3] == ["linear-8", "8/s"]
