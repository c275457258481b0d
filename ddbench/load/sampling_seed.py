"""Which random numbers a prompt draws from, at a temperature."""

import zlib

from ddbench.records import LoadConfig, Prompt


def sampling_seed(prompt: Prompt, load: LoadConfig) -> int:
    """Its own for every prompt, and the same one in every arm and at every concurrency."""
    return (zlib.crc32(prompt.prompt_id.encode()) + load.seed) % 2**31
