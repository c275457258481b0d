"""The servers of a conformance run: each drafting setting that a build must get right."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ddbench.errors import ServerError
from ddbench.records import Flags, ServerConfig, Speculation

BLOCK_SIZE = 8  # of the shipped drafter
CONCURRENCIES = (1, 8)

AUTOREGRESSIVE = Speculation()
LINEAR = Speculation("DFLASH", BLOCK_SIZE)
CHAIN = Speculation("DDTREE", BLOCK_SIZE, budget=7, topk=1)
TREES = (
    Speculation("DDTREE", BLOCK_SIZE, budget=3, topk=2),  # narrower than the block
    CHAIN,
    Speculation("DDTREE", BLOCK_SIZE, budget=31, topk=4),  # much wider
)
_TP_SIZES = (2, 4)  # the shipped target has four attention heads

EXACT_ON_A_GPU: Flags = (("attention-backend", "triton"), ("dtype", "float32"))
EXACT_ENV_ON_A_GPU = {"TRITON_F32_DEFAULT": "ieee", "NVIDIA_TF32_OVERRIDE": "0"}
"""Otherwise float32 is rounded to 10 bits in matrix products, which hides a dropped mask."""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    speculation: Speculation
    flags: Flags = ()

    def config(
        self, python: str | None, *, patches: str | None = None, flags: Flags = ()
    ) -> ServerConfig:
        """python None: ddbench's own engine. No prefix cache: both sides compute every prompt."""
        own = (("disable-radix-cache", True), *self.flags, *flags) if python else ()
        if self.speculation.algorithm == "DDTREE" and python:
            own = (("decode-log-interval", 1), *own)
        return ServerConfig(
            engine="sglang" if python else "embedded",
            model="builtin",
            draft_model="builtin" if self.speculation.algorithm else None,
            speculation=self.speculation,
            max_running_requests=max(CONCURRENCIES),
            flags=tuple(sorted(dict(own).items())),
            python=python,
            patches=patches if python else None,
            ready_timeout_s=600.0,
        )


def cases(*, trees: bool, gpus: int = 0) -> list[Case]:
    """In the order in which they are started: each is held against those before it.

    gpus: with any, also without CUDA graphs, and on several of them.
    """
    settings = [AUTOREGRESSIVE, LINEAR, *(TREES if trees else ())]
    found = [Case(_name(setting), setting) for setting in settings]
    if gpus:
        found += [_variant(case, "eager", "disable-cuda-graph", True) for case in found]
        widest = Case(_name(settings[-1]), settings[-1])
        found += [
            _variant(widest, f"tp{size}", "tp-size", size) for size in _TP_SIZES if size <= gpus
        ]
    return found


def only(found: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """Raises ServerError for a name that is none."""
    known = {case.name: case for case in found}
    if unknown := [name for name in names if name not in known]:
        raise ServerError(
            f"no case {unknown[0]!r} in this run", remedy=f"Choose among {', '.join(known)}."
        )
    return [case for case in found if case.name in names]


def _variant(case: Case, suffix: str, flag: str, value: bool | int) -> Case:
    return replace(case, name=f"{case.name}-{suffix}", flags=(*case.flags, (flag, value)))


def _name(setting: Speculation) -> str:
    if setting.algorithm is None:
        return "autoregressive"
    if setting.budget is None:
        return f"linear-{setting.block_size}"
    return f"tree-{setting.block_size}-{setting.budget}-{setting.topk}"
