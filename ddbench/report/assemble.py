"""From a run's records to its report, once, whatever form it takes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ddbench.checks.run import Report as Checked
from ddbench.compare.arms import arms_of
from ddbench.compare.linear_vs_tree import LinearVsTree, compare_linear_with_trees
from ddbench.compare.slo import recommend
from ddbench.errors import NotComparable
from ddbench.records import Launch, LoadConfig, RunResult
from ddbench.report.answer import answer
from ddbench.report.content import Report, Sent
from ddbench.report.drafters import DrafterReport
from ddbench.report.failures import failed_of, failed_requests_of
from ddbench.report.findings import found_of, lacking_of
from ddbench.report.notes import caveats, failure_counts, runs_on_the_embedded_engine
from ddbench.report.prediction import Prediction
from ddbench.report.speedups import speedups
from ddbench.report.summary import summarise
from ddbench.report.where import where_of
from ddbench.stats.service_level import Limit


def assemble(
    run: str,
    launches: Sequence[Launch],
    results: Sequence[RunResult],
    *,
    checked: Checked,
    drafters: Sequence[DrafterReport] = (),
    predicted: Prediction | str | None = None,
    limits: Sequence[Limit] = (),
) -> Report:
    """The report of the run called `run`. checked: what the rules said of it.

    Raises NotComparable where no arm has the requests that a limit's percentile needs.

    drafters, predicted: from its recorded drafts; predicted is in words where it cannot be had.
    """
    rows = summarise(results)
    found = found_of(checked)
    compared = _compared(run, launches, results)
    comparison = compared if isinstance(compared, LinearVsTree) else None
    embedded = runs_on_the_embedded_engine(launches, results)
    moments = sorted(result.started_at for result in results)
    return Report(
        run=run,
        first_trial_at=moments[0] if moments else None,
        last_trial_at=moments[-1] if moments else None,
        launches=len(launches),
        trials=len(results),
        on_embedded_engine=embedded,
        loads=tuple(_sent([result.trial.load for result in results])),
        findings=found,
        lacking=lacking_of(checked),
        answer=answer(rows, results, comparison, found, drafters, on_embedded_engine=embedded),
        failed=failed_of(launches, results),
        failed_requests=failed_requests_of(results),
        failure_counts=failure_counts(rows),
        rows=tuple(rows),
        speedups=tuple(speedups(results)),
        comparison=comparison,
        not_compared=compared if isinstance(compared, str) else None,
        drafters=tuple(drafters),
        prediction=predicted if isinstance(predicted, Prediction) else None,
        not_predicted=predicted if isinstance(predicted, str) else None,
        where=where_of(launches, results),
        notes=tuple(caveats(launches, results)),
        levels=tuple(recommend(arms_of(run, launches, results), limits)) if limits else (),
    )


def _sent(loads: Sequence[LoadConfig]) -> Iterator[Sent]:
    alike: dict[tuple[str, int, int, float, int], list[LoadConfig]] = defaultdict(list)
    for load in loads:
        key = (load.prompts, load.count, load.max_new_tokens, load.temperature, load.seed)
        alike[key].append(load)
    for key, group in alike.items():
        concurrencies = {load.concurrency for load in group if load.concurrency}
        rates = {load.rate_per_s for load in group if load.rate_per_s is not None}
        yield Sent(*key, tuple(sorted(concurrencies)), tuple(sorted(rates)))


def _compared(
    run: str, launches: Sequence[Launch], results: Sequence[RunResult]
) -> LinearVsTree | str | None:
    """None where nothing is there to compare; in words where it must not be."""
    arms = arms_of(run, launches, results)
    if not any(arm.is_tree for arm in arms) or not any(arm.is_linear for arm in arms):
        return None
    try:
        return compare_linear_with_trees(arms, arms)
    except NotComparable as error:
        return f"{error} ({error.remedy})"
