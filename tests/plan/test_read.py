"""Sweep files as people write them, and what each becomes."""

from pathlib import Path

import pytest

from ddbench.plan.read import parse_sweep, read_sweep
from ddbench.records import LoadConfig, Speculation

SWEEPS = Path(__file__).parent.parent.parent / "sweeps"


def test_the_quickstart_is_the_one_of_the_design():
    plan = read_sweep(SWEEPS / "quickstart.yaml")

    assert plan.name == "quickstart"
    assert [arm.name for arm in plan.arms] == [
        "autoregressive",
        "linear-8",
        "tree-8-7-4",
        "tree-8-15-4",
        "tree-8-31-4",
        "tree-8-7-1",
    ]
    assert plan.arms[4].speculation == Speculation("DDTREE", block_size=8, budget=31, topk=4)
    assert plan.loads == tuple(
        LoadConfig("builtin:mixed", count=48, concurrency=c, max_new_tokens=64) for c in (1, 4, 8)
    )
    assert (plan.repeats, plan.visits) == (2, 1)
    assert plan.text == (SWEEPS / "quickstart.yaml").read_text()


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.yaml")), ids=lambda path: path.name)
def test_every_shipped_sweep_is_read_and_states_its_question(path):
    plan = read_sweep(path)

    assert plan.name == path.stem
    assert plan.text.startswith("# ")
    assert "?" in plan.text.splitlines()[0]


def test_what_is_not_said_is_the_default_of_the_design(sweep):
    plan = sweep("""
        name: small
        arms: [autoregressive]
    """)

    (server,) = plan.servers
    assert (server.engine, server.model, server.host, server.port) == (
        "embedded",
        "builtin",
        "127.0.0.1",
        None,
    )
    assert (server.launcher, plan.repeats, plan.visits) == ("subprocess", 2, 1)
    assert [load.concurrency for load in plan.loads] == [1, 4, 8]
    assert plan.loads[0].count == 48


def test_every_server_admits_the_largest_concurrency(sweep):
    plan = sweep("""
        name: wide
        arms: [autoregressive, linear: {block_size: 8}]
        load: {count: 200, concurrency: [1, 80, 8]}
    """)

    assert [server.max_running_requests for server in plan.servers] == [80, 80]


def test_a_larger_max_running_requests_may_be_asked_for(sweep):
    plan = sweep("""
        name: roomy
        server: {flags: {max-running-requests: 48}}
        arms: [autoregressive]
    """)

    assert plan.servers[0].max_running_requests == 48
    assert plan.servers[0].flags == ()


def test_lists_in_a_tree_arm_multiply(sweep):
    plan = sweep("""
        name: grid
        arms:
          - tree: {block_size: 8, budget: [7, 15], topk: [2, 4]}
    """)

    assert [arm.name for arm in plan.arms] == [
        "tree-8-7-2",
        "tree-8-7-4",
        "tree-8-15-2",
        "tree-8-15-4",
    ]


def test_an_arm_s_own_flags_and_variables_win_over_the_server_s(sweep):
    plan = sweep("""
        name: overrides
        server:
          flags: {page-size: 16, disable-cuda-graph: true}
          env: {SGLANG_A: server, SGLANG_B: "1"}
        arms:
          - linear: {block_size: 8, flags: {page-size: 1}, env: {SGLANG_A: arm}}
          - autoregressive
    """)

    linear, autoregressive = plan.servers
    assert dict(linear.flags) == {"page-size": 1, "disable-cuda-graph": True}
    assert dict(linear.env) == {"SGLANG_A": "arm", "SGLANG_B": "1"}
    assert dict(autoregressive.flags) == {"page-size": 16, "disable-cuda-graph": True}


def test_an_arm_may_run_stock_beside_patched_ones(sweep):
    plan = sweep("""
        name: stock-against-patched
        server: {engine: sglang, model: builtin, patches: ddtree}
        arms:
          - linear: {block_size: 8, patches: null}
          - tree: {block_size: 8, budget: [15], topk: [4]}
    """)

    assert [server.patches for server in plan.servers] == [None, "ddtree"]


