"""Captured start-ups, then lines typed from the format strings."""

import pytest

from ddbench.logs.line_records import NEEDLES
from ddbench.logs.startup_line import STARTUP_NEEDLES, parse_startup_line, settings_of


def facts_of(path):
    facts = map(parse_startup_line, path.read_text(errors="replace").splitlines())
    return [fact for fact in facts if fact is not None]


def test_reads_what_a_captured_0_5_23_server_said_of_itself(captured):
    facts = facts_of(captured("sglang-0.5.23-dflash"))

    by_name = {fact.name: fact for fact in facts}
    assert by_name["kv_pool_tokens"].value == "8192"
    assert settings_of(by_name["dflash_draft_runner"])["block_size"] == "8"
    assert settings_of(by_name["dflash_mask_token"])["mask_token_id"] == "3"
    assert settings_of(by_name["scheduler_limits"])["max_running_requests"] == "48"
    reasons = [fact.value for fact in facts if fact.name == "graph_disabled"]
    assert "Cuda graph is disabled because of using torch native attention backend" in reasons
    assert by_name["ready"].value == "The server is fired up and ready to roll!"
    arguments = settings_of(by_name["server_args"])
    assert arguments["speculative_algorithm"] == "DFLASH"
    assert arguments["speculative_num_draft_tokens"] == "8"
    assert arguments["decode_log_interval"] == "1"


def test_reads_what_a_captured_0_5_11_server_said_of_itself(captured):
    by_name = {fact.name: fact for fact in facts_of(captured("sglang-0.5.11-dflash"))}

    assert by_name["max_running_requests_reset"].value == "48"
    assert by_name["overlap_disabled"].value.startswith("Overlap scheduler is disabled")
    assert by_name["greedy_fallback"].value.startswith("DFLASH non-greedy verification")
    assert settings_of(by_name["server_args"])["speculative_num_draft_tokens"] == "8"


def test_server_args_are_kept_without_what_may_be_secret():
    line = (
        "[2026-07-23 05:31:43] server_args=ServerArgs(model_path='m/target', api_key='sk-123', "
        "admin_api_key='sk-456', speculative_num_draft_tokens=16, page_size=1)"
    )

    fact = parse_startup_line(line)

    assert fact is not None
    assert settings_of(fact) == {
        "model_path": "m/target",
        "speculative_num_draft_tokens": "16",
        "page_size": "1",
    }
    assert "sk-" not in fact.line + fact.value


@pytest.mark.parametrize(
    ("message", "name", "value"),
    [
        (
            "DFLASH block size mismatch: using speculative_num_draft_tokens=16 but draft config "
            "block_size=8.",
            "dflash_block_size_mismatch",
            "speculative_num_draft_tokens=16 but draft config block_size=8",
        ),
        (
            "Initialized DSpark draft runner. attention_backend=fa3, model=X, gamma=7, "
            "verify_num_draft_tokens=8",
            "dspark_draft_runner",
            "attention_backend=fa3, model=X, gamma=7, verify_num_draft_tokens=8",
        ),
        (
            "Initialized DDTree worker. block_size=16, tree_budget=31, max_tree_nodes=32",
            "ddtree_worker",
            "block_size=16, tree_budget=31, max_tree_nodes=32",
        ),
        (
            "Initialized DDTREE worker. block_size=8, tree_budget=15, max_tree_nodes=16",
            "ddtree_worker",
            "block_size=8, tree_budget=15, max_tree_nodes=16",
        ),
        (
            "Capture cuda graph begin. This can take up to several minutes.",
            "graph_capture",
            "Capture cuda graph begin. This can take up to several minutes.",
        ),
        (
            "Capture draft cuda graph begin. avail mem=3.00 GB",
            "graph_capture",
            "Capture draft cuda graph begin. avail mem=3.00 GB",
        ),
        (
            "Capture draft extend cuda graph end. Time elapsed: 1.00 s",
            "graph_capture",
            "Capture draft extend cuda graph end. Time elapsed: 1.00 s",
        ),
        (
            "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=8, "
            "bs=[1, 2, 4], avail mem=3.00 GB",
            "graph_capture",
            "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=8, "
            "bs=[1, 2, 4], avail mem=3.00 GB",
        ),
        (
            "Applied 2 hook(s) to sglang.srt.managers.scheduler.Scheduler (from: probe)",
            "hooks_applied",
            "2 hook(s) to sglang.srt.managers.scheduler.Scheduler (from: probe)",
        ),
        ("env SGLANG_SIMULATE_ACC_LEN=7.5", "simulated_acceptance", "7.5"),
        ("{'SGLANG_SIMULATE_ACC_LEN': '3'}", "simulated_acceptance", "3"),
    ],
)
def test_reads_facts_of_other_servers(message, name, value):
    line = f"server-1  | [2026-07-23 05:31:43 TP0] {message}\n"

    fact = parse_startup_line(line)

    assert fact is not None
    assert (fact.name, fact.value) == (name, value)
    assert fact.line == line.strip()


def test_a_message_behind_a_progress_bar_is_found():
    line = (
        "Capturing batches (bs=1 avail_mem=3.0 GB): 100%|##| 4/4\r"
        "[2026-07-23 05:31:43] Capture cuda graph end. Time elapsed: 1.00 s"
    )

    fact = parse_startup_line(line)

    assert fact is not None
    assert fact.name == "graph_capture"
    assert "100%" not in fact.line


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Capturing batches (bs=1 avail_mem=3.0 GB):  25%|#   | 1/4",
        "[2026-07-23 05:31:43] Decode batch, #running-req: 4",
        "[2026-07-23 05:31:43] max_total_num_tokens=unknown",
        "Capture the flag",
    ],
)
def test_other_lines_state_no_fact(line):
    assert parse_startup_line(line) is None


def test_the_settings_of_a_list_stay_together():
    fact = parse_startup_line(
        "Capture target decode CUDA graph begin. bs=[1, 2, 4], avail mem=3 GB"
    )

    assert fact is not None
    assert settings_of(fact)["bs"] == "[1, 2, 4]"


def test_whole_logs_are_searched_for_what_the_line_parsers_look_for():
    assert set(STARTUP_NEEDLES) <= set(NEEDLES)
