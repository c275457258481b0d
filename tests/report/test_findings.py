"""What rules said, grouped and in order."""

from markdown_it import MarkdownIt

from ddbench.checks.finding import Finding, Severity, Skipped
from ddbench.checks.run import Report as Checked
from ddbench.report.comparison_formats import section_markdown
from ddbench.report.findings import counts_text, findings_sections, found_of, lacking_of
from ddbench.report.sections import plain

INFO, WARNING, ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR


def finding(code: str, severity: Severity, subject: str = "arm", remedy: str = "Look.") -> Finding:
    return Finding(code, severity, subject, f"message of {subject}", remedy)


def test_the_worst_come_first_and_alike_ones_together() -> None:
    checked = Checked(
        (
            finding("DDB207", INFO),
            finding("DDB301", WARNING),
            finding("DDB101", ERROR, "first"),
            finding("DDB101", ERROR, "second"),
            finding("DDB101", ERROR, "third", remedy="Do something else."),
        ),
        (),
    )

    found = found_of(checked)

    assert [(one.code, len(one.findings)) for one in found] == [
        ("DDB101", 2),
        ("DDB101", 1),
        ("DDB301", 1),
        ("DDB207", 1),
    ]
    assert counts_text(found) == "3 errors, 1 warning, 1 note"


def test_many_alike_are_counted() -> None:
    found = found_of(Checked(tuple(finding("DDB207", INFO, f"arm {n}") for n in range(6)), ()))

    (section,) = findings_sections(found, [])

    (sentence,) = section.sentences
    assert plain(sentence) == (
        "INFO DDB207 arm 0: message of arm 0; arm 1: message of arm 1; arm 2: message of arm 2; "
        "and 3 more like it. Next: Look."
    )


def test_what_could_not_be_looked_at_is_said() -> None:
    skipped = (Skipped("DDB1", "a; b"), Skipped("DDB2", "b"), Skipped("DDB2", "b"))

    lacking = lacking_of(Checked((), skipped))
    (section,) = findings_sections([], lacking)

    assert [(one.input, one.codes) for one in lacking] == [
        ("b", ("DDB1", "DDB2")),
        ("a", ("DDB1",)),
    ]
    assert [plain(sentence) for sentence in section.after] == [
        "No rule of `ddbench check` found anything.",
        "2 rules were skipped on some trial, for want of: b; a.",
    ]


def test_a_message_with_markup_stays_a_message() -> None:
    odd = Finding(
        "DDB501", ERROR, "a|b", 'said "<b>" at my_arm_x: @user https://x.y #1 :tada:', "Do."
    )

    (section,) = findings_sections(found_of(Checked((odd,), ())), [])
    markdown = "\n\n".join(section_markdown(section, level=3))

    html = MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
    assert "<b>" not in html
    assert "<em>" not in html
    assert "<code>a|b</code>" in html
    assert "<code>my_arm_x: @user https://x.y #1 :tada:</code>" in html
