"""The planted faults of the conformance test stay applicable as the series changes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ddbench.patching.unified_diff import applied, read_patch

FAULTS = sorted((Path(__file__).parents[1] / "conformance" / "faults").glob("*.patch"))


def test_there_is_one_patch_for_each_fault() -> None:
    assert {path.stem for path in FAULTS} == {
        "bonus-off-by-one",
        "kv-move-skipped",
        "mask-dropped",
        "walk-stopped-early",
    }


@pytest.mark.parametrize("patch", FAULTS, ids=lambda path: path.stem)
def test_a_fault_changes_files_that_the_series_creates(
    created_source: Callable[[str], str], patch: Path
) -> None:
    changes = read_patch(patch)
    before = {change.path: created_source(change.path).encode() for change in changes}

    after = applied(before, changes, patch.name)

    for path, content in after.items():
        assert content is not None
        compile(content, path, "exec")
        assert content != before[path]
