"""Every rule that runs, in code order. A code is never reused for another rule."""

from ddbench.checks.acceptance.accept_len_at_the_ceiling import accept_len_at_the_ceiling
from ddbench.checks.acceptance.accept_len_out_of_range import accept_len_out_of_range
from ddbench.checks.acceptance.accept_length_is_lifetime import accept_length_is_lifetime
from ddbench.checks.acceptance.accept_rate_counts_the_bonus import accept_rate_counts_the_bonus
from ddbench.checks.acceptance.accept_rate_does_not_fit_accept_len import (
    accept_rate_does_not_fit_accept_len,
)
from ddbench.checks.acceptance.acceptance_decays import acceptance_decays
from ddbench.checks.acceptance.acceptance_falls_with_batch import acceptance_falls_with_batch
from ddbench.checks.acceptance.acceptance_falls_with_context import acceptance_falls_with_context
from ddbench.checks.acceptance.acceptance_near_one import acceptance_near_one
from ddbench.checks.acceptance.acceptance_never_varies import acceptance_never_varies
from ddbench.checks.acceptance.accepted_depth_against_commit_length import (
    accepted_depth_against_commit_length,
)
from ddbench.checks.acceptance.answer_longer_than_asked import answer_longer_than_asked
from ddbench.checks.acceptance.autoregressive_arm_speculates import autoregressive_arm_speculates
from ddbench.checks.acceptance.cache_slots_leak import cache_slots_leak
from ddbench.checks.acceptance.commit_length_against_accept_len import (
    commit_length_against_accept_len,
)
from ddbench.checks.acceptance.cumulative_accept_len_disagrees import (
    cumulative_accept_len_disagrees,
)
from ddbench.checks.acceptance.draft_count_against_tokens import draft_count_against_tokens
from ddbench.checks.acceptance.generated_tokens_disagree import generated_tokens_disagree
from ddbench.checks.acceptance.histogram_against_counts import histogram_against_counts
from ddbench.checks.acceptance.more_accepted_than_emitted import more_accepted_than_emitted
from ddbench.checks.acceptance.more_drafts_accepted_than_offered import (
    more_drafts_accepted_than_offered,
)
from ddbench.checks.acceptance.nothing_ever_accepted import nothing_ever_accepted
from ddbench.checks.acceptance.published_anchor_missed import published_anchor_missed
from ddbench.checks.acceptance.request_without_verification import request_without_verification
from ddbench.checks.acceptance.speculation_never_ran import speculation_never_ran
from ddbench.checks.acceptance.stated_ratio_disagrees import stated_ratio_disagrees
from ddbench.checks.acceptance.tokens_after_the_end import tokens_after_the_end
from ddbench.checks.acceptance.tokens_per_step_sources_disagree import (
    tokens_per_step_sources_disagree,
)
from ddbench.checks.acceptance.tool_acceptance_inconsistent import tool_acceptance_inconsistent
from ddbench.checks.acceptance.tree_nodes_out_of_range import tree_nodes_out_of_range
from ddbench.checks.acceptance.verify_calls_disagree import verify_calls_disagree
from ddbench.checks.acceptance.verify_count_out_of_bounds import verify_count_out_of_bounds
from ddbench.checks.comparisons.acceptance_changes_with_concurrency import (
    acceptance_changes_with_concurrency,
)
from ddbench.checks.comparisons.budget_gain_grows import budget_gain_grows
from ddbench.checks.comparisons.chain_tree_not_linear import chain_tree_not_linear
from ddbench.checks.comparisons.conditions_differ import conditions_differ
from ddbench.checks.comparisons.drafting_slower_than_plain import drafting_slower_than_plain
from ddbench.checks.comparisons.drift_between_visits import drift_between_visits
from ddbench.checks.comparisons.larger_budget_accepts_less import larger_budget_accepts_less
from ddbench.checks.comparisons.output_differs_between_arms import output_differs_between_arms
from ddbench.checks.comparisons.prompt_tokens_differ import prompt_tokens_differ
from ddbench.checks.comparisons.repeat_differs import repeat_differs
from ddbench.checks.comparisons.result_used_twice import result_used_twice
from ddbench.checks.comparisons.sampling_looks_greedy import sampling_looks_greedy
from ddbench.checks.comparisons.servers_differ import servers_differ
from ddbench.checks.comparisons.speed_does_not_decompose import speed_does_not_decompose
from ddbench.checks.comparisons.step_time_falls_with_width import step_time_falls_with_width
from ddbench.checks.comparisons.throughput_scaling_implausible import throughput_scaling_implausible
from ddbench.checks.comparisons.too_few_repeats import too_few_repeats
from ddbench.checks.comparisons.tree_accepts_less_than_linear import tree_accepts_less_than_linear
from ddbench.checks.comparisons.tree_first_draft_accepted_less import tree_first_draft_accepted_less
from ddbench.checks.environment.draft_cache_too_coarse import draft_cache_too_coarse
from ddbench.checks.environment.drafter_block_size_mismatch import drafter_block_size_mismatch
from ddbench.checks.environment.format_never_seen import format_never_seen
from ddbench.checks.environment.instrumented_run_timed import instrumented_run_timed
from ddbench.checks.environment.provenance_missing import provenance_missing
from ddbench.checks.environment.running_limit_below_concurrency import (
    running_limit_below_concurrency,
)
from ddbench.checks.environment.sampling_fell_back_to_greedy import sampling_fell_back_to_greedy
from ddbench.checks.environment.simulated_acceptance import simulated_acceptance
from ddbench.checks.environment.tree_without_its_mask import tree_without_its_mask
from ddbench.checks.environment.verify_width_mismatch import verify_width_mismatch
from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.rule import Rule
from ddbench.checks.text.ceiling_with_degenerate_text import ceiling_with_degenerate_text
from ddbench.checks.text.one_token_over_and_over import one_token_over_and_over
from ddbench.checks.text.repetition_loop import repetition_loop
from ddbench.checks.text.undecodable_text import undecodable_text
from ddbench.checks.timing.client_and_server_throughput_differ import (
    client_and_server_throughput_differ,
)
from ddbench.checks.timing.client_bound import client_bound
from ddbench.checks.timing.concurrency_never_reached import concurrency_never_reached
from ddbench.checks.timing.everything_sent_at_once import everything_sent_at_once
from ddbench.checks.timing.first_window_after_idle import first_window_after_idle
from ddbench.checks.timing.gaps_between_chunks import gaps_between_chunks
from ddbench.checks.timing.graph_off_in_some_windows import graph_off_in_some_windows
from ddbench.checks.timing.percentile_of_too_few import percentile_of_too_few
from ddbench.checks.timing.requests_failed import requests_failed
from ddbench.checks.timing.requests_queued import requests_queued
from ddbench.checks.timing.throughput_identity_broken import throughput_identity_broken
from ddbench.checks.timing.token_counts_differ import token_counts_differ
from ddbench.checks.timing.tool_totals_disagree import tool_totals_disagree
from ddbench.checks.trace.trace_accepted_path_broken import trace_accepted_path_broken
from ddbench.checks.trace.trace_accepted_token_not_target import trace_accepted_token_not_target
from ddbench.checks.trace.trace_against_answers import trace_against_answers
from ddbench.checks.trace.trace_bonus_token_wrong import trace_bonus_token_wrong
from ddbench.checks.trace.trace_calibration_off import trace_calibration_off
from ddbench.checks.trace.trace_chain_shape_broken import trace_chain_shape_broken
from ddbench.checks.trace.trace_commit_length_wrong import trace_commit_length_wrong
from ddbench.checks.trace.trace_depth_out_of_range import trace_depth_out_of_range
from ddbench.checks.trace.trace_first_node_not_best import trace_first_node_not_best
from ddbench.checks.trace.trace_prefix_advance_wrong import trace_prefix_advance_wrong
from ddbench.checks.trace.trace_tree_malformed import trace_tree_malformed
from ddbench.checks.trace.trace_tree_size_wrong import trace_tree_size_wrong
from ddbench.checks.trace.trace_walk_stopped_early import trace_walk_stopped_early
from ddbench.checks.trace.trace_weights_out_of_order import trace_weights_out_of_order

