"""Linear against tree, in words: what was found, how sure it is, why, and where."""

from collections.abc import Iterator, Mapping, Sequence

from ddbench.compare.answers import Agreement
from ddbench.compare.conditions import Difference
from ddbench.compare.graphs import GraphFactor
from ddbench.compare.linear_vs_tree import Cell, LinearVsTree, Pair
from ddbench.compare.lossless import Losslessness
from ddbench.compare.slo import Recommendation
from ddbench.compare.why import Decomposition
from ddbench.report.acceptance_sections import acceptance_sections, budget_section
from ddbench.report.drafter_sections import NO_RECORDING, drafter_sections
from ddbench.report.drafters import DrafterReport
from ddbench.report.drift_sections import drift_section
from ddbench.report.notes import EMBEDDED
from ddbench.report.numbers import NOT_MEASURED, interval_text
from ddbench.report.sections import Measured, Said, Section, Sentence, Words
from ddbench.report.slo_sections import slo_section
from ddbench.stats.interval import Interval

METHODS = (
    "Ratios are tree over linear; brackets hold 95 % intervals. n counts prompts for tokens/step, "
    "request rate and TPOT (a log jackknife, paired by prompt: the choice of prompts). For tok/s "
    "it counts pairs of repeats (Student's t on logs: the noise of running again), or visits where "
    "there are several, which is the noise of launching again as well, or hosts, which is that of "
    "other hosts too. Equivalent: within 1 % by "
    "two one-sided tests at 5 %. Better or worse: the interval leaves out 1; of arms that do not "
    "differ, one verdict in twenty says so by chance."
)
_WHY = (
    "speedup = rounds x time x batch. rounds: tokens a verify step, from the answers' counts. "
    "time: seconds a round, linear over tree, from the log's throughput, accept len and number "
    "running. batch: requests a round, tree over linear, from the log. The client's clock is in "
    "none of them; the product must meet its tok/s within 5 %."
)
_NAMES = {
    "tokens_per_step": "tokens/step",
    "tokens_per_s": "tok/s",
    "request_rate": "request rate",
    "tpot": "TPOT",
}


def sections(
    comparison: LinearVsTree,
    *,
    drafters: Sequence[DrafterReport] | None = None,
    levels: Sequence[Recommendation] = (),
    is_alone: bool = True,
) -> list[Section]:
    """Findings first, then the tables that they rest on.

    is_alone: without a report around it, which names the engine.
    drafters: None where nobody looked for recordings; empty where there are none, which is said.
    """
    engine: tuple[Sentence, ...] = ()
    if is_alone and "embedded" in comparison.engines:
        engine = ((f"Measured on the {EMBEDDED}.",),)
    found = [Section("Answer", (*engine, *_answers(comparison)))]
    if levels:
        found.append(slo_section(levels))
    if comparison.refused:
        found.append(Section("Not compared", tuple(_refused(comparison.refused))))
    found += drafter_sections(drafters or ())
    found += [_ratios(pair) for pair in comparison.pairs]
    if comparison.drift is not None:
        found.append(drift_section(comparison.drift))
    found.append(_why(comparison.pairs))
    if comparison.graphs:
        found.append(_graphs(comparison.graphs))
    if any(pair.chain for pair in comparison.pairs):
        found.append(Section("Chain-shaped tree", tuple(_chains(comparison.pairs))))
    if comparison.losslessness:
        found.append(_losslessness(comparison.losslessness))
    found += acceptance_sections(comparison.pairs)
    if comparison.budgets:
        found.append(budget_section(comparison.budgets))
    unjudged = (NO_RECORDING,) if drafters is not None and not drafters else ()
    caveats = (*_caveats(comparison), *unjudged, (METHODS,), (_WHY,))
    found.append(Section("How to read this", caveats))
    return found


# ---------------------------------------------------------------- findings


def _answers(comparison: LinearVsTree) -> Iterator[Sentence]:
    for pair in comparison.pairs:
        for cell in pair.cells:
            yield _answer(pair, cell)
        if pair.crossover is not None:
            said = f"{_beside(pair.label)}: {pair.crossover.sentence}."
            yield (Said(pair.tree), " over ", Said(pair.linear), said)
        for concurrency, why in pair.refused.items():
            yield (
                *(Said(pair.tree), " at concurrency ", str(concurrency), " was left out: "),
                Said("; ".join(why)),
            )
        if pair.forced:
            yield ("Forced past what differs: ", Said(_listed(pair.forced)))
        if pair.labels:
            yield ("Arms also differ in: ", Said(_listed(pair.labels)))
        if pair.unknown:
            yield ("Not known of both sides: ", Said(", ".join(pair.unknown)))


def _answer(pair: Pair, cell: Cell) -> Sentence:
    """tokens/step and tok/s apart: a tree can win the one and lose the other."""
    label = _beside(pair.label_of(cell))
    parts: list[Words] = [Said(pair.tree), f" at concurrency {cell.concurrency}{label}: "]
    for name in ("tokens_per_step", "tokens_per_s"):
        ratio: Interval | None = getattr(cell.ratios, name)
        text = f"{_NAMES[name]} {cell.verdicts[name]}, {interval_text(ratio, units='x')}"
        if cell.verdicts[name] == "undecided":
            text += f" ({cell.detectable[name]})"
        parts += [text, "; " if name == "tokens_per_step" else "."]
    return tuple(parts)


def _refused(refused: Mapping[str, str]) -> Iterator[Sentence]:
    for tree, why in refused.items():
        yield (Said(tree), ": ", Said("; ".join(line.strip() for line in why.splitlines())))


