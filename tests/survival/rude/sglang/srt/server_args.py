"""The flags that this server takes, where a sweep looks for SGLang's."""

import argparse

FLAGS = (
    "model-path", "host", "port", "max-running-requests", "speculative-algorithm",
    "speculative-draft-model-path", "speculative-dflash-block-size", "attention-backend",
    "device", "dtype", "max-total-tokens", "mem-fraction-static", "sampling-backend",
)  # fmt: skip
SWITCHES = (
    "enable-metrics",
    "disable-cuda-graph",
    "disable-overlap-schedule",
    "skip-server-warmup",
)


class ServerArgs:
    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser) -> None:
        for flag in FLAGS:
            parser.add_argument(f"--{flag}")
        for switch in SWITCHES:
            parser.add_argument(f"--{switch}", action="store_true")
