"""Sweeps over an https gateway: with the authority that signed its certificate, and without."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from ddbench.runs.store import RunStore

HERE = Path(__file__).parent / "load"
Ddbench = Callable[..., subprocess.CompletedProcess[str]]


@contextmanager
def port_of(script: str, *args: object) -> Iterator[int]:
    argv = [sys.executable, str(HERE / script), *map(str, args)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[str]:
    """The https address of a server of OpenAI's API; authority.pem is in tmp_path."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    pem = tmp_path / "gateway.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(pem)
    with port_of("openai_server.py") as inside, port_of("tls_gateway.py", inside, pem) as port:
        yield f"https://localhost:{port}"


@pytest.fixture
def sweep(gateway: str, tmp_path: Path) -> Path:
    path = tmp_path / "gateway.yaml"
    path.write_text(
        f"name: gateway\nserver: {{engine: attach, base_url: '{gateway}'}}\n"
        "arms: [mtp: {algorithm: MTP}]\nrepeats: 1\n"
        "load: {count: 6, concurrency: [2], route: chat}\n"
    )
    return path


def test_a_server_behind_an_https_gateway_is_measured(
    ddbench: Ddbench, sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))

    done = ddbench("sweep", sweep, "--out", tmp_path / "run")

    assert done.returncode == 0, done.stderr
    with RunStore.open(tmp_path / "run") as store:
        (result,) = list(store.results())
    assert result.failure is None
    assert len(result.completed) == 6
    before: Any = result.counters_before.generation_tokens
    after: Any = result.counters_after.generation_tokens
    assert after - before == 6 * 7


def test_a_gateway_that_nobody_vouches_for_is_named_and_not_asked_for_a_token(
    ddbench: Ddbench, sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)

    done = ddbench("sweep", sweep, "--out", tmp_path / "run")

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as db:
        ((failure,),) = db.execute("SELECT failure FROM trials").fetchall()
    assert "certificate verify failed" in failure
    assert "SSL_CERT_FILE" in failure
