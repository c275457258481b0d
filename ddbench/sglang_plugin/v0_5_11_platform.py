"""A platform for SGLang 0.5.11 that changes nothing.

There a platform cannot allow speculation on a CPU: the hooks do that (v0_5_11_hooks.py). This one
exists so that SGLANG_PLATFORM may be set as for 0.5.23.
"""

from sglang.srt.platforms.interface import SRTPlatform


class DdbenchCpuPlatform(SRTPlatform):
    device_name = "cpu"
