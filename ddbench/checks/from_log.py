"""One boot of one server, as its log shows it, as evidence. Pure: records in, evidence out."""

from collections.abc import Sequence

from ddbench.checks.evidence import DraftCounts, Evidence
from ddbench.checks.from_settings import speculation_from
from ddbench.checks.startup_values import settings_in
from ddbench.records import DecodeWindow, PrefillWindow, StartupFact


def log_evidence(
    subject: str,
    *,
    source: str,
    arm: str,
    windows: Sequence[DecodeWindow],
    prefill: Sequence[PrefillWindow] = (),
    startup: Sequence[StartupFact] = (),
    draft_counts: Sequence[DraftCounts] = (),
) -> Evidence:
    """What the lines say; the drafting setting comes from the server's arguments, if printed.

    arm: the server, whatever the start and the part of its log: these are not held against each
    other.

    A tree worker's start-up line overrules them, since a fork's arguments are its own.
    """
    settings: dict[str, str] = {}
    for fact in startup:
        if fact.name == "server_args":
            settings |= settings_in(fact)
        elif fact.name == "ddtree_worker":
            said = settings_in(fact)
            settings["speculative_algorithm"] = "DDTREE"
            for theirs, ours in (
                ("block_size", "speculative_dflash_block_size"),
                ("tree_budget", "speculative_ddtree_budget"),
            ):
                if theirs in said:
                    settings[ours] = said[theirs]
    for counts in draft_counts:
        if counts.drafts_a_step is not None:
            settings["speculative_num_draft_tokens"] = str(counts.drafts_a_step + 1)
    return Evidence(
        subject=subject,
        source=source,
        arm=arm,
        speculation=speculation_from(settings),
        windows=tuple(windows),
        prefill=tuple(prefill),
        startup=tuple(startup),
        draft_counts=tuple(draft_counts),
        settings=settings,
    )
