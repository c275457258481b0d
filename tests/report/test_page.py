"""The HTML page, read by Python's own parser."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ddbench.checks.finding import Finding, Severity
from ddbench.checks.run import Report as Checked
from ddbench.records import Environment, Failure, Launch, RequestFailed, RunResult
from ddbench.report.assemble import assemble
from ddbench.report.content import Report
from ddbench.report.page import render_page

Make = Callable[..., RunResult]
MakeReport = Callable[..., Report]
NASTY = "x|y `z` <script>alert(1)</script><img src=x>\n\"' &amp; {{ 7*7 }} {% raw %} ‮é"
VOID = {"meta", "link", "br"}
Attributes = dict[str, str | None]


class Read(HTMLParser):
    """Tags that must match, and the text that a reader sees."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, Attributes]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def of(self, tag: str) -> list[Attributes]:
        return [attributes for name, attributes in self.tags if name == tag]

    def text_of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


@pytest.fixture
def read(report: MakeReport, launches: list[Launch], sweep: list[RunResult]) -> Read:
    return Read(render_page(report("quickstart", launches, sweep)))


@pytest.fixture
def hostile(make_result: Make) -> Report:
    result = make_result(prompts=2)
    server = replace(result.trial.server, model=NASTY, flags=((NASTY, NASTY),), patches=NASTY)
    trial = replace(
        result.trial, arm=NASTY, server=server, load=replace(result.trial.load, prompts=NASTY)
    )
    failure = Failure(NASTY, NASTY, NASTY)
    broken = replace(result, trial=trial, requests=(RequestFailed(NASTY, 0.0, 0.0, NASTY),))
    failed = replace(broken, key="other", failure=failure)
    launch = Launch(server, (), NASTY, 1.0, Environment({NASTY: NASTY}, {NASTY: NASTY}), failure)
    finding = Finding("DDB101", Severity.ERROR, NASTY, NASTY, NASTY)
    return assemble(NASTY, [launch], [broken, failed], checked=Checked((finding,), ()))


def test_findings_come_first_then_the_answer(read: Read) -> None:
    headings = read.text_of("h2")

    assert headings[:3] == ["Findings", "Answer", "Results"]
    assert read.text_of("h1") == ["quickstart"]
    assert "embedded demo model, CPU" in read.text_of("strong")


def test_the_page_can_ask_for_nothing(read: Read) -> None:
    addresses = [
        value
        for _, attributes in read.tags
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data", "poster", "srcset", "xlink:href")
    ]
    (policy,) = (a["content"] for a in read.of("meta") if "http-equiv" in a)

    assert all(address and address.startswith(("#", "data:,")) for address in addresses)
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy
    assert "url(" not in "".join(read.text_of("style"))
    assert "@import" not in "".join(read.text_of("style"))


def test_only_the_script_that_is_there_may_run(read: Read) -> None:
    (script,) = read.text_of("script")
    (policy,) = (a["content"] for a in read.of("meta") if "http-equiv" in a)

    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in (policy or "")
    assert not [name for _, attributes in read.tags for name in attributes if name[:2] == "on"]


def test_every_link_has_its_target_and_every_id_is_one(read: Read) -> None:
    ids = Counter(attributes["id"] for _, attributes in read.tags if "id" in attributes)
    links = {(link["href"] or "")[1:] for link in read.of("a")}

    assert max(ids.values()) == 1
    assert links <= set(ids)
    for _, attributes in read.tags:
        for name in ("aria-labelledby", "aria-describedby"):
            assert set((attributes.get(name) or "").split()) <= set(ids)


def test_every_number_with_an_interval_says_its_n_and_can_be_sorted(read: Read) -> None:
    told = [cell for cell in read.of("td") if "data-tip" in cell]

    assert len(told) > 40
    assert all("data-value" in cell for cell in told)
    assert all(re.search(r", n=\d+\. ", cell["data-tip"] or "") for cell in told)
    spans = [attributes["class"] for attributes in read.of("span")]
    assert spans.count("n") == spans.count("number") >= len(told)


def test_every_row_has_as_many_cells_as_its_table_has_headers(read: Read) -> None:
    tables: list[list[int]] = []
    for tag, _ in read.tags:
        if tag == "table":
            tables.append([])
        elif tag == "tr":
            tables[-1].append(0)
        elif tag in ("th", "td"):
            tables[-1][-1] += 1

    assert len(tables) > 5
    assert all(len(set(cells)) == 1 for cells in tables)


def test_text_from_outside_stays_text(hostile: Report) -> None:
    read = Read(render_page(hostile))

    assert Counter(tag for tag, _ in read.tags)["script"] == 1
    assert not read.of("img")
    seen = " ".join(text for _, text in read.texts)
    assert "<script>alert(1)</script><img src=x>" in seen
    assert "{{ 7*7 }} {% raw %}" in seen
    assert "&amp;" in seen
    assert "‮" not in seen


def test_errors_warn_before_any_number(hostile: Report) -> None:
    read = Read(render_page(hostile))

    (answer,) = (text for text in read.text_of("p") if "ERROR" in text)
    assert answer.startswith("Clear up the 1 ERROR finding before using these numbers.")


def test_a_run_in_which_nothing_was_measured_has_a_page(
    report: MakeReport, launches: list[Launch]
) -> None:
    dead = [
        replace(launch, failure=Failure("oom", "", "Less."), startup_s=None) for launch in launches
    ]

    read = Read(render_page(report("quickstart", dead, [])))

    assert "Nothing was measured." in read.text_of("p")
    assert "What failed" in read.text_of("h2")
