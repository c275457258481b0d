"""How long reading a log takes, against one compiled regex that captures every field.

    python tests/benchmarks/bench_log_parser.py [MEGABYTES]

The regex knows one form of line and no other, no prefix, no other kind of line; its fields are
read as text and stay text. Exit code 1 when reading takes more than 5 times as long. The first
column, in which nothing looks at what the regex found, is for comparison.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ddbench.logs.stream import read_log
from ddbench.records import DecodeWindow

LIMIT = 5.0
FULL_FIELDS = re.compile(
    r"\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?P<ranks>(?: [A-Z_]+\d+)*)\] Decode batch, "
    r"#running-req: (?P<running>\d+), #token: (?P<tokens>\d+), token usage: (?P<usage>[\d.]+), "
    r"accept len: (?P<length>[\d.]+), accept rate: (?P<rate>[\d.]+), "
    r"cuda graph: (?P<graph>True|False), gen throughput \(token/s\): (?P<throughput>[\d.]+), "
    r"#queue-req: (?P<queued>\d+)"
)
KINDS = {
    "decode lines only": 1.0,
    "one decode line in four, rest access log": 0.25,
    "one decode line in a hundred": 0.01,
}


def lines(decode_share: float, count: int) -> Iterator[str]:
    decoded = 0.0
    for i in range(count):
        stamp = f"[2026-07-23 {i // 36000 % 24:02}:{i // 600 % 60:02}:{i // 10 % 60:02} TP0] "
        decoded += decode_share
        if decoded >= 1:
            decoded -= 1
            yield (
                f"{stamp}Decode batch, #running-req: {i % 64}, #token: {i % 90000}, "
                f"token usage: 0.{i % 100:02}, accept len: {2 + i % 500 / 100:.2f}, "
                f"accept rate: 0.{i % 100:02}, cuda graph: True, "
                f"gen throughput (token/s): {i % 99999 / 7:.2f}, #queue-req: {i % 3}\n"
            )
        else:
            yield f'{stamp}INFO:     127.0.0.1:{i % 65536} - "POST /generate HTTP/1.1" 200 OK\n'


def best_cpu_s(*works: Callable[[], object], rounds: int = 5) -> list[float]:
    """CPU seconds of each in its best round; they alternate, so that all meet the same noise."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for i, work in enumerate(works):
            begin = time.process_time()
            work()
            best[i] = min(best[i], time.process_time() - begin)
    return best


def main() -> int:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    worst = 0.0
    for kind, decode_share in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "server.log")
            path.write_text("".join(lines(decode_share, int(megabytes * 7000))))
            expected = sum(1 for _ in FULL_FIELDS.finditer(path.read_text()))
            found = sum(isinstance(r.record, DecodeWindow) for r in read_log(path))
            assert found == expected > 0

            found_s, regex_s, ours_s = best_cpu_s(
                lambda p=path: sum(1 for _ in FULL_FIELDS.finditer(p.read_text())),
                lambda p=path: sum(len(m.groups()) for m in FULL_FIELDS.finditer(p.read_text())),
                lambda p=path: sum(1 for _ in read_log(p)),
            )
            size = path.stat().st_size / 1e6
        print(
            f"{kind:42} {size:6.1f} MB  found {found_s:6.3f} s  regex {regex_s:6.3f} s"
            f"  ours {ours_s:6.3f} s  {ours_s / regex_s:5.2f}x  {size / ours_s:7.1f} MB/s"
        )
        worst = max(worst, ours_s / regex_s)
    print(f"worst ratio {worst:.2f}, limit {LIMIT}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
