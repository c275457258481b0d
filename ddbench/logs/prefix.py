"""What stands before a message: SGLang's stamp and ranks, and what log shippers put before them.

SGLang writes `[2026-07-23 05:31:43{.mmm}{ DP0}{ PP0}{ ATTN_CP0}{ MOE_DP0}{ TP0}{ EP0}] `, its ranks
in an order that changed twice. Containers, Ray, Kubernetes and people add their own.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

_STAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{1,9}))?"
)
_RANK = re.compile(r"(?<![A-Za-z0-9_])(ATTN_CP|MOE_DP|DP|PP|TP|EP)=?([0-9]{1,6})(?![A-Za-z0-9])")
_LONGEST_PART = 500
_RANK_ORDER = ("DP", "PP", "ATTN_CP", "MOE_DP", "TP", "EP")
_SOURCES = (
    re.compile(r"^\s*([\w.-]+)\s*\| "),  # docker compose: `server-1  | `
    re.compile(r"\(([^()]*\bpid=[0-9]+[^()]*)\)"),  # Ray: `(Engine pid=12) `
    re.compile(r"(?<!\S)(\S+) >> "),  # job shipper: `[...] pod >> (...) `
    re.compile(r"Worker [0-9]+ \(([^()]+)\)"),  # `GPU=0 Worker 0 (model_1) TP=0] `
    re.compile(
        r"^[0-9T:.-]+Z (?!stdout |stderr )(\S+) [A-Z]+ "
    ),  # `2026-07-23T05:31:43.1Z pod INFO TP0] `
)


@dataclass(frozen=True, slots=True)
class LinePrefix:
    """logged_at has no zone: it is the clock of whoever wrote the stamp nearest to the message.

    ranks are in one fixed order whatever the line's. source names the container, actor or pod the
    line came from; "" where the line does not say.
    """

    logged_at: datetime | None
    ranks: str
    source: str


@lru_cache(maxsize=256)
def read_prefix(text: str) -> LinePrefix:
    """Read everything before the message. Nothing in it is an error: unknown parts are left out."""
    if len(text) > 2 * _LONGEST_PART:  # other output without a line end; the ends are what counts
        text = text[:_LONGEST_PART] + text[-_LONGEST_PART:]
    stamp = next(reversed(list(_STAMP.finditer(text))), None)  # the nearest to the message
    after_stamp = text if stamp is None else text[stamp.end() :]
    ranks = dict(_RANK.findall(after_stamp))
    source = next((match[1] for pattern in _SOURCES if (match := pattern.search(text))), "")
    return LinePrefix(
        logged_at=None if stamp is None else _moment(*stamp.groups()),
        ranks=" ".join(f"{name}{ranks[name]}" for name in _RANK_ORDER if name in ranks),
        source=source,
    )


def _moment(date: str, time: str, fraction: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(f"{date} {time}")
    except ValueError:  # month 13: no date, whatever it is
        return None
    return moment.replace(microsecond=int((fraction or "0")[:6].ljust(6, "0")))
