"""What a sweep file may say and no part of ddbench does yet: refused rather than ignored."""

from ddbench.errors import PlanError
from ddbench.records import SweepPlan


def require_supported(plan: SweepPlan) -> None:
    """Raises PlanError."""
    if len({load.rate_per_s for load in plan.loads}) > 1:
        raise PlanError(
            "this version of ddbench cannot report on several rates in one run: it would mix them",
            remedy="Write one sweep file a rate.",
        )
