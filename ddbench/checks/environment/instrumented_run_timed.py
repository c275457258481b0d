from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import SERVER_RECORD
from ddbench.checks.rule import rule

SWITCHES = (
    "debug_cuda_graph",
    "enable_layerwise_nvtx_marker",
    "enable_profile_cuda_graph",
    "enable_torch_compile_debug_mode",
    "enable_trace",
    "log_requests",
)
OUTPUTS = (
    "debug_tensor_dump_output_folder",
    "spec_trace_dir",
    "step_trace",
    "export_metrics_to_file_dir",
)
VARIABLES = ("CUDA_LAUNCH_BLOCKING", "SGLANG_TORCH_PROFILER_DIR", "TORCH_SHOW_CPP_STACKTRACES")
OFF = ("", "0", "None", "null", "False", "false")


@rule(
    "DDB307",
    "instrumented-run-timed",
    Severity.WARNING,
    remedy="Mark the trial as a probe (record_drafts: true), or measure again without the switch.",
    needs=(SERVER_RECORD,),
)
def instrumented_run_timed(evidence: Evidence) -> Iterator[Outcome]:
    """A tracing or profiling switch was on in a run whose times are used.

    ## Why it matters
    Instrumentation made steps three to five times as slow in one report, and not equally in both
    arms. What it records is fine; its times are not.

    ## How it is computed
    Resolved arguments that trace, dump, profile or log requests, and variables such as
    CUDA_LAUNCH_BLOCKING. Trials that are marked as probes (record_drafts) are exempt.

    ## Example
    Bad: CUDA_LAUNCH_BLOCKING=1 in a timed arm.
    Good: the same in a probe.
    """
    if evidence.load is not None and evidence.load.record_drafts:
        return
    on = [name for name in SWITCHES if evidence.settings.get(name) in ("True", "true", "1")]
    on += [name for name in OUTPUTS if evidence.settings.get(name, "") not in OFF]
    on += [name for name in VARIABLES if evidence.server_env.get(name, "") not in OFF]
    if on:
        yield f"timed with {', '.join(on)} switched on"
