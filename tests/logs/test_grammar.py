"""Every dialect of SGLang's batch lines. No line here was captured: all are typed from the format
strings of SGLang 0.4.0 to 0.5.23 and from what people paste into reports.
"""

from datetime import datetime

import pytest

from ddbench.logs.decode_line import parse_decode_line
from ddbench.logs.prefill_line import parse_prefill_line

AT = datetime(2026, 7, 23, 5, 31, 43)
HEAD = "[2026-07-23 05:31:43] Decode batch"
USAGE = "#running-req: 4, #token: 7424, token usage: 0.02"
TAIL = "gen throughput (token/s): 812.55, #queue-req: 2"

VERSIONS = {
    "0.4.0": (f"{HEAD}. {USAGE}, {TAIL}", None, None, None),
    "0.4.1.post7": (f"{HEAD}. {USAGE}, accept len: 3.41, {TAIL}", 3.41, None, None),
    "0.4.3.post4": (
        f"{HEAD}. {USAGE}, accept len: 3.41, gen throughput (token/s): 812.55, "
        "largest-len: 77, #queue-req: 2, ",
        3.41,
        None,
        None,
    ),
    "0.4.4.post4": (f"{HEAD}. {USAGE}, accept len: 3.41, {TAIL}, ", 3.41, None, None),
    "0.4.6": (f"{HEAD}. {USAGE}, accept len: 3.41, {TAIL}", 3.41, None, None),
    "0.4.6.post5": (
        f"{HEAD}. {USAGE}, accept len: 3.41, cuda graph: True, {TAIL}",
        3.41,
        None,
        True,
    ),
    "0.4.10": (
        f"{HEAD}. {USAGE}, accept len: 3.41, cuda graph: False, {TAIL}, ",
        3.41,
        None,
        False,
    ),
    "0.5.3": (f"{HEAD}. {USAGE}, accept len: 3.41, cpu graph: True, {TAIL}, ", 3.41, None, True),
    "0.5.3.post3": (
        f"{HEAD}. {USAGE}, accept len: 3.41, accept rate: 0.85, cuda graph: True, {TAIL}, ",
        3.41,
        0.85,
        True,
    ),
    "0.5.6": (
        f"{HEAD}, {USAGE}, accept len: 3.41, accept rate: 0.43, cuda graph: True, {TAIL}, ",
        3.41,
        0.43,
        True,
    ),
    "0.5.9": (
        f"{HEAD}, {USAGE}, accept len: 3.41, accept rate: 0.43, npu graph: True, {TAIL}",
        3.41,
        0.43,
        True,
    ),
    "0.5.11": (
        f"{HEAD}, {USAGE}, accept len: 3.41, accept rate: 0.34, musa graph: True, {TAIL}",
        3.41,
        0.34,
        True,
    ),
    "0.5.16": (
        f"{HEAD}, {USAGE}, accept len: 3.41, accept rate: 0.34, cap len: 5.00, "
        f"block accept len: 2.20, cuda graph: True, {TAIL}",
        3.41,
        0.34,
        True,
    ),
    "0.5.5 with iterations": (
        f"{HEAD} [1234], {USAGE}, accept len: 3.41, accept rate: 0.85, cuda graph: True, {TAIL}",
        3.41,
        0.85,
        True,
    ),
    "disaggregated": (
        f"{HEAD}, {USAGE}, accept len: 3.41, accept rate: 0.34, pre-allocated usage: 0.10, "
        "#prealloc-req: 9, #transfer-req: 8, #host-receive-req: 7, #retracted-req: 6, "
        f"waiting-image-req: 5, cuda graph: True, {TAIL}",
        3.41,
        0.34,
        True,
    ),
    "mfu and occupancy": (
        f"{HEAD}, {USAGE}, accept len: 3.41, accept rate: 0.34, cuda graph: True, {TAIL}, "
        "est. decode TFLOPS/s (per GPU): 1.23, est. read BW (GB/s per GPU): 4.56, "
        "est. write BW (GB/s per GPU): 0.78, fwd occupancy: nan%",
        3.41,
        0.34,
        True,
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_reads_the_decode_line_of_every_version(version):
    line, accept_len, accept_rate, graph = VERSIONS[version]

    window = parse_decode_line(line)

    assert window is not None
    assert window.logged_at == AT
    assert (window.running_requests, window.queued_requests, window.kv_tokens) == (4, 2, 7424)
    assert window.accept_len_logged == accept_len
    assert window.accept_rate_logged == accept_rate
    assert window.graph is graph
    assert window.throughput_tokens_per_s == 812.55


@pytest.mark.parametrize(
    ("usage", "kv_tokens"),
    [
        ("#token: 7424, token usage: 0.02", 7424),
        (
            "#full token: 5120, full token usage: 0.10, #swa token: 88, swa token usage: 0.20",
            5120,
        ),
        ("#full token: 5120, full token usage: 0.10, mamba num: 3, mamba usage: 0.30", 5120),
        (
            "#full token: 5120, full token usage: 0.10, #swa token: 88, swa token usage: 0.20, "
            "mamba num: 3, mamba usage: 0.30",
            5120,
        ),
        (
            "#gpu token: 11, gpu token usage: 0.10, #cpu token: 22, cpu token usage: 0.20",
            None,  # neither is all of the cache
        ),
        ("available_size=77 used=5", None),
    ],
)
def test_reads_the_tokens_of_every_memory_pool(usage, kv_tokens):
    window = parse_decode_line(f"{HEAD}, #running-req: 4, {usage}, {TAIL}")

    assert window is not None
    assert window.kv_tokens == kv_tokens
    assert (window.running_requests, window.queued_requests) == (4, 2)


@pytest.mark.parametrize(
    ("prefix", "logged_at", "ranks"),
    [
        ("[2026-07-23 05:31:43] ", AT, ""),
        ("[2026-07-23 05:31:43.123] ", AT.replace(microsecond=123000), ""),
        ("[2026-07-23 05:31:43 TP0] ", AT, "TP0"),
        ("[2026-07-23 05:31:43 DP1 TP0 EP2 PP3] ", AT, "DP1 PP3 TP0 EP2"),  # up to 0.5.3
        ("[2026-07-23 05:31:43 DP1 PP3 TP0 EP2] ", AT, "DP1 PP3 TP0 EP2"),  # by 0.5.8
        (
            "[2026-07-23 05:31:43 DP1 PP3 ATTN_CP4 MOE_DP5 TP0 EP2] ",
            AT,
            "DP1 PP3 ATTN_CP4 MOE_DP5 TP0 EP2",
        ),
        ("server-1  | [2026-07-23 05:31:43 TP0] ", AT, "TP0"),
        ("(Engine pid=417) [2026-07-23 05:31:43 TP0] ", AT, "TP0"),
        ("\x1b[36m(Engine pid=417)\x1b[0m [2026-07-23 05:31:43 TP0] ", AT, "TP0"),
        ("2026-07-22T21:31:44.123456789Z [2026-07-23 05:31:43 TP0] ", AT, "TP0"),
        (
            "[2026-07-23T05:31:44+08:00] pod-7 >> (run 5) [UTC 2026-07-22 21:31:43 TP0] ",
            datetime(2026, 7, 22, 21, 31, 43),
            "TP0",
        ),
        ("2026-07-22T21:31:44.123456789Z stderr F [2026-07-23 05:31:43 TP0] ", AT, "TP0"),
        ('{"log":"[2026-07-23 05:31:43 TP0] ', AT, "TP0"),
        ("2026-07-23 05:31:43 INFO 4242 [scheduler.py:1681] ", AT, ""),
        ("2026-07-23 05:31:43,123 INFO ", AT.replace(microsecond=123000), ""),
        ("2026-07-23T05:31:43.5Z pod INFO TP0] ", AT.replace(microsecond=500000), "TP0"),
        ("[DP0 TP0] ", None, "DP0 TP0"),
        ("[x DP0 TP0 EP0] ", None, "DP0 TP0 EP0"),
        ("GPU=0 Worker 0 (model_1) TP=0] ", None, "TP0"),
        ("", None, ""),
        ("> ", None, ""),
        ("[2026-13-45 05:31:43] ", None, ""),
        ("Output throughput: 1161.636 token/s | [2026-07-23 05:31:43] ", AT, ""),
        ("Capturing batches (bs=1): 100%|###| 4/4\r[2026-07-23 05:31:43] ", AT, ""),
        ("\0\0[2026-07-23 05:31:43] ", AT, ""),
    ],
)
def test_finds_the_line_behind_any_prefix(prefix, logged_at, ranks):
    window = parse_decode_line(f"{prefix}Decode batch, {USAGE}, accept len: 3.41, {TAIL}\r\n")

    assert window is not None
    assert (window.logged_at, window.ranks) == (logged_at, ranks)
    assert (window.accept_len_logged, window.throughput_tokens_per_s) == (3.41, 812.55)
    assert window.queued_requests == 2


@pytest.mark.parametrize(
    "line",
    [
        "[2026-07-23 05:31:43] Decode rank batch, rank: 0, #round: 3, #running-req: 4",
        "[2026-07-23 05:31:43] Prefill rank batch, rank: 0, #round: 3, #running-req: 4",
        "[2026-07-23 05:31:43] Decode batch phase=tp, #running-req: 4",
        "[2026-07-23 05:31:43] Decode cache miss, accept len: 3.00",
        "[2026-07-23 05:31:43] Decode batch.",
        "[2026-07-23 05:31:43] Decode batch, ",
        "[2026-07-23 05:31:43] Decode batch",
        "[2026-07-23 05:31:43] Decode batches, #running-req: 4",
        "[2026-07-23 05:31:43] Prefill batch, #new-seq: 1, #running-req: 4, #queue-req: 2",
        "",
    ],
)
def test_decoys_are_no_decode_lines(line):
    assert parse_decode_line(line) is None


@pytest.mark.parametrize(
    ("fields", "accept_len", "throughput"),
    [
        ("gen throughput (token/s): 812.55, accept len: 3.41, #running-req: 4", 3.41, 812.55),
        ("accept len: 3.41 accept rate: 0.34 gen throughput (token/s): 812.55", 3.41, 812.55),
        ("accept len: 3.41; gen throughput: 88.23 token/s; cuda graph: True", 3.41, 88.23),
        ("gen throughput: 88.23 token/s accept len: 3.41", 3.41, 88.23),
        ("gen throughput (token/s): 118~225, accept len: 3.41", 3.41, None),
        ("gen throughput (token/s): 118 ~ 225, accept len: 3.41", 3.41, None),
        ("gen throughput (token/s): 118-225, accept len: 3.41", 3.41, None),
        ("gen throughput (token/s): 118.2 -> 225.9, accept len: 3.41", 3.41, None),
        ("… accept len: 3.41, …, gen throughput (token/s): 812.55 …", 3.41, 812.55),
        ("accept len: 3.4…, gen throughput (token/s): 812.55", None, 812.55),
        ("accept len: 3.4..., gen throughput (token/s): 812.55", None, 812.55),
        ("accept len: …, gen throughput (token/s): ...", None, None),
        ("accept len: 4.8, gen throughput (token/s): 80", 4.8, 80.0),
        ("accept len: nan, gen throughput (token/s): inf", None, None),
        ("accept len: -, gen throughput (token/s): 80", None, 80.0),
        ("accept len=3.41, gen throughput (token/s)=812.55", 3.41, 812.55),
        ("→ accept len: 3.41, → gen throughput (token/s): 812.55.", 3.41, 812.55),
        ("**accept len: 3.41**, `gen throughput (token/s): 812.55`", 3.41, 812.55),
        ("accept_len: 3.41, Gen throughput (token/s): 812.55", 3.41, 812.55),
        ("block accept len: 2.20, input throughput (token/s): 99.00", None, None),
    ],
)
def test_reads_what_people_made_of_the_line(fields, accept_len, throughput):
    window = parse_decode_line(f"{HEAD}, #token: 7, {fields}")

    assert window is not None
    assert window.accept_len_logged == accept_len
    assert window.throughput_tokens_per_s == throughput


def test_nul_bytes_inside_a_field_do_not_hide_it():
    window = parse_decode_line(f"{HEAD}, #run\0ning-req: 4, accept len: 3.\x0041, {TAIL}")

    assert window is not None
    assert (window.running_requests, window.accept_len_logged) == (4, 3.41)


def test_reads_a_line_inside_a_json_string():
    window = parse_decode_line(
        f'{{"log":"{HEAD}, {USAGE}, accept len: 3.41, {TAIL}\\n","stream":"stderr",'
        '"time":"2026-07-22T21:31:44.1Z"}'
    )

    assert window is not None
    assert (window.logged_at, window.queued_requests, window.accept_len_logged) == (AT, 2, 3.41)


PREFILL = "[2026-07-23 05:31:43 DP0 TP1] Prefill batch"
COUNTS = "#new-seq: 3, #new-token: 34, #cached-token: 8, "


@pytest.mark.parametrize(
    "line",
    [
        f"{PREFILL}. {COUNTS}cache hit rate: 12.50%, token usage: 0.00, #running-req: 1, "
        "#queue-req: 2",
        f"{PREFILL}. {COUNTS}token usage: 0.00, #running-req: 1, #queue-req: 2, ",
        f"{PREFILL}. {COUNTS}token usage: 0.00, #unbootstrapped-req: 9, #queue-req: 2, "
        "#transferring-req: 7, #running-req: 1",
        f"{PREFILL}, {COUNTS}token usage: 0.00, #running-req: 1, #queue-req: 2, "
        "#prealloc-req: 5, #inflight-req: 6, ",
        f"{PREFILL}, {COUNTS}token usage: 0.00, #running-req: 1, #queue-req: 2, "
        "input throughput (token/s): 99.00, cuda graph: False",  # 0.5.9
        f"{PREFILL}, {COUNTS}full token usage: 0.10, swa token usage: 0.20, mamba usage: 0.30, "
        "#running-req: 1, #queue-req: 2, #pending-token: 77, cuda graph: False, "
        "input throughput (token/s): 99.00",  # 0.5.11
        f"{PREFILL} [55], {COUNTS}token usage: 0.00, #running-req: 1, #queue-req: 2, "
        "#pending-token: 0, #replay-token: 4, #bootstrap-req: 5, #inflight-req: 6, "
        "#optimistic-req: 7, cpu graph: False, input throughput (token/s): 99.00",
    ],
)
def test_reads_the_prefill_line_of_every_version(line):
    window = parse_prefill_line(line)

    assert window is not None
    assert (window.logged_at, window.ranks) == (AT, "DP0 TP1")
    assert (window.new_requests, window.new_tokens, window.cached_tokens) == (3, 34, 8)
    assert (window.running_requests, window.queued_requests) == (1, 2)
    assert parse_decode_line(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "[2026-07-23 05:31:43] Prefill rank batch, rank: 0, #new-seq: 3",
        "[2026-07-23 05:31:43] Decode batch, #running-req: 4",
        "[2026-07-23 05:31:43] Prefill batch.",
        "",
    ],
)
def test_decoys_are_no_prefill_lines(line):
    assert parse_prefill_line(line) is None
