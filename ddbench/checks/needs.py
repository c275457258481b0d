"""The inputs that rules ask for, named once."""

from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.limits import depth_limit, is_speculative
from ddbench.checks.rule import Need

SPECULATIVE_ARM: Need[Evidence] = Need("an arm that drafts", is_speculative)
AUTOREGRESSIVE_ARM: Need[Evidence] = Need(
    "an arm known to be autoregressive",
    lambda e: e.speculation is not None and e.speculation.algorithm is None,
)
TREE_ARM: Need[Evidence] = Need(
    "an arm that drafts trees",
    lambda e: e.speculation is not None and e.speculation.budget is not None,
)
CHAIN_ARM: Need[Evidence] = Need(
    "a tree arm with topk 1",
    lambda e: e.speculation is not None and e.speculation.topk == 1,
)
DEPTH_LIMIT: Need[Evidence] = Need(
    "the drafting setting (block size, budget)", lambda e: depth_limit(e) is not None
)

WINDOWS: Need[Evidence] = Need("decode windows of a log", lambda e: bool(e.windows))
ACCEPT_LEN: Need[Evidence] = Need(
    "log windows with accept len", lambda e: any(w.accept_len_logged for w in e.windows)
)
ACCEPT_RATE: Need[Evidence] = Need(
    "log windows with accept len and accept rate",
    lambda e: any(w.accept_len_logged and w.accept_rate_logged is not None for w in e.windows),
)
DEPTH_AND_COMMIT: Need[Evidence] = Need(
    "log windows with avg_accepted_depth and avg_commit_len",
    lambda e: any(w.accepted_depth is not None and w.commit_len is not None for w in e.windows),
)
THROUGHPUT: Need[Evidence] = Need(
    "log windows with throughput", lambda e: any(w.throughput_tokens_per_s for w in e.windows)
)
RUNNING: Need[Evidence] = Need(
    "log windows with #running-req", lambda e: any(w.running_requests for w in e.windows)
)

REQUESTS: Need[Evidence] = Need("completed requests", lambda e: bool(e.completed))
VERIFY_COUNTS: Need[Evidence] = Need(
    "requests with spec_verify_ct", lambda e: any(r.verify_ct for r in e.completed)
)
HISTOGRAMS: Need[Evidence] = Need(
    "requests with a histogram of correct drafts", lambda e: any(r.histogram for r in e.completed)
)
OUTPUT_IDS: Need[Evidence] = Need(
    "requests with output token ids", lambda e: any(r.output_ids for r in e.completed)
)
TEXT: Need[Evidence] = Need("requests with text", lambda e: any(r.text for r in e.completed))
LOAD: Need[Evidence] = Need("the load that was asked for", lambda e: e.load is not None)
CLIENT: Need[Evidence] = Need("the client's own clock", lambda e: e.client is not None)
WALL: Need[Evidence] = Need("the trial's wall time", lambda e: e.wall_s is not None)

TOOL: Need[Evidence] = Need("a result of another tool", lambda e: e.tool is not None)

STEPS: Need[Evidence] = Need("a step trace", lambda e: bool(e.steps))
LOG_WEIGHTS: Need[Evidence] = Need(
    "a step trace with log_weights", lambda e: any(s.log_weights for s in e.steps)
)
SETTINGS: Need[Evidence] = Need("the server's resolved arguments", lambda e: bool(e.settings))
STARTUP: Need[Evidence] = Need("start-up lines of a log", lambda e: bool(e.startup))
SERVER_RECORD: Need[Evidence] = Need(
    "the server's arguments or environment",
    lambda e: bool(e.settings or e.server_env or e.startup),
)

SEVERAL_RUNS: Need[Comparison] = Need("a second run", lambda c: len(c.runs) > 1)
