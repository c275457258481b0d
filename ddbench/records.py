"""The types that cross stages. Imports nothing of ddbench; read this file first.

Measurements and what was asked are stored here; means, ratios and percentiles are computed by
whoever reads them. None is "not measured", never 0. Units stand in the names; seconds unless named.

    SweepPlan -expand-> Trial(ServerConfig, LoadConfig, repeat, visit)
    ServerConfig -argv-> ServerCommand -server-> RunningServer
    RunningServer + LoadConfig -load-> LoadOutcome [RequestCompleted | RequestFailed]
    log bytes between two offsets -logs-> LogExcerpt
    all of these -sweep-> RunResult -runs-> SQLite
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

# ---------------------------------------------------------------- what was asked

FlagValue = str | int | float | bool | tuple[str | int | float, ...]
"""True is a bare flag, False leaves it out, a tuple is one flag with several values."""

Flags = tuple[tuple[str, FlagValue], ...]
"""SGLang's own flag names without the leading dashes, sorted by name."""

Engine = Literal["embedded", "sglang", "attach"]
Launcher = Literal["subprocess", "systemd", "systemd-unit"]
Arrival = Literal["poisson", "constant", "gamma"]
Route = Literal["generate", "completions", "chat"]

PATCH_MANIFEST = "ddbench-patches.json"
"""Beside a patched copy's sglang/: says which series it has, and every file's hash."""


@dataclass(frozen=True, slots=True)
class Speculation:
    """One drafting setting. `algorithm` is SGLang's name; None decodes one token at a time.

    budget counts drafted nodes without the root; None for linear drafts, where the two are one.
    """

    algorithm: str | None = None
    block_size: int | None = None
    budget: int | None = None
    topk: int | None = None

    @property
    def draft_depth(self) -> int | None:
        """The longest path a step can accept: min(block size - 1, budget)."""
        if self.block_size is None:
            return None
        depth = self.block_size - 1
        return depth if self.budget is None else min(depth, self.budget)

    @property
    def verify_width(self) -> int | None:
        """Tokens in one target forward of one request."""
        if self.algorithm is None:
            return 1
        return self.block_size if self.budget is None else self.budget + 1


@dataclass(frozen=True, slots=True)
class Arm:
    """One drafting setting under comparison, with what it overrides of the sweep's server."""

    name: str
    speculation: Speculation
    draft_model: str | None = None
    patches: str | None = None
    flags: Flags = ()
    env: tuple[tuple[str, str], ...] = ()
    dialect: tuple[tuple[str, str, str], ...] = ()  # (setting, "flag" | "env", name)


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Everything that needs a restart. Equal configs share one launch."""

    engine: Engine
    model: str
    draft_model: str | None
    speculation: Speculation
    max_running_requests: int
    flags: Flags = ()
    env: tuple[tuple[str, str], ...] = ()
    dialect: tuple[tuple[str, str, str], ...] = ()
    python: str | None = None
    patches: str | None = None
    base_url: str | None = None  # engine "attach" only
    launcher: Launcher = "subprocess"
    launcher_options: tuple[tuple[str, str], ...] = ()
    host: str = "127.0.0.1"
    port: int | None = None  # None: a free one
    ready_timeout_s: float = 900.0
    record_drafts: bool = False  # commits one token a step and writes its drafts down; a probe


@dataclass(frozen=True, slots=True)
class LoadConfig:
    """What one trial sends. `prompts` names a source: `builtin:mixed` or a file.

    With a rate the loop is open: requests arrive at random or regular times whatever the server
    does, and `concurrency` is 0. burstiness is the gamma distribution's shape: below 1 arrivals
    come in bursts, 1 is Poisson. thinking is what the chat template is told, None: nothing.
    """

    prompts: str
    count: int
    concurrency: int
    max_new_tokens: int
    temperature: float = 0.0
    seed: int = 0
    ignore_eos: bool = False
    logprobs: bool = False
    record_drafts: bool = False  # marks the trial as a probe, never timed
    timeout_s: float = 600.0  # of one request
    rate_per_s: float | None = None
    arrival: Arrival = "poisson"
    burstiness: float = 1.0
    route: Route = "generate"
    api_key_env: str | None = None  # the variable that holds the key; the key itself is never kept
    thinking: bool | None = None

    @property
    def asked(self) -> str:
        """`concurrency 4`, or `poisson 2.5/s` of an open loop."""
        if self.rate_per_s is None:
            return f"concurrency {self.concurrency}"
        return f"{self.arrival} {self.rate_per_s:g}/s"


@dataclass(frozen=True, slots=True)
class Trial:
    arm: str
    server: ServerConfig
    load: LoadConfig
    repeat: int = 0
    visit: int = 0


RepeatMetric = Literal["tokens_per_s", "tpot_s", "ttft_s", "e2e_s"]


@dataclass(frozen=True, slots=True)
class RepeatRule:
    """Repeat a trial until half the 95 % interval of this metric is `within` of its mean."""

    metric: RepeatMetric
    within: float


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A sweep file, read and checked. `text` is the file itself, kept with the run."""

    name: str
    text: str
    arms: tuple[Arm, ...]
    servers: tuple[ServerConfig, ...]  # one an arm, in the order of `arms`
    loads: tuple[LoadConfig, ...]  # one a concurrency
    repeats: int  # with `until`: at most so many
    visits: int
    until: RepeatRule | None = None
    resources: tuple[tuple[str, float], ...] = ()  # of a host, above what flags say


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """What to start. `model_path` is what the server will say of itself in /server_info."""

    argv: tuple[str, ...]
    env: Mapping[str, str]  # added to ddbench's own environment
    model_path: str
    draft_model_path: str | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """`text` is what the model reads; "" while `messages` wait for the server's chat template."""

    prompt_id: str  # stable: the same text has the same id at every concurrency
    text: str
    category: str | None = None
    messages: tuple[tuple[str, str], ...] = ()  # (role, content)


