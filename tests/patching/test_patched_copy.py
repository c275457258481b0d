"""A series on a copy: made once, whole or not at all, and nothing but the copy is touched."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ddbench.cli.main import main
from ddbench.errors import PatchError
from ddbench.patching.copies import remove
from ddbench.patching.patched_copy import apply_series

COMMAND = [sys.executable, "-c", "from ddbench.cli.main import main; main()", "patch"]


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def patch(fake, cache, monkeypatch, capsys):
    """`ddbench patch VERB` for the fake installation, in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["ddbench", "patch", *map(str, arguments)])
        terminated = signal.getsignal(signal.SIGTERM)
        with pytest.raises(SystemExit) as ended:
            main()
        signal.signal(signal.SIGTERM, terminated)
        code = ended.value.code or 0
        assert isinstance(code, int)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    def for_fake(verb, *options):
        python = [] if verb == "list" else ["--python", fake.python, "--cache", cache]
        return run(verb, fake.series, *python, *options)

    for_fake.run = run
    return for_fake


def started(fake, cache, *before):
    return subprocess.Popen(
        [*before, *COMMAND, "apply", fake.series, "--python", fake.python, "--cache", cache],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def answer(fake, folder, code):
    """What the interpreter prints with the copy on its PYTHONPATH."""
    return subprocess.run(
        [fake.python, "-c", code],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_the_copy_is_patched_and_the_installation_is_not(patch, fake):
    before = fake.snapshot()

    done = patch("apply")

    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert fake.snapshot() == before
    assert "line_3 = 33\n" in (folder / "sglang" / "srt" / "spec.py").read_text()
    assert (folder / "sglang" / "srt" / "tree.py").read_text() == "nodes = 31\n"
    assert not (folder / "sglang" / "data.bin").exists()
    assert (folder / "sglang" / "srt" / "untouched.py").read_text() == "answer = 42\n"


def test_the_copy_has_the_version_and_the_entry_points_of_the_installation(fake, cache):
    folder = apply_series(str(fake.series), fake.python, cache=cache).folder

    said = answer(
        fake,
        folder,
        "import sglang, importlib.metadata as m\n"
        "(point,) = m.entry_points(group='fake.plugins')\n"
        "print(sglang.__version__, m.version('sglang'), point.load(), sglang.__file__)",
    )

    assert said == f"0.5.23 0.5.23 33 {folder / 'sglang' / '__init__.py'}"


def test_git_makes_the_same_of_the_installation(fake, cache, tmp_path, git):
    folder = apply_series(str(fake.series), fake.python, cache=cache).folder
    expected = tmp_path / "expected"
    shutil.copytree(fake.site_packages, expected)

    for one in sorted((fake.series / "sglang-0.5.23").glob("*.patch")):
        git(expected, "apply", str(one))

    files = {p.relative_to(expected / "sglang") for p in (expected / "sglang").rglob("*")}
    for name in (name for name in files if (expected / "sglang" / name).is_file()):
        found = folder / "sglang" / name
        assert found.read_bytes() == (expected / "sglang" / name).read_bytes()
    copied = {p.relative_to(folder / "sglang") for p in (folder / "sglang").rglob("*")}
    assert {name for name in copied if "__pycache__" not in name.parts} == files


def test_applying_again_finds_the_same_copy(patch):
    first = patch("apply")

    second = patch("apply", "--json")

    assert "copying" in first.stderr
    assert "copying" not in second.stderr
    assert json.loads(second.stdout)["folder"] == first.stdout.strip()


def test_two_at_once_make_one_copy(fake, cache):
    both = [started(fake, cache) for _ in range(2)]

    ended = [process.communicate(timeout=120) for process in both]

    assert [process.returncode for process in both] == [0, 0], ended
    assert ended[0][0] == ended[1][0]
    assert sum("copying" in stderr for _, stderr in ended) == 1
    assert len(list(cache.glob("sglang-*"))) == 1


def test_what_a_killed_process_left_is_no_copy(fake, cache, patch):
    (cache / ".building-sglang-0.5.23-x" / "sglang").mkdir(parents=True)
    process = started(fake, cache)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if any(cache.glob(".building-*/sglang/srt/spec.py")):
            os.killpg(process.pid, signal.SIGKILL)
            break
    process.communicate(timeout=60)

    done = patch("apply")

    assert done.returncode == 0, done.stderr
    assert not list(cache.glob(".building-*"))
    assert patch("verify").returncode == 0


def test_an_installation_on_a_read_only_disk_will_do(fake, cache):
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("no mount namespace may be made here, so no read-only disk")
    there = fake.site_packages
    read_only = (
        f"mount --bind {there} {there} && mount -o remount,ro,bind {there} && "
        f'! touch {there}/x 2>/dev/null && exec "$@"'
    )

    process = started(fake, cache, "unshare", "--mount", "sh", "-c", read_only, "sh")
    stdout, stderr = process.communicate(timeout=120)

    assert process.returncode == 0, stderr
    assert (Path(stdout.strip()) / "sglang" / "srt" / "tree.py").exists()


def test_files_that_may_not_be_written_can_be_patched_in_the_copy_and_removed(fake, cache, patch):
    for path in fake.site_packages.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)

    folder = apply_series(str(fake.series), fake.python, cache=cache).folder

    assert all(p.stat().st_mode & 0o600 == 0o600 for p in folder.rglob("*"))
    assert patch("remove").returncode == 0


def test_a_file_that_is_not_as_shipped_is_refused_by_name(patch, fake, cache):
    spec = fake.site_packages / "sglang" / "srt" / "spec.py"
    spec.write_text(spec.read_text() + "# mine\n")

    done = patch("apply")

    assert done.returncode == 2
    assert f"{spec} is not as SGLang 0.5.23 ships it" in done.stderr
    assert not list(cache.glob("*"))


def test_a_file_that_the_series_would_create_is_refused_by_name(patch, fake):
    tree = fake.site_packages / "sglang" / "srt" / "tree.py"
    tree.write_text("mine = 1\n")

    done = patch("apply")

    assert done.returncode == 2
    assert f"{tree} exists, and the series would create it" in done.stderr


def test_a_changed_copy_is_refused_and_verify_names_the_file(patch):
    folder = Path(patch("apply").stdout.strip())
    (folder / "sglang" / "srt" / "untouched.py").write_text("answer = 41\n")
    (folder / "sglang" / "srt" / "tree.py").unlink()
    (folder / "sglang" / "new.py").write_text("")

    verified, applied = patch("verify"), patch("apply")

    assert verified.returncode == 1
    assert "sglang/srt/untouched.py was changed" in verified.stdout
    assert "sglang/srt/tree.py is missing" in verified.stdout
    assert "sglang/new.py was added" in verified.stdout
    assert applied.returncode == 2
    assert "sglang/new.py was added" in applied.stderr


def test_a_later_edit_of_the_installation_leaves_the_copy_and_verify_says_so(patch, fake):
    folder = Path(patch("apply").stdout.strip())
    with (fake.site_packages / "sglang" / "srt" / "untouched.py").open("r+") as file:
        file.write("answer = 43\n")  # in place, as a link would show

    verified, again = patch("verify"), patch("apply")

    assert (folder / "sglang" / "srt" / "untouched.py").read_text() == "answer = 42\n"
    assert verified.returncode == 1
    assert "of which it was made, changed" in verified.stdout
    other = Path(again.stdout.strip())
    assert other != folder
    assert (other / "sglang" / "srt" / "untouched.py").read_text() == "answer = 43\n"


def test_another_series_is_another_copy(fake, cache):
    first = apply_series(str(fake.series), fake.python, cache=cache)
    (patch,) = (fake.series / "sglang-0.5.23").glob("0002-*.patch")
    patch.write_text(patch.read_text().replace("+nodes = 31", "+nodes = 63"))

    second = apply_series(str(fake.series), fake.python, cache=cache)

    assert first.folder != second.folder
    assert answer(fake, second.folder, "import sglang.srt.tree as t; print(t.nodes)") == "63"


def test_byte_code_that_is_valid_whatever_the_source_says_is_not_taken_along(fake, cache):
    """As some packagers ship it."""
    subprocess.run(
        [
            *(sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"),
            str(fake.site_packages / "sglang"),
        ],
        check=True,
    )

    folder = apply_series(str(fake.series), fake.python, cache=cache).folder

    assert answer(fake, folder, "import sglang.srt.spec as s; print(s.line_3)") == "33"


def test_the_whole_copy_is_byte_compiled(fake, cache):
    folder = apply_series(str(fake.series), fake.python, cache=cache).folder

    compiled = {path.name.partition(".")[0] for path in folder.rglob("*.pyc")}
    assert compiled == {path.stem for path in folder.rglob("*.py")}


def test_a_series_for_another_version_is_refused(patch, fake):
    (fake.series / "sglang-0.5.23").rename(fake.series / "sglang-0.5.11")

    done = patch("apply")

    assert done.returncode == 2
    assert "is for SGLang 0.5.11, and 0.5.23 is installed" in done.stderr


def test_a_series_that_is_no_python_afterwards_is_refused(fake, cache):
    (patch,) = (fake.series / "sglang-0.5.23").glob("0002-*.patch")
    patch.write_text(patch.read_text().replace("+more = 1", "+more = ("))

    with pytest.raises(PatchError, match="no valid Python"):
        apply_series(str(fake.series), fake.python, cache=cache)

    assert not list(cache.glob("*sglang*"))


def test_a_series_without_its_hashes_is_refused(patch, fake):
    (fake.series / "sglang-0.5.23" / "base.sha256").unlink()

    done = patch("apply")

    assert done.returncode == 2
    assert "base_hashes" in done.stderr


def test_no_series_and_no_sglang_are_refused_in_a_sentence(patch, tmp_path, fake):
    nothing = patch.run("list", tmp_path / "nothing")
    unpatched = patch.run("apply", fake.series, "--python", sys.executable)
    absent = patch.run("apply", fake.series, "--python", tmp_path / "no-python")

    assert [nothing.returncode, unpatched.returncode, absent.returncode] == [2, 2, 2]
    assert "no patch series" in nothing.stderr
    assert "has no SGLang to patch" in unpatched.stderr
    assert "cannot run" in absent.stderr


@pytest.mark.parametrize("verb", ["list", "status", "apply", "verify", "remove"])
def test_a_misspelt_series_is_refused_by_every_verb(patch, fake, cache, verb):
    options = [] if verb == "list" else ["--python", fake.python, "--cache", cache]

    done = patch.run(verb, "ddtre", *options)

    assert done.returncode == 2
    assert "no patch series" in done.stderr


def test_an_interpreter_that_says_nothing_is_refused_in_a_sentence(patch, fake):
    done = patch.run("status", fake.series, "--python", "/bin/true")

    assert done.returncode == 2
    assert "it printed nothing" in done.stderr


def test_a_file_that_cannot_be_read_is_refused_by_name(patch, fake, cache):
    link = fake.site_packages / "sglang" / "srt" / ".#spec.py"
    link.symlink_to("me@host.1234")  # as an editor leaves it

    done = patch("apply")

    assert done.returncode == 2
    assert f"cannot read {link}" in done.stderr
    assert not list(cache.glob("*sglang*"))


def test_a_cache_that_cannot_be_written_is_a_sentence(patch, fake, tmp_path):
    (tmp_path / "file").write_text("")

    done = patch.run(
        *("apply", fake.series, "--python", fake.python),
        *("--cache", tmp_path / "file" / "cache"),
    )

    assert done.returncode == 2
    assert "DDBENCH_CACHE_DIR" in done.stderr


def test_a_copy_in_use_is_not_removed(patch, fake):
    folder = patch("apply").stdout.strip()
    server = subprocess.Popen(
        [fake.python, "-c", "import time; print('up', flush=True); time.sleep(600)"],
        env={**os.environ, "PYTHONPATH": folder},
        stdout=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        server.stdout.readline()

        status, refused = patch("status", "--json"), patch("remove")
    finally:
        server.kill()
        server.communicate()
    removed = patch("remove")

    assert json.loads(status.stdout)["copies"][0]["used_by"] == [server.pid]
    assert refused.returncode == 2
    assert str(server.pid) in refused.stderr
    assert removed.stdout.strip() == folder
    assert not Path(folder).exists()


def test_a_copy_in_use_is_not_removed_by_a_relative_path_either(
    patch, fake, cache, tmp_path, monkeypatch
):
    folder = Path(patch("apply").stdout.strip())
    server = subprocess.Popen(
        [fake.python, "-c", "import time; print('up', flush=True); time.sleep(600)"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
    )
    monkeypatch.chdir(tmp_path)
    try:
        assert server.stdout is not None
        server.stdout.readline()

        refused = patch.run("remove", fake.series, "--cache", cache.name)
    finally:
        server.kill()
        server.communicate()

    assert refused.returncode == 2
    assert str(server.pid) in refused.stderr
    assert folder.is_dir()


def test_what_was_left_half_removed_does_not_stop_the_next_removal(patch, cache):
    folder = Path(patch("apply").stdout.strip())
    left = cache / f".removed-{folder.name}" / "sglang"
    left.mkdir(parents=True)

    done = patch("remove")

    assert done.returncode == 0, done.stderr
    assert not list(cache.glob("*sglang*")) + list(cache.glob(".removed-*"))


def test_a_copy_that_another_process_removed_meanwhile_is_no_error(fake, cache):
    folder = apply_series(str(fake.series), fake.python, cache=cache).folder
    shutil.rmtree(folder)

    removed = remove(cache, [folder])

    assert removed == []


def test_list_and_status_say_what_there_is(patch, fake):
    listed, empty = patch("list"), patch("status")
    folder = patch("apply").stdout.strip()
    full = patch("status")
    spec = fake.site_packages / "sglang" / "srt" / "spec.py"
    spec.write_text("")
    broken = patch("status", "--json")

    assert "for sglang 0.5.23: 2 patches, 3 files" in listed.stdout
    assert "0001-Draft-a-tree.patch" in listed.stdout
    assert "fits" in empty.stdout
    assert "no copy" in empty.stdout
    assert folder in full.stdout
    assert json.loads(broken.stdout)["fits"] is False
    assert str(spec) in json.loads(broken.stdout)["why_not"]
