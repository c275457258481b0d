from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import counts_after_the_cut, depth_limit
from ddbench.checks.needs import REQUESTS, THROUGHPUT
from ddbench.checks.rule import rule
from ddbench.checks.window_steps import by_rank

FEWEST_WINDOWS = 10
SHARE = 0.05


@rule(
    "DDB202",
    "client-and-server-throughput-differ",
    Severity.WARNING,
    remedy="Make sure that the log holds this run alone and that nobody else used the server.",
    needs=(REQUESTS, THROUGHPUT),
)
def client_and_server_throughput_differ(evidence: Evidence) -> Iterator[Outcome]:
    """Decode throughput is the same seen from the client and from the server's log.

    ## Why it matters
    They see the same tokens pass. If they part, the client waits for itself, the log includes
    another run, or one of them counts tokens that the other does not.

    ## How it is computed
    Client: sum(completion_tokens - 1) / (last byte - first first-token), all requests together.
    Server: tokens of the windows / their time, that is sum(accept len * running) /
    sum(accept len * running / throughput), without the first window, which spans idle time. Slack:
    5 %, one window at either end, and F*D tokens where the log counts before the cut at the end
    of an answer. Needs ten windows of one rank.

    ## Example
    Bad: client 310 tok/s, log 480 tok/s.
    Good: client 465 tok/s, log 480 tok/s.
    """
    ranks = by_rank(evidence.windows)
    if len(ranks) > 1:
        yield Lacks("a log of one rank (each rank reports its own share)")
        return
    windows = [w for w in ranks[0][1:] if w.running_requests and w.throughput_tokens_per_s]
    if len(windows) < FEWEST_WINDOWS:
        yield Lacks(f"{FEWEST_WINDOWS} log windows")
        return
    weights = [(w.accept_len_logged or 1.0) * (w.running_requests or 0) for w in windows]
    times = [
        weight / (w.throughput_tokens_per_s or 1.0)
        for weight, w in zip(weights, windows, strict=True)
    ]
    server = sum(weights) / sum(times)
    tokens = sum(r.completion_tokens - 1 for r in evidence.completed)
    start_s = min(r.sent_s + r.ttft_s for r in evidence.completed)
    end_s = max(r.sent_s + r.e2e_s for r in evidence.completed)
    if tokens <= 0 or end_s <= start_s:
        yield Lacks("answers of more than one token")
        return
    client = tokens / (end_s - start_s)
    cut = 0.0
    if not counts_after_the_cut(evidence):
        cut = len(evidence.completed) * (depth_limit(evidence) or 0) / tokens
    slack = SHARE + 2 / len(windows) + cut
    if abs(client - server) > slack * server:
        yield (
            f"{client:.1f} tok/s of decoding seen by the client, {server:.1f} tok/s by "
            f"{len(windows)} log windows ({slack:.0%} explained)"
        )