RULES: tuple[Rule[Evidence], ...] = (
    # DDB1xx: acceptance
    accepted_depth_against_commit_length,  # DDB101
    commit_length_against_accept_len,  # DDB102
    tokens_per_step_sources_disagree,  # DDB103
    accept_len_out_of_range,  # DDB104
    accept_rate_does_not_fit_accept_len,  # DDB105
    accept_rate_counts_the_bonus,  # DDB106
    nothing_ever_accepted,  # DDB107
    acceptance_near_one,  # DDB108
    accept_len_at_the_ceiling,  # DDB109
    acceptance_never_varies,  # DDB110
    acceptance_decays,  # DDB111
    acceptance_falls_with_batch,  # DDB112
    acceptance_falls_with_context,  # DDB113
    verify_calls_disagree,  # DDB114
    cumulative_accept_len_disagrees,  # DDB115
    generated_tokens_disagree,  # DDB116
    speculation_never_ran,  # DDB117
    autoregressive_arm_speculates,  # DDB118
    tree_nodes_out_of_range,  # DDB119
    draft_count_against_tokens,  # DDB120
    stated_ratio_disagrees,  # DDB121
    more_drafts_accepted_than_offered,  # DDB122
    histogram_against_counts,  # DDB123
    verify_count_out_of_bounds,  # DDB124
    request_without_verification,  # DDB125
    answer_longer_than_asked,  # DDB126
    tokens_after_the_end,  # DDB127
    cache_slots_leak,  # DDB128
    published_anchor_missed,  # DDB129
    more_accepted_than_emitted,  # DDB130
    accept_length_is_lifetime,  # DDB131
    tool_acceptance_inconsistent,  # DDB132
    trace_depth_out_of_range,  # DDB140
    trace_accepted_path_broken,  # DDB141
    trace_accepted_token_not_target,  # DDB142
    trace_walk_stopped_early,  # DDB143
    trace_bonus_token_wrong,  # DDB144
    trace_commit_length_wrong,  # DDB145
    trace_prefix_advance_wrong,  # DDB146
    trace_tree_malformed,  # DDB147
    trace_tree_size_wrong,  # DDB148
    trace_weights_out_of_order,  # DDB149
    trace_first_node_not_best,  # DDB150
    trace_chain_shape_broken,  # DDB151
    trace_calibration_off,  # DDB152
    trace_against_answers,  # DDB153
    # DDB2xx: timing
    throughput_identity_broken,  # DDB201
    client_and_server_throughput_differ,  # DDB202
    graph_off_in_some_windows,  # DDB203
    concurrency_never_reached,  # DDB204
    requests_queued,  # DDB205
    client_bound,  # DDB206
    percentile_of_too_few,  # DDB207
    first_window_after_idle,  # DDB208
    requests_failed,  # DDB209
    tool_totals_disagree,  # DDB210
    gaps_between_chunks,  # DDB211
    everything_sent_at_once,  # DDB212
    token_counts_differ,  # DDB213
    # DDB3xx: environment
    verify_width_mismatch,  # DDB301
    simulated_acceptance,  # DDB302
    drafter_block_size_mismatch,  # DDB303
    tree_without_its_mask,  # DDB304
    running_limit_below_concurrency,  # DDB305
    sampling_fell_back_to_greedy,  # DDB306
    instrumented_run_timed,  # DDB307
    provenance_missing,  # DDB308
    draft_cache_too_coarse,  # DDB309
    format_never_seen,  # DDB310
    # DDB5xx: output text
    repetition_loop,  # DDB501
    ceiling_with_degenerate_text,  # DDB502
    one_token_over_and_over,  # DDB503
    undecodable_text,  # DDB504
)

COMPARISON_RULES: tuple[Rule[Comparison], ...] = (
    # DDB4xx: between runs
    conditions_differ,  # DDB401
    servers_differ,  # DDB402
    prompt_tokens_differ,  # DDB403
    chain_tree_not_linear,  # DDB404
    output_differs_between_arms,  # DDB405
    repeat_differs,  # DDB406
    larger_budget_accepts_less,  # DDB407
    budget_gain_grows,  # DDB408
    tree_accepts_less_than_linear,  # DDB409
    tree_first_draft_accepted_less,  # DDB410
    acceptance_changes_with_concurrency,  # DDB411
    speed_does_not_decompose,  # DDB412
    step_time_falls_with_width,  # DDB413
    throughput_scaling_implausible,  # DDB414
    drift_between_visits,  # DDB415
    too_few_repeats,  # DDB416
    result_used_twice,  # DDB417
    sampling_looks_greedy,  # DDB418
    drafting_slower_than_plain,  # DDB419
)

ALL_RULES: tuple[Rule[Evidence] | Rule[Comparison], ...] = tuple(
    sorted((*RULES, *COMPARISON_RULES), key=lambda rule: rule.code)
)
