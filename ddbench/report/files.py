"""Reports as files. What exists is never overwritten."""

from pathlib import Path

from ddbench.errors import RunError
from ddbench.report.chapters import chapters
from ddbench.report.content import Report
from ddbench.report.markdown import render_markdown

MARKDOWN = "report.md"


def write_markdown(report: Report, folder: Path) -> Path:
    """`report.md` in `folder`, which is made if need be, and its figures beside it.

    Raises RunError when one of the files exists or cannot be written.
    """
    figures = {
        f"{figure.name}.svg": figure.svg
        for chapter in chapters(report)
        for section in chapter.sections
        for figure in section.figures
    }
    texts = {**figures, MARKDOWN: render_markdown(report, figure_files=True)}
    for name in texts:
        require_new(folder / name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise _not_written(folder, cause) from cause
    for name, text in texts.items():
        write_new(folder / name, text)
    return folder / MARKDOWN


def require_new(path: Path) -> None:
    """Raises RunError where `path` exists: before the work that it would be for."""
    if path.exists():
        raise RunError(f"{path} exists", remedy="Give --out a name that does not exist yet.")


def write_new(path: Path, text: str) -> Path:
    """Raises RunError when `path` exists or cannot be written."""
    require_new(path)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as cause:
        raise _not_written(path, cause) from cause
    return path


def _not_written(path: Path, cause: OSError) -> RunError:
    return RunError(
        f"cannot write {path}: {cause.strerror or cause}",
        remedy="Give --out a place in which you may write.",
    )