def _chains(pairs: Sequence[Pair]) -> Iterator[Sentence]:
    for pair in pairs:
        for chain in pair.chain:
            yield (
                *(Said(chain.chain), " and ", Said(chain.linear)),
                f" at concurrency {chain.concurrency}{_beside(pair.label)}: {chain.sentence}.",
            )


def _caveats(comparison: LinearVsTree) -> Iterator[Sentence]:
    if comparison.visits < 2:
        yield ("One visit: drift and launch-to-launch variance not measured.",)
    if any(linear != tree for linear, tree in (pair.runs for pair in comparison.pairs)):
        yield (
            "Arms of two runs: whatever the machine changed from one run to the other is in every "
            "ratio of times, and no interval holds it.",
        )


# ---------------------------------------------------------------- tables


def _ratios(pair: Pair) -> Section:
    return Section(
        "Ratios",
        (_who(pair),),
        header=("concurrency", "tokens/step", "per request", "tok/s", "request rate", "TPOT"),
        rows=tuple(
            (
                str(cell.concurrency),
                *(
                    Measured(ratio, units="x", label=pair.label_of(cell))
                    for ratio in (
                        cell.ratios.tokens_per_step,
                        cell.ratios.tokens_per_step_mean,
                        cell.ratios.tokens_per_s,
                        cell.ratios.request_rate,
                        cell.ratios.tpot,
                    )
                ),
            )
            for cell in pair.cells
        ),
    )


def _who(pair: Pair) -> Sentence:
    """With their runs where these are two."""
    linear, tree = pair.runs
    if linear == tree:
        return (Said(pair.tree), " over ", Said(pair.linear))
    return (Said(pair.tree), " of ", Said(tree), " over ", Said(pair.linear), " of ", Said(linear))


def _why(pairs: Sequence[Pair]) -> Section:
    rows: list[Sentence] = []
    sentences: list[Sentence] = []
    for pair in pairs:
        for cell in pair.cells:
            if isinstance(cell.why, str):
                sentences.append(
                    (Said(pair.tree), f" at concurrency {cell.concurrency}: ", Said(cell.why))
                )
            else:
                rows.append(_why_row(pair, cell, cell.why))
    header = ("concurrency", "tree", "rounds", "time", "batch", "product", "tok/s", "witnesses")
    return Section("Why", tuple(sentences), header if rows else (), tuple(rows))


def _why_row(pair: Pair, cell: Cell, why: Decomposition) -> Sentence:
    broken = [f"{check.what} {check.off:+.1%}" for check in why.checks if not check.holds]
    label = _beside(pair.label_of(cell))
    factors = (why.rounds, why.round_time, why.occupancy)
    return (
        str(cell.concurrency),
        Said(pair.tree),
        *(Measured(factor, units="x", label=pair.label_of(cell)) for factor in factors),
        f"{why.product:.2f}x{label}",
        Measured(why.measured, units="x", label=pair.label_of(cell), is_brief=True),
        Said("DISAGREE: " + "; ".join(broken)) if broken else f"agree ({why.checks[0].off:+.1%})",
    )


def _graphs(found: Sequence[GraphFactor]) -> Section:
    return Section(
        "CUDA graphs: on over off, of arms that differ in nothing else",
        header=("concurrency", "on", "off", "tok/s"),
        rows=tuple(
            (
                str(one.concurrency),
                *(Said(one.with_graphs), Said(one.without)),
                Measured(one.tokens_per_s, units="x"),
            )
            for one in found
        ),
    )


def _losslessness(found: Sequence[Losslessness]) -> Section:
    several = len({one.run for one in found}) > 1
    header = ("concurrency", "arm", "outcome", "identical", "first divergence", "itself again")
    return Section(
        "Losslessness against autoregressive",
        tuple(_outcome_notes(found)),
        header,
        tuple(
            (
                str(one.concurrency),
                Said(f"{one.run}: {one.arm}" if several else one.arm),
                one.outcome,
                _identical(one.against_reference),
                _first_divergence(one.against_reference),
                _identical(one.own_noise),
            )
            for one in found
        ),
    )


def _outcome_notes(found: Sequence[Losslessness]) -> Iterator[Sentence]:
    for one in found:
        if one.why:
            yield (Said(one.arm), f" at concurrency {one.concurrency}: ", Said("; ".join(one.why)))
        elif one.outcome == "not known":
            yield (
                Said(one.arm),
                f" at concurrency {one.concurrency}: run with `logprobs: true` to tell near ties "
                "from errors.",
            )
        elif one.outcome == "within noise":
            yield (
                Said(one.arm),
                f" at concurrency {one.concurrency}: the autoregressive arm parts from itself at "
                "no tie about as often, so that no loss can be told from its noise.",
            )
    noise = {one.concurrency: one.reference_noise for one in found if one.reference_noise}
    for concurrency, own in noise.items():
        yield (
            f"Autoregressive against itself at concurrency {concurrency}: "
            f"{_identical(own)} identical.",
        )


def _identical(found: Agreement | None) -> str:
    return NOT_MEASURED if found is None else f"{found.identical} of {found.compared}"


def _first_divergence(found: Agreement | None) -> Words:
    if found is None or found.first is None:
        return NOT_MEASURED
    at = found.first
    return Said(f"token {at.position} of {at.prompt_id} ({at.cause})")


def _beside(label: str | None) -> str:
    return "" if label is None else f" ({label})"


def _listed(differences: Sequence[Difference]) -> str:
    return "; ".join(str(difference) for difference in differences)
