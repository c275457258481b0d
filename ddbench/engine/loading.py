"""From the command line to a scheduler with a model in it."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ddbench.draft_records import DraftRecorder
from ddbench.engine.arguments import EngineArguments
from ddbench.engine.autoregressive_step import AutoregressiveStep
from ddbench.engine.batch_log import BatchLog
from ddbench.engine.checkpoint import (
    chat_template,
    load_drafter,
    load_target,
    load_tokenizer,
    model_folder,
)
from ddbench.engine.commit import StopRules
from ddbench.engine.counters import RequestCounters
from ddbench.engine.drafter import Drafter
from ddbench.engine.kv_cache import KvCache
from ddbench.engine.linear_step import LinearStep
from ddbench.engine.planted.seams import Seams
from ddbench.engine.planted.table import planted
from ddbench.engine.prefill import Prefill
from ddbench.engine.recording_step import RecordingStep
from ddbench.engine.scheduler import Scheduler
from ddbench.engine.server_log import log
from ddbench.engine.settings import EngineSettings, resolve_settings
from ddbench.engine.step_trace import StepTrace
from ddbench.engine.steps import Step
from ddbench.engine.target import Target
from ddbench.engine.tokenizer import Tokenizer
from ddbench.engine.tree_step import TreeStep
from ddbench.errors import EngineError, ModelFilesError


@dataclass(frozen=True, slots=True)
class Engine:
    """A model that is ready to run, and what the HTTP side reads of it."""

    arguments: EngineArguments
    settings: EngineSettings
    target: Target
    tokenizer: Tokenizer
    scheduler: Scheduler
    batch_log: BatchLog
    counters: RequestCounters
    trace: StepTrace | None
    recorder: DraftRecorder | None
    seams: Seams


def load_engine(arguments: EngineArguments) -> Engine:
    """Raises DdbenchError when weights, settings or a file to write to cannot be used."""
    torch.set_num_threads(arguments.threads)
    seams = planted(arguments.fault)
    arguments = seams.arguments(arguments)
    folder = model_folder(arguments.model_path)
    target = load_target(folder)
    drafter = None
    if arguments.draft_model_path is not None:
        drafter = load_drafter(model_folder(arguments.draft_model_path, "drafter"), target)
    settings = resolve_settings(
        arguments, target.config, None if drafter is None else drafter.config
    )
    if drafter is not None:
        seams.loaded(drafter, settings)
    runs = settings if seams.drafts else replace(settings, draft=None)
    tokenizer = Tokenizer(load_tokenizer(folder), _chat_template(folder))
    if drafter is not None:
        _log_drafter(drafter, settings)

    for line in seams.start_up_lines():
        log(line)

    slots = settings.max_running_requests
    cache = target.new_cache(slots)
    draft_cache = None if drafter is None else drafter.new_cache(slots)
    trace = None if arguments.step_trace is None else _open_trace(arguments.step_trace, seams)
    recorder = _open_recording(arguments, settings, drafter)
    batch_log = BatchLog(
        settings.decode_log_interval,
        runs.draft,
        alter=seams.means,
        tokens_kept_by_flush=seams.tokens_kept_by_flush,
    )
    counters = RequestCounters()
    scheduler = Scheduler(
        runs,
        Prefill(target, cache, drafter, draft_cache, chunk_tokens=settings.chunked_prefill_size),
        _step(runs, target, cache, drafter, draft_cache, recorder, seams),
        StopRules(frozenset({target.config.eos_token_id}), tokenizer),
        batch_log,
        counters,
        trace,
        seams,
    )
    return Engine(
        arguments=arguments,
        settings=settings,
        target=target,
        tokenizer=tokenizer,
        scheduler=scheduler,
        batch_log=batch_log,
        counters=counters,
        trace=trace,
        recorder=recorder,
        seams=seams,
    )


def _chat_template(folder: Path) -> str | None:
    """None is no failure: the other routes need no template, and chat says that there is none."""
    try:
        return chat_template(folder)
    except ModelFilesError as missing:
        log(f"No chat template: {missing}")
        return None


def _step(
    settings: EngineSettings,
    target: Target,
    cache: KvCache,
    drafter: Drafter | None,
    draft_cache: KvCache | None,
    recorder: DraftRecorder | None,
    seams: Seams,
) -> Step:
    draft = settings.draft
    if draft is None or drafter is None or draft_cache is None:
        return AutoregressiveStep(target, cache)
    if recorder is not None:
        return RecordingStep(target, drafter, cache, draft_cache, recorder, seams)
    if draft.budget is None or draft.topk is None:
        return LinearStep(target, drafter, cache, draft_cache, seams)
    return TreeStep(
        target,
        drafter,
        cache,
        draft_cache,
        budget=draft.budget,
        topk=draft.topk,
        seams=seams,
    )


def _open_trace(path: Path, seams: Seams) -> StepTrace:
    try:
        return StepTrace(path, seams)
    except OSError as cause:
        raise EngineError(
            f"the step trace cannot be written: {cause}",
            remedy="Give --step-trace a file in a folder that exists and can be written.",
        ) from cause


def _open_recording(
    arguments: EngineArguments, settings: EngineSettings, drafter: Drafter | None
) -> DraftRecorder | None:
    if arguments.record_drafts is None or drafter is None or settings.draft is None:
        return None
    topk = min(arguments.record_drafts_topk, drafter.config.vocab_size)
    try:
        return DraftRecorder(
            arguments.record_drafts, depth=settings.draft.block_size - 1, topk=topk
        )
    except OSError as cause:
        raise EngineError(
            f"the drafts cannot be recorded: {cause}",
            remedy="Give --record-drafts a file that does not exist yet, in a folder that does.",
        ) from cause


def _log_drafter(drafter: Drafter, settings: EngineSettings) -> None:
    draft = settings.draft
    assert draft is not None
    log(
        "Initialized DFLASH draft runner. attention_backend=torch_native, model=DFlashDraftModel, "
        f"block_size={drafter.config.block_size}, draft_window_size=None, compact_cache=False"
    )
    if draft.budget is not None:
        log(
            f"Initialized DDTree worker. block_size={draft.block_size}, "
            f"tree_budget={draft.budget}, max_tree_nodes={draft.verify_width}"
        )
    mask = drafter.config.mask_token_id
    log(f"DFLASH draft runner ready. mask_token_id={mask}")
