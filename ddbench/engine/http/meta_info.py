"""SGLang 0.5.23's meta_info, from a request and its ticket.

spec_* stand only in the last chunk, and only when a step was verified. Ours alone is
spec_num_committed_drafts: drafts that became output, where spec_num_correct_drafts counts before
the cut at a stop or the length limit. There is no prefix cache: cached_tokens is always 0.
"""

import time
from typing import Any

from ddbench.engine.generation import Generation
from ddbench.engine.http.tickets import Ticket


def meta_info(ticket: Ticket, *, verify_width: int, sent_s: float | None) -> dict[str, Any]:
    """sent_s: when the first chunk of a stream went out; None where this is the first."""
    generation = ticket.generation
    request = generation.request
    finish = ticket.finish
    entry_s = generation.forward_entry_s
    meta: dict[str, Any] = {
        "id": request.rid,
        "finish_reason": None if finish is None else finish.as_json(),
        "prompt_tokens": generation.prompt_len,
        "weight_version": "default",
        "num_retractions": 0,
        "storage_prefetch_wait": 0.0,
        "storage_staging_wait": 0.0,
        "forward_entry_time": entry_s,
        "prefill_finished_time": generation.prefill_finished_s,
        "queue_time": None if entry_s is None else entry_s - generation.received_s,
    }
    if request.logprobs:
        meta |= _logprobs(generation, ticket.tokens)
    meta |= {
        "reasoning_tokens": 0,
        "completion_tokens": ticket.tokens,
        "cached_tokens": 0,
    }
    if finish is not None:
        meta["weight_versions"] = [{"version": "default", "start": 0, "end": ticket.tokens}]
    meta |= {"cached_tokens_details": None, "dp_rank": None}
    if finish is not None:
        meta |= _last(ticket, verify_width)
    if finish is not None or sent_s is None:
        meta["response_sent_to_client_ts"] = time.time() if sent_s is None else sent_s
    return meta


def _logprobs(generation: Generation, tokens: int) -> dict[str, Any]:
    pairs = zip(generation.output_logprobs[:tokens], generation.output_ids[:tokens], strict=True)
    logprobs: dict[str, Any] = {
        "input_token_logprobs": [],
        "output_token_logprobs": [(value, token, None) for value, token in pairs],
        "output_token_logprobs_length": tokens,
    }
    if generation.request.top_logprobs:
        logprobs["input_top_logprobs"] = []
        logprobs["output_top_logprobs"] = [
            [(value, token, None) for value, token in best]
            for best in generation.output_top_logprobs[:tokens]
        ]
    return logprobs


def _last(ticket: Ticket, verify_width: int) -> dict[str, Any]:
    generation = ticket.generation
    finished_s = generation.finished_s or time.time()
    e2e_s = finished_s - generation.received_s
    last: dict[str, Any] = {"e2e_latency": e2e_s}
    if verify_ct := generation.verify_ct:
        proposed = verify_ct * (verify_width - 1)
        last |= {
            "spec_accept_rate": generation.correct_drafts / proposed,
            "spec_accept_length": ticket.tokens / verify_ct,
            "spec_num_correct_drafts": generation.correct_drafts,
            "spec_num_proposed_drafts": proposed,
            "spec_verify_ct": verify_ct,
            "spec_correct_drafts_histogram": list(generation.histogram),
            "spec_num_committed_drafts": generation.committed_drafts,
        }
    first_s = generation.prefill_finished_s
    last |= {
        "request_received_ts": generation.received_s,
        "first_token_latency": None if first_s is None else first_s - generation.received_s,
        "api_server_dispatch_finish_ts": ticket.dispatched_s,
        "request_finished_ts": finished_s,
    }
    if first_s is not None and finished_s > first_s and ticket.tokens > 1:
        last["decode_throughput"] = (ticket.tokens - 1) / (finished_s - first_s)
    return last
