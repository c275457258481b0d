"""Our applier against git, which wrote the patches."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddbench.errors import PatchError
from ddbench.patching.unified_diff import applied, read_patch

PatchOf = Callable[[str | None, str | None], Path]

PATH = "sglang/file.py"
SAMPLES = ["a", "b", "b", "", " c", "d\re", "--- x", "+++ y", "@@ -1 +1 @@"]
LINES = st.lists(st.sampled_from(SAMPLES))
TEXTS = st.tuples(LINES, st.booleans()).map(lambda t: "\n".join(t[0]) + "\n" * t[1])
CHANGES = st.tuples(st.none() | TEXTS, st.none() | TEXTS).filter(lambda pair: pair[0] != pair[1])


@pytest.fixture(scope="module")
def patch_of(tmp_path_factory: pytest.TempPathFactory, git) -> PatchOf:
    """The patch that git writes from one content to another; None: there is no file."""
    repository = tmp_path_factory.mktemp("repository")
    (repository / "sglang").mkdir()
    git(repository, "init", "-q")
    patch = repository.parent / "one.patch"

    def write(before: str | None, after: str | None) -> Path:
        trees = []
        for text in (before, after):
            put(repository / PATH, text)
            git(repository, "add", "-A")
            trees.append(git(repository, "write-tree").decode().strip())
        patch.write_bytes(git(repository, "diff", "--text", *trees))
        return patch

    return write


def put(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(text.encode())


@given(CHANGES)
@settings(max_examples=40, deadline=None)
def test_what_git_wrote_turns_the_file_into_what_git_saw(patch_of, change):
    before, after = change
    patch = patch_of(before, after)

    found = applied({PATH: before.encode() if before is not None else None}, read_patch(patch), "p")

    assert found == {PATH: after.encode() if after is not None else None}


def test_a_file_shifted_by_one_line_is_refused(patch_of):
    lines = "".join(f"{n}\n" for n in range(30))
    patch = patch_of(lines, lines.replace("20\n", "twenty\n"))

    with pytest.raises(PatchError, match=r"sglang/file\.py differs at line 18"):
        applied({PATH: b"new first line\n" + lines.encode()}, read_patch(patch), "0001-x.patch")


def test_a_file_that_should_not_be_there_is_refused(patch_of):
    patch = patch_of(None, "a\n")

    with pytest.raises(PatchError, match="exists already"):
        applied({PATH: b""}, read_patch(patch), "0001-x.patch")


def test_upstream_paths_are_read_as_those_of_the_package(tmp_path):
    patch = tmp_path / "one.patch"
    patch.write_text(
        "diff --git a/python/sglang/a.py b/python/sglang/a.py\n"
        "--- a/python/sglang/a.py\n+++ b/python/sglang/a.py\n@@ -1 +1 @@\n-a\n+b\n"
    )

    (change,) = read_patch(patch)

    assert change.path == "sglang/a.py"
    assert change.applied_to(b"a\n", "p") == b"b\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "changes nothing"),
        ("hello\n", "changes nothing"),
        (
            "diff --git a/sglang/a.py b/sglang/a.py\n--- a/sglang/a.py\n+++ b/sglang/a.py\n"
            "@@ -1,3 +1 @@\n-a\n+b\n",
            "no git-format patch",
        ),
        (
            "diff --git a/sglang/a.py b/sglang/b.py\nsimilarity index 100%\n"
            "rename from sglang/a.py\nrename to sglang/b.py\n",
            "more to sglang/b.py than change its text",
        ),
        (
            "diff --git a/other/a.py b/other/a.py\n--- a/other/a.py\n+++ b/other/a.py\n"
            "@@ -1 +1 @@\n-a\n+b\n",
            "not in the sglang package",
        ),
        (
            "diff --git a/sglang/../a.py b/sglang/../a.py\n--- a/sglang/../a.py\n"
            "+++ b/sglang/../a.py\n@@ -1 +1 @@\n-a\n+b\n",
            "not in the sglang package",
        ),
    ],
)
def test_what_is_no_series_patch_is_refused(tmp_path, text, said):
    patch = tmp_path / "one.patch"
    patch.write_text(text)

    with pytest.raises(PatchError, match=said):
        read_patch(patch)
