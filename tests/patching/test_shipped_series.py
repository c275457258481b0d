"""The series that ddbench ships, against the packages they are for, as they were published."""

import os
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from ddbench.patching.base_hashes import base_hashes
from ddbench.patching.installed import find_installed
from ddbench.patching.series import Series, available

SERIES = {series.sglang_version: series for series in available()}


def test_each_version_that_is_promised_has_a_series() -> None:
    assert {"0.5.11", "0.5.23"} <= SERIES.keys()


@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_a_series_is_numbered_and_explained(series: Series) -> None:
    numbers = [int(patch.name[:4]) for patch in series.patches]
    readme = (series.folder / "README.md").read_text()

    assert numbers == list(range(1, len(numbers) + 1))
    assert all(patch.name in readme or patch.name[:4] in readme for patch in series.patches)


@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_the_hashes_are_those_of_what_the_patches_change(series: Series) -> None:
    touched = {change.path for changes in series.changes.values() for change in changes}
    created = {c.path for changes in series.changes.values() for c in changes if c.creates}

    assert series.base.keys() == touched - created


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory):
    """A folder with the files that a series touches, as the package index has them."""

    def fetch(series: Series) -> Path:
        folder = tmp_path_factory.mktemp(f"sglang-{series.sglang_version}")
        python = os.environ.get("DDBENCH_SGLANG_PYTHON")
        installed = find_installed(python) if python else None
        if installed is not None and installed.version == series.sglang_version:
            for path in series.base:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes((installed.site_packages / path).read_bytes())
            return folder
        download = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)),
                *("--python-version", "3.11", "--only-binary=:all:"),
                f"sglang=={series.sglang_version}",
            ],
            capture_output=True,
            text=True,
        )
        if download.returncode != 0:
            pytest.skip(f"no wheel of sglang {series.sglang_version}: {download.stderr[-200:]}")
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, members=series.base)
        return folder

    return fetch


@pytest.mark.sglang
@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_git_applies_the_series_to_the_published_package_and_makes_the_same_of_it(
    series: Series, published, git
) -> None:
    folder = published(series)
    assert {p: sha256((folder / p).read_bytes()).hexdigest() for p in series.base} == series.base
    ours = series.result(folder)

    for patch in series.patches:
        git(folder, "apply", "--check", str(patch))
        git(folder, "apply", str(patch))

    for path, content in ours.items():
        assert content == ((folder / path).read_bytes() if (folder / path).exists() else None)


def test_the_hash_writer_refuses_a_package_without_the_file_in_a_sentence(tmp_path: Path) -> None:
    folder = SERIES["0.5.23"].folder
    before = (folder / "base.sha256").read_bytes()

    done = subprocess.run(
        [
            *(sys.executable, "-m", "ddbench.patching.base_hashes", str(folder)),
            *("--site-packages", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert "does not exist\n  try: Use the SGLang version" in done.stderr
    assert (folder / "base.sha256").read_bytes() == before


@pytest.mark.sglang
@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_the_hash_writer_writes_what_is_shipped(series: Series, published) -> None:
    written = base_hashes(series.folder, published(series))

    assert written == (series.folder / "base.sha256").read_text()
