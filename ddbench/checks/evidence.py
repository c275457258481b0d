"""What the rules look at. Every input is optional: None or empty is "not measured".

a run folder    -> one Evidence a trial
a server log    -> one Evidence a boot
all of a check  -> one Comparison, for the rules between runs
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddbench.records import (
    ClientHealth,
    Counters,
    DecodeWindow,
    Environment,
    LoadConfig,
    PrefillWindow,
    RequestCompleted,
    RequestFailed,
    RequestOutcome,
    Speculation,
    StartupFact,
    ToolResult,
)

NO_COUNTERS = Counters()


@dataclass(frozen=True, slots=True)
class StatedRatios:
    """The ratios that the server computed for one answer, beside the counts they are made of.

    accept_length, accept_rate, proposed_drafts: SGLang's spec_accept_length, spec_accept_rate and
    spec_num_proposed_drafts (spec_proposed_drafts in 0.5.11).
    """

    request: RequestCompleted
    accept_length: float | None
    accept_rate: float | None
    proposed_drafts: int | None


@dataclass(frozen=True, slots=True)
class DraftCounts:
    """Drafted, accepted and emitted tokens that a log line counts, as vLLM's do."""

    accepted: int | None
    drafted: int | None
    emitted: int | None
    drafts_a_step: int | None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One verify step of one request, from a step trace. Node 0 is the root.

    parents, tokens, depths, log_weights, target: one entry a node. parents[0] is -1, tokens[0] the
    token already emitted. log_weights are natural logs of the path's probability under the drafter,
    0.0 at the root; empty where the server does not write them.
    target[i]: the token that the target chose after node i; None where it chose none.
    accepted: node indices along the walk, the root first. commit: the tokens appended to the
    output, in order. prefix_len: tokens with KV in the cache before the step, the root excluded.
    """

    rid: str
    step: int
    prefix_len: int
    parents: tuple[int, ...]
    tokens: tuple[int, ...]
    depths: tuple[int, ...]
    log_weights: tuple[float, ...]
    accepted: tuple[int, ...]
    target: tuple[int | None, ...]
    bonus: int
    commit: tuple[int, ...]
    finished: bool

    @property
    def correct_drafts(self) -> int:
        """Accepted drafted tokens: the depth of the walk."""
        return len(self.accepted) - 1

    @property
    def drafted_nodes(self) -> int:
        """Nodes without the root."""
        return len(self.parents) - 1

    @property
    def where(self) -> str:
        return f"request {self.rid} step {self.step}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one run: a trial of a sweep, or a log file. `source` names the file.

    settings: the server's resolved arguments under SGLang's own names with underscores, as text
    ("page_size": "1"). server_env: variables of the server process. stop_ids: token ids that end an
    answer. tool: what another benchmark tool wrote of the run, where the file is of one.
    """

    subject: str
    source: str = ""
    arm: str | None = None
    speculation: Speculation | None = None
    server_version: str | None = None
    load: LoadConfig | None = None
    windows: tuple[DecodeWindow, ...] = ()
    prefill: tuple[PrefillWindow, ...] = ()
    startup: tuple[StartupFact, ...] = ()
    requests: tuple[RequestOutcome, ...] = ()
    stated: tuple[StatedRatios, ...] = ()
    wall_s: float | None = None
    client: ClientHealth | None = None
    counters_before: Counters = NO_COUNTERS
    counters_after: Counters = NO_COUNTERS
    environment: Environment | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    server_env: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[StepRecord, ...] = ()
    draft_counts: tuple[DraftCounts, ...] = ()
    stop_ids: frozenset[int] = frozenset()
    repeat: int = 0
    visit: int = 0
    host: str | None = None  # the one of several that ran it
    started_at: str | None = None
    tool: ToolResult | None = None

    @property
    def completed(self) -> tuple[RequestCompleted, ...]:
        return tuple(r for r in self.requests if isinstance(r, RequestCompleted))

    @property
    def failed(self) -> tuple[RequestFailed, ...]:
        return tuple(r for r in self.requests if isinstance(r, RequestFailed))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything given to one check, for the rules that hold runs against each other."""

    runs: tuple[Evidence, ...]

    @property
    def source(self) -> str:
        """The one file or folder that all runs come from; empty when there are several."""
        sources = {run.source for run in self.runs}
        return sources.pop() if len(sources) == 1 else ""

    @property
    def subject(self) -> str:
        return " and ".join(run.subject for run in self.runs[:2]) + (
            f" and {len(self.runs) - 2} more" if len(self.runs) > 2 else ""
        )
