"""What an SGLang server says of itself while it starts, one fact a line.

The values are the line's own words. `server_args` is cut to the settings that decide what a number
means: the whole line may hold an API key.
"""

import re

from ddbench.logs.line_text import overwritten_parts, visible_text
from ddbench.records import StartupFact

_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\[[^\]]*\]|'[^']*'|[^,\s]+)")
_ARGUMENT = re.compile(
    r"['\"]?\b(model_path|speculative_algorithm|speculative_draft_model_path|speculative_num_steps"
    r"|speculative_eagle_topk|speculative_num_draft_tokens|speculative_dflash_block_size"
    r"|speculative_ddtree_budget|speculative_ddtree_topk|max_running_requests|decode_log_interval"
    r"|disable_overlap_schedule|disable_cuda_graph|disable_radix_cache|page_size|attention_backend"
    r"|tp_size|dp_size|dtype|kv_cache_dtype|random_seed)\b['\"]?\s*[=:]\s*"
    r"('[^']*'|\"[^\"]*\"|[^,\s)}]+)"
)
_MAX_QUOTED = 4000

_PATTERNS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (name, needle, re.compile(pattern))
    for name, needle, pattern in (
        (
            "max_running_requests_reset",
            "is reset to",
            r"running requests is reset to ([0-9]+)",
        ),
        ("scheduler_limits", "max_total_num_tokens=", r"(max_total_num_tokens=[0-9]+.*)"),
        ("kv_pool_tokens", "KV Cache is allocated", r"KV Cache is allocated.*#tokens: ([0-9]+)"),
        (
            "dflash_draft_runner",
            "DFLASH draft runner",
            r"Initialized DFLASH draft runner\. (.+)",
        ),
        ("dflash_mask_token", "DFLASH draft runner", r"DFLASH draft runner ready\. (.+)"),
        (
            "dflash_block_size_mismatch",
            "DFLASH block size mismatch",
            r"DFLASH block size mismatch: using (.+?)\.?$",
        ),
        (
            "dspark_draft_runner",
            "DSpark draft runner",
            r"Initialized DSpark draft runner\. (.+)",
        ),
        ("ddtree_worker", "Initialized DDT", r"Initialized (?i:DDTree) worker\. (.+)"),
        (
            "graph_capture",
            "Capture ",
            r"(Capture (?:\w+ )*?(?i:(?:cuda|cpu|npu|musa|hpu|xpu) graph) (?:begin|end)\b.*)",
        ),
        ("graph_capture", "Capture cpu graph bs", r"(Capture cpu graph bs .*)"),
        (
            "graph_disabled",
            "isable",
            r"((?i:(?:cuda|cpu|npu|musa) graph) is disabled .*"
            r"|Disable (?:\w+ )*(?i:(?:cuda|cpu|npu|musa|draft) graph) because .*)",
        ),
        (
            "greedy_fallback",
            "falling back to greedy",
            r"((?:[A-Z]+ )?non-greedy verification .* falling back to greedy.*)",
        ),
        ("overlap_disabled", "isable", r"(Overlap schedule\w* is disabled .*)"),
        (
            "simulated_acceptance",
            "SGLANG_SIMULATE_ACC_LEN",
            r"SGLANG_SIMULATE_ACC_LEN['\"]?\s*[=:]\s*['\"]?([0-9][0-9.]*)",
        ),
        ("hooks_applied", "hook(s) to", r"Applied ([0-9]+ hook\(s\) to .+)"),
        ("ready", "fired up and ready", r"(The server is fired up and ready to roll!)"),
    )
)


def parse_startup_line(line: str) -> StartupFact | None:
    """Return the fact that `line` states, or None for any other kind of line. Never raises.

    Names: server_args, max_running_requests_reset, scheduler_limits, kv_pool_tokens,
    dflash_draft_runner, dflash_mask_token, dflash_block_size_mismatch, dspark_draft_runner,
    ddtree_worker, graph_capture, graph_disabled, greedy_fallback, overlap_disabled,
    simulated_acceptance, hooks_applied, ready.
    """
    if "server_args=" in line:
        return _server_args(visible_text(line))
    if not any(needle in line for needle in STARTUP_NEEDLES):
        return None
    for part in overwritten_parts(visible_text(line)):
        part = part[:_MAX_QUOTED]
        for name, needle, pattern in _PATTERNS:
            if needle in part and (match := pattern.search(part)) is not None:
                return StartupFact(name, match[1].strip(), part)
    return None


STARTUP_NEEDLES = (
    "server_args=",
    "is reset to",
    "max_total_num_tokens=",
    "KV Cache is allocated",
    "DFLASH",
    "DSpark",
    "Initialized DDT",
    "Capture ",
    "isable",
    "falling back to greedy",
    "SGLANG_SIMULATE_ACC_LEN",
    "hook(s) to",
    "fired up and ready",
)
"""A line without any of these states no fact. Few, because each costs a pass over the log."""


def settings_of(fact: StartupFact) -> dict[str, str]:
    """The `name=value` pairs in a fact's value, as text: {"block_size": "8", ...}."""
    return {name: value.strip("'").rstrip(".") for name, value in _SETTING.findall(fact.value)}


def _server_args(line: str) -> StartupFact:
    before, _, arguments = line.partition("server_args=")
    settings = ", ".join(f"{name}={value}" for name, value in _ARGUMENT.findall(arguments))
    return StartupFact("server_args", settings, f"{before}server_args=... {settings} ...")
