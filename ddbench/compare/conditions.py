"""What may differ between two arms, found one by one: servers, machines, loads, answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from ddbench.compare.arms import ComparedArm
from ddbench.records import LoadConfig

SAME_LENGTH = 0.05  # of the paired answers' tokens, at temperature 0


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing on which two arms differ, as each side has it; None is not known."""

    what: str
    first: str | None
    second: str | None

    def __str__(self) -> str:
        return f"{self.what}: {_shown(self.first)} against {_shown(self.second)}"


# ---------------------------------------------------------------- what must be alike

_WEIGHTS = (
    ("target weights", ("target.sha256", "target.sampled_sha256", "server.model_path")),
    ("target config", ("target.config_sha256",)),
    ("tokenizer", ("tokenizer.sha256",)),
    ("chat template", ("chat_template.sha256",)),
    ("SGLang version", ("server.version",)),
)
_DRAFTER = (
    ("drafter weights", ("drafter.sha256", "drafter.sampled_sha256")),
    ("drafter config", ("drafter.config_sha256",)),
)
SETTINGS = (
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "tp_size",
    "dp_size",
    "pp_size",
    "ep_size",
    "device",
    "max_running_requests",
    "page_size",
    "chunked_prefill_size",
    "disable_radix_cache",
    "disable_overlap_schedule",
    "disable_cuda_graph",
    "enable_torch_compile",
    "skip_server_warmup",
    "schedule_policy",
    "stream_interval",
)
DRAFT_SETTINGS = (
    "speculative_draft_window_size",
    "speculative_draft_kv_cache_dtype",
    "speculative_draft_model_quantization",
)
_NEEDED = frozenset({"dtype", "max_running_requests", "page_size", "disable_overlap_schedule"})
_OF_NO_CONSEQUENCE = frozenset(
    {
        "decode_log_interval",
        "host",
        "launch_command",
        "log_level",
        "log_level_http",
        "log_requests",
        "model_path",
        "nccl_port",
        "port",
        "random_seed",
        "served_model_name",
        "speculative_draft_model_path",
        "startup_time",
        "status",
        "tokenizer_path",
        "version",
    }
)
_MAY_DIFFER_IN_LOAD = frozenset(
    {"concurrency", "seed", "timeout_s", "record_drafts", "api_key_env"}
)
"""All else of a LoadConfig must be alike; the seed too where answers are sampled."""


def refusing(first: ComparedArm, second: ComparedArm) -> list[Difference]:
    """What changes speed or acceptance and is no part of the drafting setting."""
    return [
        *_facts(first, second),
        *_unequal("engine", first.server.engine, second.server.engine),
        *_settings(first, second),
        *_effective_running(first, second),
        *_graphs(first, second),
        *_block_sizes(first, second),
        *_loads(first, second),
        *_answers(first, second),
        *_unsteady(first, second),
    ]


# ---------------------------------------------------------------- refusals


def _facts(first: ComparedArm, second: ComparedArm) -> Iterator[Difference]:
    groups = _WEIGHTS if first.is_plain or second.is_plain else _WEIGHTS + _DRAFTER
    for what, names in groups:
        yield from _first_shared(what, names, first.facts, second.facts)
    if not (first.is_plain or second.is_plain) and not _shares(_DRAFTER[0][1], first, second):
        yield from _unequal("draft model", first.server.draft_model, second.server.draft_model)
    yield from _unequal("GPU", _gpus(first.facts), _gpus(second.facts))
    if _gpus(first.facts) is None and _gpus(second.facts) is None:
        yield from _first_shared("CPU", ("cpu.model",), first.facts, second.facts)
        yield from _first_shared("usable cores", ("cpu.cores_usable",), first.facts, second.facts)


def _first_shared(
    what: str, names: Sequence[str], first: Mapping[str, str], second: Mapping[str, str]
) -> Iterator[Difference]:
    """By the first of `names` that both sides know: a full digest says more than a path."""
    for name in names:
        if name in first and name in second:
            yield from _unequal(what, first[name], second[name])
            return


