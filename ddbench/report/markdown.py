"""`ddbench report markdown`: the chapters of a report as GitHub-flavoured Markdown."""

from collections.abc import Iterator

from ddbench.report.chapters import chapters, engine_note, headline
from ddbench.report.comparison_formats import in_markdown, section_markdown
from ddbench.report.content import Report
from ddbench.report.gfm import code


def render_markdown(report: Report, *, figure_files: bool = False) -> str:
    """The report, ending in a newline; renders on GitHub.

    figure_files: every figure stands beside it as `<name>.svg`, and is shown.
    """
    return "\n\n".join(_paragraphs(report, figure_files=figure_files)) + "\n"


def _paragraphs(report: Report, *, figure_files: bool) -> Iterator[str]:
    yield f"# ddbench: {code(report.run)}"
    note = engine_note(report)
    yield (f"**{note}**; " if note else "") + in_markdown(headline(report))
    for chapter in chapters(report):
        yield f"## {chapter.title}"
        if chapter.paragraph:
            yield in_markdown(chapter.paragraph).strip()
        for section in chapter.sections:
            yield from section_markdown(section, level=3, figure_files=figure_files)
