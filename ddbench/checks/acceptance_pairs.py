"""Tokens per step of two cells, prompt by prompt."""

from dataclasses import dataclass

from ddbench.checks.cells import Cell, shared_prompts
from ddbench.stats.signed_rank import signed_rank

P_VALUE = 0.01


@dataclass(frozen=True, slots=True)
class AcceptanceChange:
    """From `before` to `after`: pooled means, and how likely so many falls are by chance."""

    before: float
    after: float
    prompts: int
    p_of_fall: float
    p_of_rise: float

    @property
    def share(self) -> float:
        """Relative change; negative when it fell."""
        return self.after / self.before - 1.0


def acceptance_change(before: Cell, after: Cell) -> AcceptanceChange | None:
    """None when either side has no verify counts, or they share no prompt."""
    pairs = shared_prompts(before.tokens_per_step_by_prompt(), after.tokens_per_step_by_prompt())
    mine, theirs = before.tokens_per_step, after.tokens_per_step
    if mine is None or theirs is None or not pairs:
        return None
    return AcceptanceChange(
        before=mine,
        after=theirs,
        prompts=len(pairs),
        p_of_fall=signed_rank(a - b for a, b in pairs).p_value,
        p_of_rise=signed_rank(b - a for a, b in pairs).p_value,
    )
