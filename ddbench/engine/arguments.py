"""The command line, in SGLang 0.5.23's own flag names, and what it resolves to.

A flag that this server cannot honour is either unknown (argparse's "unrecognized arguments", exit
code 2, as in SGLang) or takes only the value that is true here anyway, such as `--tp-size 1`.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ddbench.draft_records import DEFAULT_TOPK
from ddbench.engine.faults import PlantedFault, planted_fault

Algorithm = Literal["DFLASH", "DDTREE"]


@dataclass(frozen=True, slots=True)
class EngineArguments:
    """What was asked. None means: not given, taken from the weights or a default."""

    model_path: str
    host: str
    port: int
    served_model_name: str
    algorithm: Algorithm | None
    draft_model_path: str | None
    num_draft_tokens: int | None
    dflash_block_size: int | None
    ddtree_budget: int | None
    ddtree_topk: int | None
    max_running_requests: int | None
    max_total_tokens: int | None
    context_length: int | None
    chunked_prefill_size: int
    decode_log_interval: int
    random_seed: int
    enable_metrics: bool
    threads: int
    step_trace: Path | None
    record_drafts: Path | None
    record_drafts_topk: int
    fault: PlantedFault | None


def parse_arguments(argv: Sequence[str] | None = None) -> EngineArguments:
    """Exits with code 2 and argparse's message when a flag is unknown or a value is not allowed."""
    parser = _parser()
    given = parser.parse_args(argv)
    algorithm: Algorithm | None = given.speculative_algorithm
    if algorithm is None:
        for name in ("draft_model_path", "num_draft_tokens", "dflash_block_size"):
            if getattr(given, f"speculative_{name}") is not None:
                flag = f"--speculative-{name.replace('_', '-')}"
                parser.error(f"{flag} needs --speculative-algorithm")
    elif given.speculative_draft_model_path is None:
        parser.error(f"{algorithm} needs --speculative-draft-model-path")
    if algorithm != "DDTREE":
        for name in ("budget", "topk"):
            if getattr(given, f"speculative_ddtree_{name}") is not None:
                parser.error(f"--speculative-ddtree-{name} needs --speculative-algorithm DDTREE")
    if given.record_drafts is not None and algorithm != "DFLASH":
        parser.error("--record-drafts needs --speculative-algorithm DFLASH")
    return EngineArguments(
        model_path=given.model_path,
        host=given.host,
        port=given.port,
        served_model_name=given.served_model_name or given.model_path,
        algorithm=algorithm,
        draft_model_path=given.speculative_draft_model_path,
        num_draft_tokens=given.speculative_num_draft_tokens,
        dflash_block_size=given.speculative_dflash_block_size,
        ddtree_budget=given.speculative_ddtree_budget,
        ddtree_topk=given.speculative_ddtree_topk,
        max_running_requests=given.max_running_requests,
        max_total_tokens=given.max_total_tokens,
        context_length=given.context_length,
        chunked_prefill_size=given.chunked_prefill_size,
        decode_log_interval=given.decode_log_interval,
        random_seed=given.random_seed,
        enable_metrics=given.enable_metrics,
        threads=given.threads,
        step_trace=given.step_trace,
        record_drafts=given.record_drafts,
        record_drafts_topk=given.record_drafts_topk,
        fault=given.fault,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ddbench.engine",
        description="The embedded demo model behind SGLang's HTTP and log formats, on the CPU.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--model-path", "--model", required=True, help="`builtin`, or a Qwen3 checkpoint folder"
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=_port, default=30000, help="0: a free one, named in the log")
    parser.add_argument("--served-model-name")
    parser.add_argument("--speculative-algorithm", choices=("DFLASH", "DDTREE"))
    parser.add_argument(
        "--speculative-draft-model-path",
        "--speculative-draft-model",
        help="`builtin`, `builtin:undertrained`, or a DFlash drafter folder",
    )
    parser.add_argument(
        "--speculative-num-draft-tokens",
        type=_positive,
        help="verify width: the block size (DFLASH), budget + 1 (DDTREE)",
    )
    parser.add_argument("--speculative-dflash-block-size", type=_positive)
    parser.add_argument(
        "--speculative-ddtree-budget", type=_positive, help="tree nodes without the root"
    )
    parser.add_argument(
        "--speculative-ddtree-topk", type=_positive, help="candidates kept at each depth"
    )
    parser.add_argument("--max-running-requests", type=_positive)
    parser.add_argument("--max-total-tokens", type=_positive)
    parser.add_argument("--context-length", type=_positive)
    parser.add_argument("--chunked-prefill-size", type=_positive, default=256)
    parser.add_argument("--decode-log-interval", type=_positive, default=40)
    parser.add_argument("--random-seed", type=int, default=0)
    parser.add_argument("--enable-metrics", action="store_true", help="serve /metrics")
    parser.add_argument(
        "--threads", type=_positive, default=1, help="CPU threads of the model (not SGLang's)"
    )
    parser.add_argument(
        "--step-trace",
        type=Path,
        metavar="FILE",
        help="one JSON line a request-step (not SGLang's)",
    )
    parser.add_argument(
        "--record-drafts",
        type=Path,
        metavar="FILE",
        help="draft at every token, keep one a step, and write the drafts down (not SGLang's)",
    )
    parser.add_argument(
        "--record-drafts-topk",
        type=_positive,
        default=DEFAULT_TOPK,
        help="candidates recorded at each depth",
    )
    parser.add_argument("--fault", type=_fault, metavar="NAME[:DOSE]", help=argparse.SUPPRESS)
    _add_flags_with_one_value(parser)
    return parser


def _add_flags_with_one_value(parser: argparse.ArgumentParser) -> None:
    """SGLang flags that say what is always so here; any other value is refused."""
    always = parser.add_argument_group("accepted, with the only value there is")
    always.add_argument("--device", choices=("cpu",), default="cpu")
    always.add_argument("--dtype", choices=("float32", "auto"), default="float32")
    always.add_argument("--attention-backend", choices=("torch_native",))
    always.add_argument("--sampling-backend", choices=("pytorch",))
    always.add_argument("--tp-size", "--tensor-parallel-size", type=int, choices=(1,), default=1)
    always.add_argument("--dp-size", "--data-parallel-size", type=int, choices=(1,), default=1)
    always.add_argument("--page-size", type=int, choices=(1,), default=1)
    for flag in (
        "--disable-cuda-graph",
        "--disable-overlap-schedule",
        "--disable-radix-cache",
        "--skip-server-warmup",
    ):
        always.add_argument(flag, action="store_true")


def _fault(text: str) -> PlantedFault:
    try:
        return planted_fault(text)
    except ValueError as cause:
        raise argparse.ArgumentTypeError(str(cause)) from cause


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value


def _port(text: str) -> int:
    if not 0 <= (value := int(text)) < 65536:
        raise argparse.ArgumentTypeError(f"{value} is not a port")
    return value
