"""Every rule that runs, in code order. A code is never reused for another rule."""

from ddbench.checks.acceptance.accept_len_out_of_range import accept_len_out_of_range
from ddbench.checks.acceptance.accepted_depth_against_commit_length import (
    accepted_depth_against_commit_length,
)
from ddbench.checks.acceptance.more_drafts_accepted_than_offered import (
    more_drafts_accepted_than_offered,
)
from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.rule import Rule

RULES: tuple[Rule[Evidence], ...] = (
    # DDB1xx: acceptance     DDB2xx: timing     DDB3xx: environment     DDB5xx: output text
    accepted_depth_against_commit_length,  # DDB101
    accept_len_out_of_range,  # DDB104
    more_drafts_accepted_than_offered,  # DDB122
)

COMPARISON_RULES: tuple[Rule[Comparison], ...] = (
    # DDB4xx: between runs
)