def test_any_algorithm_of_sglang_can_be_an_arm_of_its_own_name(sweep):
    plan = sweep("""
        name: others
        server: {engine: sglang, model: /models/big}
        arms:
          - eagle3: {algorithm: EAGLE3, draft_model: /m/eagle, flags: {speculative-num-steps: 3}}
          - ngram: {algorithm: NGRAM, flags: {speculative-num-draft-tokens: 8}}
          - plain-eager: {algorithm: null, flags: {disable-cuda-graph: true}}
    """)

    assert [arm.name for arm in plan.arms] == ["eagle3", "ngram", "plain-eager"]
    assert [arm.speculation.algorithm for arm in plan.arms] == ["EAGLE3", "NGRAM", None]
    assert [server.draft_model for server in plan.servers] == ["/m/eagle", None, None]


def test_an_arm_may_draft_with_another_drafter(sweep):
    plan = sweep("""
        name: drafters
        arms:
          - linear: {block_size: 8}
          - weak: {algorithm: DFLASH, block_size: 8, draft_model: "builtin:undertrained"}
          - autoregressive
    """)

    assert [server.draft_model for server in plan.servers] == [
        "builtin",
        "builtin:undertrained",
        None,
    ]


def test_arms_of_one_server_config_share_it(sweep):
    plan = sweep("""
        name: a-a
        arms:
          - first: {algorithm: null}
          - second: {algorithm: null}
    """)

    assert plan.servers[0] == plan.servers[1]


def test_the_interpreter_of_sglang_comes_from_the_environment():
    text = "name: s\nserver: {engine: sglang, model: builtin}\narms: [autoregressive]\n"

    plan = parse_sweep(text, file="s", environment={"DDBENCH_SGLANG_PYTHON": "/v/bin/python"})

    assert plan.servers[0].python == "/v/bin/python"


def test_a_launcher_may_have_options(sweep):
    plan = sweep("""
        name: units
        server: {launcher: {systemd-unit: {name: sglang.service, scope: user}}}
        arms: [autoregressive]
    """)

    assert plan.servers[0].launcher == "systemd-unit"
    assert dict(plan.servers[0].launcher_options) == {"name": "sglang.service", "scope": "user"}


def test_an_attached_server_has_an_address_and_one_arm(sweep):
    plan = sweep("""
        name: theirs
        server: {engine: attach, base_url: "http://10.0.0.7:30000/"}
        arms: [linear: {block_size: 16}]
    """)

    assert plan.servers[0].base_url == "http://10.0.0.7:30000"
    assert plan.arms[0].name == "linear-16"


def test_reading_the_stored_text_again_gives_the_same_plan():
    text = (SWEEPS / "quickstart.yaml").read_text()

    assert parse_sweep(text, file="a") == parse_sweep(text, file="b")


def test_an_open_loop_has_one_load_a_rate(sweep):
    plan = sweep("""
        name: open
        arms: [autoregressive, linear: {block_size: 8}]
        load: {count: 20, rate: [0.5, 4], arrival: gamma, burstiness: 0.25, seed: 3}
    """)

    assert [(load.rate_per_s, load.concurrency) for load in plan.loads] == [(0.5, 0), (4.0, 0)]
    assert {(load.arrival, load.burstiness, load.seed) for load in plan.loads} == {
        ("gamma", 0.25, 3)
    }
    assert [server.max_running_requests for server in plan.servers] == [48, 48], "equal in all arms"


def test_an_open_loop_may_meet_a_small_server(sweep):
    plan = sweep("""
        name: open
        server: {flags: {max-running-requests: 2}}
        arms: [autoregressive]
        load: {rate: 4}
    """)

    assert plan.loads[0].arrival == "poisson"
    assert plan.servers[0].max_running_requests == 2


def test_a_route_and_the_name_of_its_key_are_kept(sweep):
    plan = sweep("""
        name: elsewhere
        server: {engine: attach, base_url: "http://10.0.0.7:8000"}
        arms: [autoregressive]
        load: {route: chat, api_key_env: CLUSTER_KEY, thinking: false}
    """)

    load = plan.loads[0]
    assert (load.route, load.api_key_env, load.thinking) == ("chat", "CLUSTER_KEY", False)
