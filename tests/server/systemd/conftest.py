"""A real user manager and a real journald, started once and entered by the tests that need them."""

import ctypes
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

USER_SYSTEMD = Path(__file__).with_name("user-systemd")
NOT_PERMITTED = 77
_CLONE_NEWNS, _CLONE_FS = 0x20000, 0x200


@contextmanager
def started_manager(layout: str) -> Iterator[int]:
    """The pid of a process that lives in the manager's mount namespace."""
    process = subprocess.Popen(
        [USER_SYSTEMD, "sh", "-c", "echo $$; read -r _"],
        env={**os.environ, "USER_SYSTEMD_LAYOUT": layout},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        first = process.stdout.readline()
        if not first:
            reason = process.communicate()[1].strip()
            if process.returncode == NOT_PERMITTED:
                pytest.skip(reason)
            pytest.fail(reason)
        yield int(first)
    finally:
        process.communicate()


@contextmanager
def inside_namespace_of(pid: int) -> Iterator[None]:
    """This process, and what it starts, sees the files that `pid` sees."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(descriptor: int) -> None:
        folder = Path.cwd()
        if libc.unshare(_CLONE_FS) or libc.setns(descriptor, _CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "cannot change the mount namespace")
        os.chdir(folder)

    ours = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    theirs = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    try:
        enter(theirs)
        yield
        enter(ours)
    finally:
        os.close(ours)
        os.close(theirs)


@contextmanager
def inside(manager_pid: int) -> Iterator[None]:
    """`systemctl --user` works, in this process and in those that it starts."""
    with pytest.MonkeyPatch.context() as patched, inside_namespace_of(manager_pid):
        patched.setenv("XDG_RUNTIME_DIR", "/run/user/0")
        patched.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
        yield


@pytest.fixture(scope="session")
def manager_pid():
    with started_manager("host") as pid:
        yield pid


@pytest.fixture(scope="module")
def user_manager(manager_pid):
    with inside(manager_pid):
        yield


@pytest.fixture(scope="module", params=["host", "flat"])
def manager_of_each_layout(request):
    """As user_manager; "flat" is how journald sees units in a container."""
    with started_manager(request.param) as pid, inside(pid):
        yield


@pytest.fixture(scope="session")
def systemctl():
    def ask(*words: str) -> str:
        done = subprocess.run(
            ["systemctl", "--user", *words], check=False, capture_output=True, text=True
        )
        return done.stdout

    return ask


@pytest.fixture(scope="session")
def our_units(systemctl):
    """What an administrator would look at after a sweep; empty when nothing is left."""
    return lambda: systemctl("list-units", "--all", "--no-legend", "--plain", "ddbench-*")


@pytest.fixture(scope="session")
def wait_until():
    """The first true value of a condition."""

    def wait(condition, within_s: float = 20.0):
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if value := condition():
                return value
            time.sleep(0.05)
        pytest.fail(f"not within {within_s} s")

    return wait


@pytest.fixture
def no_units(user_manager, our_units):
    """Fails the test that leaves a unit, a drop-in or a folder of ours behind."""
    assert user_manager is None
    assert our_units() == ""

    yield

    runtime = Path("/run/user/0")
    assert our_units() == ""
    assert not (runtime / "ddbench").exists()
    assert not list(runtime.glob("systemd/**/*ddbench*"))


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "run with 50% $HOME"
    folder.mkdir()
    return folder