# ---------------------------------------------------------------- what came of it


@dataclass(frozen=True, slots=True)
class RunningServer:
    base_url: str
    pid: int | None  # None: a server that someone else runs
    log_path: Path | None
    startup_s: float
    unit: str | None = None  # systemd's name for it
    log_lag_s: float = 0.0  # how long after an answer the log may still lack its lines


@dataclass(frozen=True, slots=True)
class RequestCompleted:
    """One answered request. Tokens are the server's count, never a count of chunks.

    sent_s counts from the first send of the trial; lateness_s is actual minus intended send, the
    client's fault. verify_ct, correct_drafts and histogram are SGLang's `spec_*`: drafts accepted
    before (0.5.23) or after (0.5.11) the cut at end-of-text or max tokens. committed_drafts is the
    server's own count of drafts that became output; None where it does not report it.
    """

    prompt_id: str
    sent_s: float
    lateness_s: float
    ttft_s: float
    e2e_s: float
    prompt_tokens: int
    completion_tokens: int
    output_ids: tuple[int, ...] | None
    output_logprobs: tuple[float, ...] | None
    finish_reason: str  # SGLang's type: "stop", "length", "abort"
    retractions: int | None
    cached_tokens: int | None
    verify_ct: int | None
    correct_drafts: int | None
    committed_drafts: int | None
    histogram: tuple[int, ...] | None  # h[d]: verify steps with d correct drafts
    chunk_offsets_s: tuple[float, ...] = ()  # since the send; the first is ttft_s
    text: str | None = None


@dataclass(frozen=True, slots=True)
class RequestFailed:
    prompt_id: str
    sent_s: float
    lateness_s: float
    reason: str
    http_status: int | None = None


RequestOutcome = RequestCompleted | RequestFailed


@dataclass(frozen=True, slots=True)
class ClientHealth:
    """What the load generator says of itself, over the trial.

    Connections are opened before the clock starts; connect_max_s is the slowest of them. Where
    several processes shared the load, cpu_s and loop_lag_max_s are those of the busiest.
    warm_up_rates: tokens per second of each round before the trial; warm_up_steady: the last of
    them was no faster than one before. client_hosts: where each of several processes ran, if that
    was not here; clock_offsets_s: what its monotonic clock showed above that of whoever merged
    their times, and clock_error_s how far off the worst of these may be.
    """

    cpu_s: float
    loop_lag_max_s: float
    chunks: int
    connections: int | None = None  # opened in all: more than the concurrency when some were lost
    connect_max_s: float | None = None
    processes: int = 1
    warm_up_rates: tuple[float, ...] = ()
    warm_up_steady: bool | None = None
    client_hosts: tuple[str, ...] = ()
    clock_offsets_s: tuple[float, ...] = ()
    clock_error_s: float | None = None


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """The requests of one trial in the order of its prompts. wall_s: first send to last byte."""

    requests: tuple[RequestOutcome, ...]
    wall_s: float
    client: ClientHealth


@dataclass(frozen=True, slots=True)
class DecodeWindow:
    """One reporting interval of one scheduler rank, as the server logged it.

    accept_len_logged is SGLang's "accept len": accepted drafts plus the bonus token, averaged
    over the interval (before or after the EOS cut, by version); None when absent.
    throughput_tokens_per_s spreads the interval's tokens over all the time since the previous
    line, idle time included, so the first line after a pause reads low.
    accepted_depth, commit_len, tree_nodes: printed by servers with DDTREE only.
    """

    logged_at: (
        datetime | None
    )  # the server's local clock, no zone; whole seconds unless SGLANG_LOG_MS
    ranks: str  # "DP0 TP1", or "" for a single rank
    running_requests: int | None
    queued_requests: int | None
    kv_tokens: int | None
    accept_len_logged: float | None
    accept_rate_logged: float | None
    graph: bool | None
    throughput_tokens_per_s: float | None
    accepted_depth: float | None = None
    commit_len: float | None = None
    tree_nodes: float | None = None


