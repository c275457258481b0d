"""Record what stock SGLang's DFLASH drafts at every output position. For probes, never for timing.

Switched on by DDBENCH_RECORD_DRAFTS=FILE; DDBENCH_RECORD_DRAFTS_TOPK says how many candidates are
kept at each depth. SGLang itself must be told to commit one token a step, the target's own, and to
leave the drafter's head outside of its graphs:

    SGLANG_SIMULATE_ACC_LEN=1
    SGLANG_SIMULATE_ACC_TOKEN_MODE=real-draft-token
    SGLANG_DFLASH_EAGER_DRAFT_SAMPLER=1

Four hooks on DFlashWorkerV2: its constructor begins the file and checks that the others are in
place (SGLang only logs a hook that it could not apply), the batch's requests are noted, the
drafter's head is read again for its best candidates, and a step is written once the target has
chosen. A worker whose constructor hook is missing begins no file, and a sweep refuses it.
"""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from sglang.srt.plugins.hook_registry import HookRegistry, HookType
from torch import Tensor

from ddbench.draft_records import DEFAULT_TOPK, DraftRecorder
from ddbench.errors import SetupError

logger = logging.getLogger(__name__)

TOPK_VARIABLE = "DDBENCH_RECORD_DRAFTS_TOPK"
WORKER = "sglang.srt.speculative.dflash_worker_v2.DFlashWorkerV2"
HOOKED = ("forward_batch_generation", "_greedy_sample_from_vocab_parallel_head", "_accept_block")


@dataclass(slots=True)
class _Probe:
    """The state of the one worker in this process."""

    path: Path
    topk: int
    recorder: DraftRecorder | None = None
    requests: tuple[Any, ...] = ()
    drafted: tuple[Tensor, Tensor] | None = None  # ids, log-probs of the step under way: (n*L, K)


def register_probe(path: Path) -> None:
    """Called once in every process of the server; only the scheduler's builds a worker."""
    probe = _Probe(path, int(os.environ.get(TOPK_VARIABLE, DEFAULT_TOPK)))

    def begin(_result: None, worker: Any, *_args: Any, **_kwargs: Any) -> None:
        _begin(probe, worker)

    def note_requests(worker: Any, batch: Any, *_args: Any, **_kwargs: Any) -> None:
        decodes = not (batch.forward_mode.is_extend() or batch.is_extend_in_batch)
        probe.requests = tuple(batch.reqs) if decodes else ()
        probe.drafted = None
        if decodes and worker._draft_sampler is not None:
            raise _unfit("the drafter's head runs inside a graph, where it cannot be read")

    def read_head(
        original: Callable[..., Tensor],
        worker: Any,
        *,
        hidden_states: Tensor,
        lm_head: Any,
        **options: Any,
    ) -> Tensor:
        probe.drafted = _best(hidden_states, lm_head, probe.topk)
        return original(worker, hidden_states=hidden_states, lm_head=lm_head, **options)

    def write_step(
        result: tuple[Any, ...], _worker: Any, *, candidates: Tensor, prefix_lens: Tensor, **_: Any
    ) -> None:
        _, commit_lens, bonus, *_rest = result
        _write(probe, candidates[:, 0], prefix_lens, commit_lens, bonus)

    HookRegistry.register(f"{WORKER}.__init__", begin, HookType.AFTER)
    HookRegistry.register(f"{WORKER}.{HOOKED[0]}", note_requests, HookType.BEFORE)
    HookRegistry.register(f"{WORKER}.{HOOKED[1]}", read_head, HookType.AROUND)
    HookRegistry.register(f"{WORKER}.{HOOKED[2]}", write_step, HookType.AFTER)


def _begin(probe: _Probe, worker: Any) -> None:
    """Begin the file. Raises SetupError in a server that would not record what it should."""
    from sglang.srt.speculative import dflash_worker_v2

    for name in HOOKED:
        if not hasattr(getattr(type(worker), name), "__wrapped__"):
            raise _unfit(f"SGLang did not apply the hook on {name}")
    if dflash_worker_v2.SIMULATE_ACC_LEN != 1:
        raise _unfit("SGLANG_SIMULATE_ACC_LEN is not 1")
    if dflash_worker_v2.SIMULATE_ACC_TOKEN_MODE != "real-draft-token":
        raise _unfit("SGLANG_SIMULATE_ACC_TOKEN_MODE is not real-draft-token")
    if int(worker.server_args.tp_size) != 1:
        raise _unfit("the drafter's head is spread over several GPUs (tp-size is not 1)")
    depth = int(worker.block_size) - 1
    probe.recorder = DraftRecorder(probe.path, depth=depth, topk=probe.topk)
    logger.warning(
        "ddbench records drafts to %s: this server commits one token a step, and its speed "
        "measures nothing",
        probe.path,
    )


def _best(hidden_states: Tensor, lm_head: Any, topk: int) -> tuple[Tensor, Tensor]:
    """The best candidates of each drafted token: ids and log-probs, both (n*L, topk)."""
    weight = lm_head.weight
    shard = getattr(lm_head, "shard_indices", None)
    if shard is not None:
        weight = weight[: int(shard.num_org_elements)]  # the rest is padding
    logits = torch.matmul(hidden_states.to(weight.dtype), weight.T)
    best = torch.log_softmax(logits.float(), dim=-1).topk(topk, dim=-1)
    return best.indices.to(torch.int32).cpu(), best.values.cpu()


def _write(
    probe: _Probe, roots: Tensor, prefix_lens: Tensor, commit_lens: Tensor, bonus: Tensor
) -> None:
    if not probe.requests:
        return  # a warm-up of SGLang's own
    if probe.recorder is None or probe.drafted is None:
        raise _unfit("a step was verified whose drafts were not seen")
    if not bool((commit_lens == 1).all()):
        raise _unfit("a step committed more than one token")
    count = len(probe.requests)
    token_ids, log_probs = (t.view(count, -1, probe.topk).numpy() for t in probe.drafted)
    steps = zip(probe.requests, roots.tolist(), prefix_lens.tolist(), bonus.tolist(), strict=True)
    for row, (request, root, prefix_len, choice) in enumerate(steps):
        prompt_len = len(request.origin_input_ids)
        probe.recorder.write(
            rid=request.rid,
            prompt_len=prompt_len,
            position=prefix_len - prompt_len,
            root=root,
            choice=choice,
            token_ids=token_ids[row],
            log_probs=log_probs[row],
        )
    probe.recorder.flush()
    probe.drafted = None


def _unfit(why: str) -> SetupError:
    error = SetupError(
        f"ddbench cannot record drafts in this server: {why}",
        remedy="Start it with `ddbench sweep` and an arm with `record_drafts: true`.",
    )
    error.add_note(error.remedy)  # SGLang prints the traceback, and notes are part of it
    return error
