"""Stock against patched in one sweep: each server gets its own SGLang, and results say which."""

import os
import shutil
from pathlib import Path

import pytest

from ddbench.cli.dry_run import dry_run_lines
from ddbench.errors import PatchError, PlanError
from ddbench.executors.local import LocalExecutor
from ddbench.patching import launch
from ddbench.plan.argv import server_command
from ddbench.plan.expand import by_launch, expand
from ddbench.plan.read import parse_sweep, read_sweep
from ddbench.runs.estimate import estimate
from ddbench.runs.store import RunStore

LOAD = "load: {prompts: 'builtin:mixed', count: 2, concurrency: [1], max_new_tokens: 8}\n"


@pytest.fixture
def sweep(tmp_path, fake, monkeypatch):
    monkeypatch.setenv("DDBENCH_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "patched.yaml"
    path.write_text(
        "name: patched\n"
        f"server: {{engine: sglang, model: builtin, python: {fake.python}, flags: {{device: cpu}},"
        f" patches: {fake.series}}}\n"
        "arms:\n"
        "  - linear: {block_size: 8, patches: null}\n"
        "  - patched: {algorithm: DFLASH, block_size: 8, draft_model: builtin}\n" + LOAD
    )
    return path


def test_stock_and_patched_servers_run_in_one_sweep(ddbench, sweep, tmp_path):
    done = ddbench("sweep", sweep, "--out", tmp_path / "run")

    assert done.returncode == 0, done.stderr
    said = {p.name: p.read_text().splitlines()[0] for p in (tmp_path / "run").glob("*.log")}
    assert said == {
        "linear-8-1.log": "a tree has no nodes",
        "patched-1.log": "a tree has 31 nodes",
    }
    with RunStore.open(tmp_path / "run") as store:
        facts = [launch.environment.facts for launch in store.launches()]
    assert "patches.sha256" not in facts[0]
    assert len(facts[1]["patches.sha256"]) == 64
    assert facts[0]["sglang.package_sha256"] != facts[1]["sglang.package_sha256"]


def test_the_series_is_part_of_what_makes_a_key(sweep, fake):
    server = read_sweep(sweep).servers[1]
    (first,) = LocalExecutor().identities(server)
    (again,) = LocalExecutor().identities(server)
    (patch,) = (fake.series / "sglang-0.5.23").glob("0002-*.patch")
    patch.write_text(patch.read_text().replace("+nodes = 31", "+nodes = 63"))
    launch._copy.cache_clear()  # another process, another day
    (other,) = LocalExecutor().identities(server)

    assert first == again
    assert first["patches.sha256"] != other["patches.sha256"]


def test_a_copy_that_was_removed_between_two_launches_is_made_anew(sweep):
    server = read_sweep(sweep).servers[1]
    command = server_command(server, port=1)
    first = launch.with_patches(command, server).env["PYTHONPATH"]
    folder = Path(first.split(os.pathsep)[0])
    shutil.rmtree(folder)

    again = launch.with_patches(command, server).env["PYTHONPATH"]

    assert again == first
    assert (folder / "sglang" / "srt" / "tree.py").read_text() == "nodes = 31\n"


def test_a_dry_run_says_what_would_be_applied_and_makes_nothing(sweep, fake, tmp_path):
    trials = expand(read_sweep(sweep))

    lines = list(dry_run_lines(trials, estimate(by_launch(trials), (), ())))

    (patches,) = [line for line in lines if "patches" in line]
    assert f"{fake.series}, 2 patches" in patches
    assert str(fake.site_packages) in patches
    assert not (tmp_path / "cache").exists()


def test_an_edited_installation_ends_a_sweep_before_it_starts(sweep, fake):
    spec = fake.site_packages / "sglang" / "srt" / "spec.py"
    spec.write_text("")
    trials = expand(read_sweep(sweep))

    lines = list(dry_run_lines(trials, estimate(by_launch(trials), (), ())))
    with pytest.raises(PatchError, match=f"{spec} is not as SGLang 0.5.23 ships it"):
        LocalExecutor().require_runnable(read_sweep(sweep).servers)

    assert any("no patches on this machine" in line for line in lines)


def test_a_patched_server_can_be_printed_as_a_unit(ddbench, sweep, tmp_path):
    done = ddbench("serve", sweep, "--arm", "patched", "--print-unit")

    assert done.returncode == 0, done.stderr
    (copy,) = (tmp_path / "cache" / "patched").glob("sglang-*")
    assert f"PYTHONPATH={copy}:" in done.stdout


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("engine: embedded, model: builtin", "engine: embedded has no SGLang to patch"),
        (
            "engine: sglang, model: builtin, port: 1, launcher: {systemd-unit: {name: s.service}}",
            "the unit is measured as it runs",
        ),
    ],
)
def test_patches_that_would_do_nothing_are_refused(server, said):
    text = f"name: x\nserver: {{{server}, patches: ddtree}}\narms: [autoregressive]\n{LOAD}"

    with pytest.raises(PlanError, match=said):
        parse_sweep(text, file="x.yaml")