@dataclass(frozen=True, slots=True)
class PrefillWindow:
    logged_at: datetime | None
    ranks: str
    new_requests: int | None
    new_tokens: int | None
    cached_tokens: int | None
    running_requests: int | None
    queued_requests: int | None


@dataclass(frozen=True, slots=True)
class StartupFact:
    """What the server said of itself while it started: ("max_running_requests_reset", "48")."""

    name: str
    value: str
    line: str


@dataclass(frozen=True, slots=True)
class LogExcerpt:
    """steady_decode: decode[a:b] stood in the log after a closed loop had all its requests in
    flight and before it ran out of prompts; None where that is not known."""

    decode: tuple[DecodeWindow, ...] = ()
    prefill: tuple[PrefillWindow, ...] = ()
    startup: tuple[StartupFact, ...] = ()
    unreadable: tuple[str, ...] = ()  # lines of a known kind with a field that cannot be read
    steady_decode: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """The server's cumulative counters at one moment, summed over labels; None is absent.

    From /metrics: spec_verify_calls, generation_tokens, prompt_tokens, retracted_requests.
    From /server_info: avg_spec_accept_length, which has no denominator and cannot be subtracted.
    """

    spec_verify_calls: float | None = None
    generation_tokens: float | None = None
    prompt_tokens: float | None = None
    retracted_requests: float | None = None
    avg_spec_accept_length: float | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What another benchmark tool wrote of one run: its own sums and means.

    seen: False where the format is known from the tool's source alone. request_rate_per_s: inf
    where everything was sent at once. percentiles: {"ttft_ms": {"mean": ..., "p99": ...}}.
    accept_rate is a share, position_rates the share of steps that accepted draft 1, 2, ... Where
    accept_length_is_lifetime, it covers all steps since the server was started or flushed.
    itl_counts_chunks: the tool's inter-token latency is the time between chunks.
    output_tokens are those that the tool's rates count, recounted_output_tokens the same answers
    counted by somebody else: by a tokenizer, or by the server.
    """

    tool: str
    seen: bool
    dataset: str | None = None
    asked_concurrency: int | None = None
    achieved_concurrency: float | None = None
    request_rate_per_s: float | None = None
    completed: int | None = None
    failed: int | None = None
    duration_s: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    recounted_output_tokens: int | None = None
    requests_per_s: float | None = None
    input_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    tokens_per_s: float | None = None
    percentiles: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    accept_length: float | None = None
    accept_length_is_lifetime: bool = False
    accept_rate: float | None = None
    draft_steps: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    position_rates: tuple[float, ...] = ()
    itl_counts_chunks: bool = False
    server_version: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    requests: tuple[RequestOutcome, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a launch or a trial has no valid result. `crash_class` is "unknown" when nothing fits."""

    crash_class: str
    evidence: str  # the line that says so, or the last lines of the log
    advice: str


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a server ran: probe name -> what it said. A probe that failed is in `unknown`."""

    facts: Mapping[str, str]
    unknown: Mapping[str, str]  # probe name -> why


@dataclass(frozen=True, slots=True)
class Launch:
    """One server start. `failure` is None when it became ready."""

    server: ServerConfig
    argv: tuple[str, ...]
    log_name: str | None  # file name inside the run folder
    startup_s: float | None
    environment: Environment
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What one trial leaves behind. Measurements only; means are computed by whoever reads it.

    A trial is done only when `failure` is None. host: the one of several that ran its server.
    """

    key: str
    trial: Trial
    started_at: str  # UTC, ISO 8601
    requests: tuple[RequestOutcome, ...]
    wall_s: float | None
    client: ClientHealth | None
    log: LogExcerpt
    counters_before: Counters
    counters_after: Counters
    failure: Failure | None
    host: str | None = None

    @property
    def steady_span_s(self) -> tuple[float, float] | None:
        """From when to when, since the first send, a closed loop kept all its requests in flight:
        after the last first send of a connection, until there was no further prompt to send."""
        sends = sorted(request.sent_s for request in self.requests)
        concurrency = self.trial.load.concurrency
        if concurrency < 1 or len(sends) <= concurrency:
            return None
        return sends[concurrency - 1], sends[-1]

    @property
    def steady_windows(self) -> tuple[DecodeWindow, ...] | None:
        """The windows that lie in the steady span from end to end; None where it is not known.

        Of each rank the first one in it is left out: it began before.
        """
        if self.log.steady_decode is None:
            return None
        first, last = self.log.steady_decode
        seen: set[str] = set()
        windows: list[DecodeWindow] = []
        for window in self.log.decode[first:last]:
            if window.ranks in seen:
                windows.append(window)
            seen.add(window.ranks)
        return tuple(windows)

    @property
    def completed(self) -> tuple[RequestCompleted, ...]:
        return tuple(r for r in self.requests if isinstance(r, RequestCompleted))