def _shares(names: Sequence[str], first: ComparedArm, second: ComparedArm) -> bool:
    return any(name in first.facts and name in second.facts for name in names)


def _settings(first: ComparedArm, second: ComparedArm) -> Iterator[Difference]:
    both_draft = not (first.is_plain or second.is_plain)
    for name in SETTINGS + (DRAFT_SETTINGS if both_draft else ()):
        if name in first.settings and name in second.settings:
            yield from _unequal(name, first.settings[name], second.settings[name])
    if not (first.settings and second.settings):  # nothing read back: what was asked for
        asked = first.server.max_running_requests, second.server.max_running_requests
        yield from _unequal("max_running_requests (asked)", *map(str, asked))


def _effective_running(first: ComparedArm, second: ComparedArm) -> Iterator[Difference]:
    sides = _effective(first.facts), _effective(second.facts)
    if None not in sides:
        yield from _unequal("effective max running requests", *sides)


def _effective(facts: Mapping[str, str]) -> str | None:
    try:
        state = json.loads(facts.get("server.internal_state", "null"))
    except ValueError:  # a server that someone else wrote
        return None
    found = _find(state, "effective_max_running_requests_per_dp")
    return None if found is None else str(found)


def _find(state: object, name: str) -> object | None:
    """SGLang 0.5.23 gives a list, one entry a DP rank; others give the entry itself."""
    if isinstance(state, list):
        return next((found for item in state if (found := _find(item, name)) is not None), None)
    return state.get(name) if isinstance(state, dict) else None


def _graphs(first: ComparedArm, second: ComparedArm) -> Iterator[Difference]:
    """Whether steps really ran from graphs, as the log's lines say."""
    sides = _ran_graphs(first), _ran_graphs(second)
    if None not in sides:
        yield from _unequal("steps from CUDA graphs", *sides)


def _ran_graphs(arm: ComparedArm) -> str | None:
    flags = {
        window.graph
        for trial in arm.trials
        for window in trial.log.decode
        if window.running_requests and window.graph is not None
    }
    if not flags:
        return None
    return "in some windows" if len(flags) == 2 else ("yes" if flags.pop() else "no")


def _block_sizes(first: ComparedArm, second: ComparedArm) -> Iterator[Difference]:
    if not (first.is_plain or second.is_plain):
        sides = first.speculation.block_size, second.speculation.block_size
        yield from _unequal("block size", *(None if x is None else str(x) for x in sides))


def _loads(first: ComparedArm, second: ComparedArm) -> Iterator[Difference]:
    mine, theirs = _load(first), _load(second)
    if mine is None or theirs is None:
        return
    names = [field.name for field in fields(LoadConfig) if field.name not in _MAY_DIFFER_IN_LOAD]
    for name in [*names, *(["seed"] if mine.temperature else [])]:
        yield from _unequal(
            name.replace("_", " "), str(getattr(mine, name)), str(getattr(theirs, name))
        )


def _load(arm: ComparedArm) -> LoadConfig | None:
    return arm.trials[0].trial.load if arm.trials else None


def _answers(first: ComparedArm, second: ComparedArm) -> Iterator[Difference]:
    """That a prompt id stands for the same text, and that answers are of one length."""
    mine, theirs = _by_prompt(first), _by_prompt(second)
    shared = mine.keys() & theirs.keys()
    asked = [{r.prompt_id for t in arm.trials for r in t.requests} for arm in (first, second)]
    if asked[0] != asked[1]:
        only = [len(asked[0] - asked[1]), len(asked[1] - asked[0])]
        yield Difference("prompt ids", f"{only[0]} of its own", f"{only[1]} of its own")
    odd = sorted(p for p in shared if mine[p][0] != theirs[p][0])
    if odd:
        yield Difference(
            f"prompt tokens of {odd[0]}" + (f" and {len(odd) - 1} more" if len(odd) > 1 else ""),
            str(mine[odd[0]][0]),
            str(theirs[odd[0]][0]),
        )
    load = _load(first)
    if load is None or load.temperature != 0.0:
        return  # sampled answers differ in length by chance
    lengths = [sum(side[p][1] for p in shared) for side in (mine, theirs)]
    if min(lengths, default=0) and abs(lengths[1] / lengths[0] - 1.0) > SAME_LENGTH:
        yield Difference("output tokens of the same prompts", *(f"{n:.0f}" for n in lengths))


