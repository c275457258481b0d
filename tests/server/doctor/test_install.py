"""The installer with a stand-in for uv, since the real thing moves 11 GB.

What it runs, in which order, and that it never touches a folder that is not its own.
"""

import sys
from pathlib import Path

import pytest

from ddbench.errors import SetupError
from ddbench.server.doctor import install
from ddbench.server.doctor.install import MARKER, ddbench_requirement, install_sglang_cpu

# `uv venv` makes an environment that sees the packages of this one (torch); `uv pip install` writes
# the metadata of what it is asked for, with the entry points that ddbench would bring.
FAKE_UV = """#!{python}
import subprocess, sys, sysconfig
from pathlib import Path

with open({log!r}, "a") as log:
    print(*sys.argv[1:], file=log)
if sys.argv[1] == "venv":
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", sys.argv[-1]], check=True)
    environment = Path(sys.argv[-1])
else:
    environment = Path(sys.argv[sys.argv.index("--python") + 1]).parent.parent
site = next(environment.glob("lib/*/site-packages"))
(site / "these.pth").write_text(sysconfig.get_path("purelib") + "\\n")
if sys.argv[1] == "pip":
    package = sys.argv[-1]
    if {fails!r} in package:
        sys.exit(3)
    name, version = package.split("==") if "==" in package else ("ddbench", "0.1.0")
    info = site / f"{{name}}-{{version}}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Name: {{name}}\\nVersion: {{version}}\\n")
    if name == "sglang":
        (site / name).mkdir(exist_ok=True)
        (site / name / "__init__.py").write_text("import this_is_never_imported\\n")
    else:
        (info / "entry_points.txt").write_text(
            "[sglang.srt.platforms]\\nddbench_cpu = ddbench.sglang_plugin:activate_platform\\n")
"""


@pytest.fixture
def fake_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of what it was asked to do."""
    return make_uv(tmp_path, monkeypatch, fails="nothing at all")


def make_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fails: str) -> Path:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir(exist_ok=True)
    log = tmp_path / "uv.log"
    uv = bin_folder / "uv"
    uv.write_text(FAKE_UV.format(python=sys.executable, log=str(log), fails=fails))
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    return log


def test_installs_sglang_then_ddbench_and_may_be_run_again(tmp_path: Path, fake_uv: Path) -> None:
    said: list[str] = []

    python = install_sglang_cpu(tmp_path / "env", say=said.append)

    assert python == tmp_path / "env" / "bin" / "python"
    asked = fake_uv.read_text().splitlines()
    assert [line.split()[0] for line in asked] == ["venv", "pip", "pip"]
    assert asked[1].endswith(" sglang==0.5.23")
    assert "--no-deps" in asked[2]
    assert "11 GB" in said[0]
    assert said[-1].startswith("[4/4] done in")
    assert '"sglang": "0.5.23"' in (tmp_path / "env" / MARKER).read_text()

    install_sglang_cpu(tmp_path / "env", say=said.append)

    assert fake_uv.read_text().count("venv --quiet") == 1  # the environment is kept


def test_a_failed_step_names_itself_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_uv(tmp_path, monkeypatch, fails="sglang")
    with pytest.raises(SetupError, match=r"could not install sglang 0\.5\.23: exit code 3"):
        install_sglang_cpu(tmp_path / "env", say=lambda _: None)
    make_uv(tmp_path, monkeypatch, fails="nothing at all")

    assert install_sglang_cpu(tmp_path / "env", say=lambda _: None).exists()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path, fake_uv: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.tex").touch()

    with pytest.raises(SetupError, match="not empty"):
        install_sglang_cpu(folder, say=lambda _: None)

    assert not fake_uv.exists()
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "env").touch()

    with pytest.raises(SetupError, match="is a file"):
        install_sglang_cpu(tmp_path / "env", say=lambda _: None)


def test_a_disk_without_room_is_refused_before_anything_is_written(
    tmp_path: Path, fake_uv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "SIZE_BYTES", 10**18)

    with pytest.raises(SetupError, match="needs about 1000000000 GB"):
        install_sglang_cpu(tmp_path / "new" / "env", say=lambda _: None)

    assert not (tmp_path / "new").exists()
    assert not fake_uv.exists()


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        (None, ["ddbench==9.9"]),
        (
            '{"url": "file:///src/ddbench", "dir_info": {"editable": true}}',
            ["--editable", "/src/ddbench"],
        ),
        ('{"url": "file:///src/ddbench", "dir_info": {}}', ["ddbench @ file:///src/ddbench"]),
        ('{"url": "https://x.org/d.whl", "archive_info": {}}', ["ddbench @ https://x.org/d.whl"]),
        (
            '{"url": "https://x.org/d.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
            ["ddbench @ git+https://x.org/d.git@abc"],
        ),
    ],
)
def test_ddbench_is_installed_from_where_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct_url: str | None, expected: list[str]
) -> None:
    info = tmp_path / "ddbench-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ddbench\nVersion: 9.9\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(direct_url)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert ddbench_requirement() == expected
