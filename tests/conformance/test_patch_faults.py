"""Each fault that others have made, planted in the patched SGLang: conformance must see it.

A fault is a patch on top of the series. Starts one server of SGLang for each.
"""

import json
import shutil
from pathlib import Path

import pytest

from ddbench.patching.installed import find_installed
from ddbench.patching.series import series_for

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(900)]

FAULTS = sorted((Path(__file__).parent / "faults").glob("*.patch"))


def test_there_are_faults_to_plant() -> None:
    assert len(FAULTS) >= 4


@pytest.mark.parametrize("fault", FAULTS, ids=lambda path: path.stem)
def test_a_patch_with_a_fault_does_not_conform(
    fault: Path, ddbench, sglang_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DDBENCH_CACHE_DIR", str(tmp_path / "cache"))
    series = series_for("ddtree", find_installed(sglang_python).version)
    broken = tmp_path / "broken" / series.folder.name
    shutil.copytree(series.folder, broken)
    shutil.copy(fault, broken / f"9999-{fault.name}")

    done = ddbench(
        *("conformance", "--python", sglang_python, "--patches", broken.parent),
        *("--case", "tree-8-31-4", "--json", "--logs", tmp_path / "logs"),
        timeout_s=800,
    )

    assert done.returncode == 1, done.stderr
    failed = [check for check in json.loads(done.stdout)["checks"] if not check["passed"]]
    print(fault.stem, *(f"{check['what']}: {check['detail']}" for check in failed), sep="\n  ")
    assert any(" == " in check["what"] for check in failed)  # it ran, and was seen to be wrong