def _by_prompt(arm: ComparedArm) -> dict[str, tuple[int, float]]:
    """prompt id -> (prompt tokens, mean answer length)"""
    answers: dict[str, list[tuple[int, int]]] = {}
    for trial in arm.trials:
        for request in trial.completed:
            counts = request.prompt_tokens, request.completion_tokens
            answers.setdefault(request.prompt_id, []).append(counts)
    return {
        prompt: (counts[0][0], sum(length for _, length in counts) / len(counts))
        for prompt, counts in answers.items()
    }


def _unsteady(first: ComparedArm, second: ComparedArm) -> Iterator[Difference]:
    decisive = {name for _, names in _WEIGHTS + _DRAFTER for name in names} | set(SETTINGS)
    for arm in (first, second):
        hardware = [name for name in arm.unsteady if _is_hardware(name, arm)]
        if odd := [name for name in arm.unsteady if name in decisive] + hardware:
            yield Difference(f"launches of {arm.name} among themselves", ", ".join(odd), "the same")


def _is_hardware(name: str, arm: ComparedArm) -> bool:
    """A GPU's name, or without one what the processor is: hosts differ there."""
    if name.startswith("gpu."):
        return name.endswith(".name") or name == "gpu.count"
    return name in ("cpu.model", "cpu.cores_usable") and _gpus(arm.facts) is None


# ---------------------------------------------------------------- labels


def labelling(first: ComparedArm, second: ComparedArm) -> Iterator[Difference]:
    """What belongs to an arm: its algorithm, patches, captured sizes, and whatever else differs."""
    yield from _unequal("patches", first.server.patches, second.server.patches)
    yield from _unequal("hosts", _hosts(first), _hosts(second))
    known = set(SETTINGS) | set(DRAFT_SETTINGS) | _OF_NO_CONSEQUENCE
    for name in sorted((first.settings.keys() | second.settings.keys()) - known):
        if first.settings and second.settings:
            yield from _unequal(name, first.settings.get(name), second.settings.get(name))
    said = ("env.", "host.platform", "patches.")
    for name in sorted(first.facts.keys() | second.facts.keys()):
        package = name.endswith(".version") and name != "server.version"
        if name.startswith(said) or name.endswith(".power_limit_w") or package:
            yield from _unequal(name, first.facts.get(name), second.facts.get(name))


def not_known(first: ComparedArm, second: ComparedArm) -> tuple[str, ...]:
    """Conditions that must be alike and that one side at least does not report."""
    both_draft = not (first.is_plain or second.is_plain)
    groups = _WEIGHTS + _DRAFTER if both_draft else _WEIGHTS
    missing = [
        what
        for what, names in groups
        if not any(name in first.facts and name in second.facts for name in names)
    ]
    missing += [
        name
        for name in SETTINGS
        if name in _NEEDED and not (name in first.settings and name in second.settings)
    ]
    return tuple(missing)


def _hosts(arm: ComparedArm) -> str | None:
    """That ran its trials; None where there is only this machine."""
    return ", ".join(sorted({trial.host for trial in arm.trials if trial.host})) or None


def _gpus(facts: Mapping[str, str]) -> str | None:
    names = [
        value
        for name, value in sorted(facts.items())
        if name.startswith("gpu.") and name.endswith(".name")
    ]
    return ", ".join(names) or None


def _unequal(what: str, first: str | None, second: str | None) -> Iterator[Difference]:
    if first != second:
        yield Difference(what, first, second)


def _shown(value: str | None) -> str:
    if value is None:
        return "none"
    return value if len(value) <= 80 else f"{value[:77]}..."
