"""How deep and how wide a step may be, and what a server version counts."""

from ddbench.checks.evidence import Evidence
from ddbench.records import RequestCompleted

PRINTED_HALF_UNIT = 0.005
"""accept len, avg_accepted_depth and avg_commit_len are printed with two decimals."""

STAMP_UNIT_S = 1.0
"""The log's time stamps are whole seconds."""


def is_speculative(evidence: Evidence) -> bool:
    """True when the arm drafts, as asked or, with nothing asked, as the log shows."""
    if evidence.speculation is not None:
        return evidence.speculation.algorithm is not None
    return any(w.accept_len_logged for w in evidence.windows)


def depth_limit(evidence: Evidence) -> int | None:
    """D: the most drafted tokens a step can accept.

    From the drafting setting; else num_draft_tokens - 1, which no algorithm but UNO exceeds.
    """
    spec = evidence.speculation
    if spec is not None and spec.draft_depth is not None:
        return spec.draft_depth
    width = number_setting(evidence, "speculative_num_draft_tokens")
    return None if width is None or width < 1 else width - 1


def number_setting(evidence: Evidence, name: str) -> int | None:
    """A resolved server argument as a number; None when absent, "None" or not a number."""
    value = evidence.settings.get(name, "")
    return int(value) if value.lstrip("-").isdigit() else None


def log_interval(evidence: Evidence) -> int | None:
    """Decode steps a window: --decode-log-interval as the server resolved it."""
    interval = number_setting(evidence, "decode_log_interval")
    return interval if interval is not None and interval > 0 else None


def version_of(evidence: Evidence) -> tuple[int, ...] | None:
    """(0, 5, 23) from "0.5.23" or "0.5.23.post1"; None when unknown."""
    if evidence.server_version is None:
        return None
    parts = []
    for part in evidence.server_version.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts) or None


def counts_after_the_cut(evidence: Evidence) -> bool:
    """True where "accept len" is known to be taken after the cut at end-of-text (to 0.5.11)."""
    version = version_of(evidence)
    return version is not None and version <= (0, 5, 11)


def is_uno(evidence: Evidence) -> bool:
    """UNO commits two tokens a step that were not drafted, so the usual ranges do not hold."""
    return evidence.speculation is not None and evidence.speculation.algorithm == "UNO"


def verified_tokens(request: RequestCompleted) -> int:
    """Tokens that verify steps produced: each prefill gave one, and a retraction prefills again."""
    return request.completion_tokens - 1 - (request.retractions or 0)
