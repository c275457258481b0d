from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import ACCEPT_LEN
from ddbench.checks.rule import rule
from ddbench.checks.window_steps import by_rank
from ddbench.stats.trend import rank_correlation

FEWEST_WINDOWS = 200
NOTABLE_DROP = 0.2
P_VALUE = 1e-4


@rule(
    "DDB111",
    "acceptance-decays",
    Severity.WARNING,
    remedy="Restart the server, send the same prompts again, and compare with the first windows.",
    needs=(ACCEPT_LEN,),
)
def acceptance_decays(evidence: Evidence) -> Iterator[Outcome]:
    """Acceptance falls over the log, as when a cache or a state is slowly corrupted.

    ## Why it matters
    Acceptance is a property of prompts and weights, not of uptime. A decline over hours has been
    traced to prefix caches with a draft KV that was off by one, and to states that were not
    rolled back. A change of traffic explains it too, so it is a warning.

    ## How it is computed
    Per rank with at least 200 windows: mean accept len of the first third against the last third;
    a drop of over 20 % with a negative rank correlation over time (Spearman, p < 0.0001).

    ## Example
    Bad: 3.4 in the first hour, 2.1 in the third, at the same load.
    Good: 3.4 in the first hour, 3.3 in the third.
    """
    enough = False
    for rank in by_rank(evidence.windows):
        values = [w.accept_len_logged for w in rank if w.accept_len_logged and w.running_requests]
        if len(values) < FEWEST_WINDOWS:
            continue
        enough = True
        third = len(values) // 3
        first, last = sum(values[:third]) / third, sum(values[-third:]) / third
        trend = rank_correlation(list(range(len(values))), values)
        if last < (1.0 - NOTABLE_DROP) * first and trend.rho < 0 and trend.p_value < P_VALUE:
            name = f" of {rank[0].ranks}" if rank[0].ranks else ""
            yield (
                f"accept len{name} falls from {first:.2f} in the first third to {last:.2f} in the "
                f"last, over {len(values)} windows"
            )
    if not enough:
        yield Lacks(f"{FEWEST_WINDOWS} windows with accept len")
