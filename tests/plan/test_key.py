import subprocess
import sys
from dataclasses import fields, replace

import pytest

from ddbench.plan.expand import expand
from ddbench.plan.key import trial_key
from ddbench.records import LoadConfig, ServerConfig

TEXT = "name: k\narms: [linear: {block_size: 8}]\nload: {count: 20, concurrency: [4]}\n"
VERSIONS = {"ddbench": "0.1.0"}


@pytest.fixture
def trial(sweep):
    return expand(sweep(TEXT))[0]


def test_every_field_of_server_and_load_changes_the_key(trial):
    """With a value that no config has, so that a field left out of the hash shows."""
    variants = [
        *(
            replace(trial, server=replace(trial.server, **{field.name: "changed"}))
            for field in fields(ServerConfig)
        ),
        *(
            replace(trial, load=replace(trial.load, **{field.name: "changed"}))
            for field in fields(LoadConfig)
        ),
        *(replace(trial, **{name: "changed"}) for name in ("arm", "repeat", "visit")),
        trial,
    ]

    assert len({trial_key(variant, VERSIONS) for variant in variants}) == len(variants)


def test_another_version_of_the_server_changes_the_key(trial):
    assert trial_key(trial, VERSIONS) != trial_key(trial, {**VERSIONS, "sglang": "0.5.23"})


def test_every_trial_of_a_plan_has_its_own_key(sweep):
    trials = expand(sweep(TEXT.replace("[4]", "[1, 2, 4]") + "repeats: 3\nvisits: 2\n"))

    assert len({trial_key(trial, {}) for trial in trials}) == len(trials) == 18


def test_another_process_computes_the_same_key(trial):
    code = (
        "from ddbench.plan.read import parse_sweep\n"
        "from ddbench.plan.expand import expand\n"
        "from ddbench.plan.key import trial_key\n"
        f"plan = parse_sweep({TEXT!r}, file='k', environment={{}})\n"
        f"print(trial_key(expand(plan)[0], {VERSIONS!r}))"
    )

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert printed.stdout.strip() == trial_key(trial, VERSIONS)
