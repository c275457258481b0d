"""The few places where SGLang 0.5.11 must behave differently on a CPU, by its own hook registry."""

import logging
from collections.abc import Callable
from typing import Any

import torch
from sglang.srt.layers.attention.attention_registry import register_attention_backend
from sglang.srt.plugins.hook_registry import HookRegistry, HookType
from torch import Tensor

from ddbench.sglang_plugin.faults import Fault, planted_fault

logger = logging.getLogger(__name__)

TORCH_BACKENDS = ("torch_native", "flashinfer", "triton")
"""The second and third for DFLASH's drafter: dflash_worker.py knows GPU backends only, and takes
flashinfer where it is given another. On a CPU neither could run."""


def register_hooks() -> None:
    """Called once in every process of the server, before SGLang builds anything."""
    for name in TORCH_BACKENDS:
        register_attention_backend(name)(_attention)
    for target, hook in (
        # These launch Triton kernels.
        ("sglang.srt.speculative.spec_utils.assign_req_to_token_pool_func", _assign_slots),
        (
            "sglang.srt.mem_cache.memory_pool.MHATokenToKVPool._init_kv_copy_and_warmup",
            _no_warm_up,
        ),
    ):
        HookRegistry.register(target, hook, HookType.REPLACE)
    HookRegistry.register(
        "sglang.srt.models.dflash.DFlashDraftModel.forward",
        _keep_embedding_precision,
        HookType.AROUND,
    )
    if (fault := planted_fault()) is not None:
        logger.warning("ddbench planted the fault %s: this server's output is wrong", fault.value)
    if fault is Fault.ACCEPT_ONE_TOO_MANY:
        HookRegistry.register(
            "sglang.srt.speculative.dflash_utils.compute_dflash_accept_len_and_bonus",
            _accept_one_too_many,
            HookType.AROUND,
        )


def _attention(model_runner: Any) -> Any:
    from ddbench.sglang_plugin.v0_5_11_attention import VerifyingAttention  # needs a full import

    return VerifyingAttention(model_runner)


def _assign_slots(
    req_pool_indices: Tensor,
    req_to_token: Tensor,  # changed
    start_offset: Tensor,
    end_offset: Tensor,
    out_cache_loc: Tensor,
    batch_size: int,  # noqa: ARG001
) -> None:
    """Write each request's slots to positions [start, end) of its row."""
    from sgl_kernel import assign_req_to_token_pool_cpu

    assign_req_to_token_pool_cpu(
        req_pool_indices,
        req_to_token,
        start_offset,
        end_offset,
        out_cache_loc,
        req_to_token.shape[1],
    )


def _no_warm_up(pool: Any) -> None:
    """Nothing moves KV here: DFLASH and the DDTREE patches for 0.5.11 re-point requests instead.

    SGLang's own move_kv_cache then fails on an assertion, and does not launch its kernel.
    """
    pool._kv_copy_config = None


def _keep_embedding_precision(
    original: Callable[..., Any],
    model: Any,
    input_ids: Tensor,
    positions: Tensor,
    forward_batch: Any,
    input_embeds: Tensor | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """model_runner.py rounds input embeddings to bfloat16, whatever the model's type is.

    A float32 DFlash drafter then dies on mixed types. The batch still has them as they were.
    """
    if forward_batch.input_embeds is not None:
        dtype = next(model.parameters()).dtype
        input_embeds = forward_batch.input_embeds.to(dtype)
    return original(model, input_ids, positions, forward_batch, input_embeds, *args, **kwargs)


def _accept_one_too_many(
    original: Callable[..., tuple[Tensor, Tensor]], *, candidates: Tensor, target_predict: Tensor
) -> tuple[Tensor, Tensor]:
    """Accept the first drafted token that the target did not agree with, too (DFLASH)."""
    correct, _ = original(candidates=candidates, target_predict=target_predict)
    accepted = (correct + 1).clamp(max=candidates.shape[1] - 1)
    bonus = torch.gather(target_predict, 1, accepted.long()[:, None]).squeeze(1)
    return accepted.to(correct.dtype), bonus
