"""What a sweep file may say and no part of ddbench does yet: refused rather than ignored."""

from ddbench.errors import PlanError
from ddbench.records import SweepPlan


def require_supported(plan: SweepPlan) -> None:
    """Raises PlanError."""
    asked = {
        "patches": any(server.patches is not None for server in plan.servers),
    }
    if missing := [key for key, used in asked.items() if used]:
        raise PlanError(
            f"this version of ddbench does not do `{missing[0]}` yet",
            remedy="Take the key out of the sweep file.",
        )
    if len({load.rate_per_s for load in plan.loads}) > 1:
        raise PlanError(
            "this version of ddbench cannot report on several rates in one run: it would mix them",
            remedy="Write one sweep file a rate.",
        )
