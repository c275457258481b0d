"""Whole logs: several servers, several starts, compressed, wrapped, broken."""

import gzip
import io
import subprocess
import sys
import tracemalloc

import pytest
import zstandard

from ddbench.errors import LogFormatError
from ddbench.logs.excerpt import read_excerpt
from ddbench.logs.line_records import UnreadableLine, line_records
from ddbench.logs.stream import BLOCK_BYTES, MAX_LINE_BYTES, read_log, read_stream
from ddbench.logs.vllm_line import VllmLoadWindow, VllmSpecWindow
from ddbench.records import DecodeWindow, PrefillWindow, StartupFact


def window(running, ranks="", prefix=""):
    return (
        f"{prefix}[2026-07-23 05:31:43{ranks}] Decode batch, #running-req: {running}, #token: 7, "
        "token usage: 0.00, accept len: 3.41, accept rate: 0.34, cuda graph: True, "
        "gen throughput (token/s): 812.55, #queue-req: 0\n"
    )


def start(prefix=""):
    return "".join(
        f"{prefix}[2026-07-23 05:31:40] {message}\n"
        for message in (
            "server_args=ServerArgs(model_path='m', speculative_num_draft_tokens=8)",
            "KV Cache is allocated. dtype: torch.float32, #tokens: 8192, K size: 0.01 GB",
            "max_total_num_tokens=8192, max_running_requests=48",
        )
    )


def ready(prefix=""):
    return f"{prefix}[2026-07-23 05:31:42] The server is fired up and ready to roll!\n"


def read(text):
    data = text if isinstance(text, bytes) else text.encode()
    return list(read_stream(io.BufferedReader(io.BytesIO(data)), "server.log"))


def running(records):
    return [r.record.running_requests for r in records if isinstance(r.record, DecodeWindow)]


@pytest.mark.parametrize(
    "name",
    [
        "sglang-0.5.11-dflash",
        "sglang-0.5.23-dflash",
        "sglang-0.5.23-autoregressive",
        "sglang-0.5.23-ddtree-prototype",
    ],
)
def test_says_what_an_excerpt_of_the_whole_log_says(captured, name):
    records = [logged.record for logged in read_log(captured(name))]

    excerpt = read_excerpt(captured(name), 0, None)
    assert [r for r in records if isinstance(r, DecodeWindow)] == list(excerpt.decode)
    assert [r for r in records if isinstance(r, PrefillWindow)] == list(excerpt.prefill)
    assert [r for r in records if isinstance(r, StartupFact)] == list(excerpt.startup)


def test_every_record_knows_its_line(captured):
    path = captured("sglang-0.5.23-dflash")
    lines = path.read_bytes().decode().split("\n")

    for logged in read_log(path):
        line = lines[logged.line_number - 1]
        if isinstance(logged.record, DecodeWindow):
            assert f"#token: {logged.record.kv_tokens}, " in line
        if isinstance(logged.record, StartupFact) and logged.record.name != "server_args":
            assert logged.record.value in line


def test_lines_across_block_borders_are_read_once():
    count = 5 * BLOCK_BYTES // len(window(1000))
    log = "".join(window(1000 + i) + f"other line {i}\n" for i in range(count))

    records = read(log)

    assert running(records) == list(range(1000, 1000 + count))
    assert [logged.line_number for logged in records] == list(range(1, 2 * count, 2))


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_compressed_log_is_read_like_a_plain_one(captured, tmp_path, compress):
    plain = captured("sglang-0.5.23-dflash")
    path = tmp_path / "renamed.txt"  # known by its first bytes, not by its name
    half = len(plain.read_bytes()) // 2
    path.write_bytes(compress(plain.read_bytes()[:half]) + compress(plain.read_bytes()[half:]))

    assert list(read_log(path)) == list(read_log(plain))


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("kept", [0.2, 0.7, 0.99])
def test_a_cut_off_file_gives_what_it_has_and_then_says_so(tmp_path, compress, kept):
    log = "".join(window(i) + f"{hash(str(i))}\n" for i in range(5000))
    data = compress(log.encode())
    path = tmp_path / "server.log.gz"
    path.write_bytes(data[: int(len(data) * kept)])
    records = []

    with pytest.raises(LogFormatError, match="cut off"):
        for logged in read_log(path):
            records.append(logged)

    assert 0 < len(records) < 5000
    assert running(records) == list(range(len(records)))


def test_a_damaged_gzip_is_an_error(tmp_path):
    data = bytearray(gzip.compress("".join(map(window, range(5000))).encode()))
    data[200:260] = b"\0" * 60
    path = tmp_path / "server.log.gz"
    path.write_bytes(data)

    with pytest.raises(LogFormatError, match="damaged"):
        list(read_log(path))


def test_reads_standard_input(captured):
    path = captured("sglang-0.5.23-dflash")
    code = "from ddbench.logs.stream import read_log; print(sum(1 for _ in read_log(None)))"

    with path.open("rb") as log:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=log, capture_output=True, check=True
        )

    assert int(done.stdout) == len(list(read_log(path)))


def test_containers_in_one_file_are_kept_apart():
    log = start("a  | ") + start("b  | ") + ready("b  | ") + window(1, prefix="b  | ")
    log += ready("a  | ") + window(2, prefix="a  | ") + window(3, prefix="b  | ")

    records = read(log)

    assert {logged.source for logged in records} == {"a", "b"}
    assert {logged.boot for logged in records} == {0}
    assert running([r for r in records if r.source == "a"]) == [2]
    assert running([r for r in records if r.source == "b"]) == [1, 3]


@pytest.mark.parametrize(
    ("prefix", "source"),
    [
        ("", ""),
        ("server-1  | ", "server-1"),
        ("(Engine pid=417) ", "Engine pid=417"),
        ("\x1b[36m(Engine pid=417)\x1b[0m ", "Engine pid=417"),
        ("[2026-07-23T05:31:44+08:00] pod-7 >> (run 5) ", "pod-7"),
        ("GPU=0 Worker 0 (model_1) ", "model_1"),
        ("2026-07-23T05:31:43.5Z pod-8 INFO ", "pod-8"),
        ("2026-07-23T05:31:43.5Z stderr F ", ""),
        ("Output throughput: 1161.636 token/s | ", ""),
    ],
)
def test_the_source_is_what_the_prefix_names(prefix, source):
    (logged,) = read(window(5, prefix=prefix))

    assert logged.source == source
    assert running([logged]) == [5]


def test_starts_are_counted():
    log = start() + ready() + window(1) + start() + ready() + window(2) + window(3)

    records = read(log)

    assert [r.boot for r in records if isinstance(r.record, DecodeWindow)] == [0, 1, 1]


def test_what_is_said_before_server_args_belongs_to_the_same_start():
    early = "[2026-07-23 05:31:39] Max running requests is reset to 48 for speculative decoding.\n"
    log = early + start() + ready() + window(1) + early + start() + ready() + window(2)

    resets = [r.boot for r in read(log) if isinstance(r.record, StartupFact)]

    assert resets == [0] * 5 + [1] * 5


def test_a_start_that_failed_is_a_start():
    log = start() + start() + ready() + window(1)

    assert [r.boot for r in read(log) if isinstance(r.record, DecodeWindow)] == [1]


def test_a_log_without_its_beginning_begins_with_start_0():
    log = window(1) + start() + ready() + window(2)

    assert [r.boot for r in read(log) if isinstance(r.record, DecodeWindow)] == [0, 1]


@pytest.mark.parametrize(
    "log",
    [
        start() + start() + ready() + ready() + window(1),  # side by side
        start() + ready() + window(1) + start().replace("\n", "\n" + window(2), 1) + ready(),
    ],
)
def test_servers_that_nothing_tells_apart_are_refused(log):
    with pytest.raises(LogFormatError, match="several servers") as caught:
        read(log)

    assert "server.log" in str(caught.value)


def test_one_server_may_say_twice_that_it_is_ready():
    log = start() + ready() + ready() + window(1)  # several tokenizer workers

    assert {r.boot for r in read(log)} == {0}


def test_ranks_of_one_server_stay_on_its_windows():
    log = window(1, " DP0 TP0") + window(2, " DP1 TP0") + window(3, " TP0 DP0")

    ranks = [r.record.ranks for r in read(log) if isinstance(r.record, DecodeWindow)]

    assert ranks == ["DP0 TP0", "DP1 TP0", "DP0 TP0"]


@pytest.mark.parametrize("pieces", [2, 3])
def test_a_wrapped_line_is_put_together(pieces):
    fields = window(7).strip().split(", ")
    size = -(-len(fields) // pieces)
    parts = [", ".join(fields[i : i + size]) for i in range(0, len(fields), size)]
    log = "first\n" + ",\n    ".join(parts) + "\n" + window(8)

    records = read(log)

    (whole,) = read(window(7))
    assert records[0].record == whole.record
    assert running(records) == [7, 8]
    assert records[0].line_number == 2


def test_a_wrapped_line_across_a_block_border_is_put_together():
    first, _, rest = window(7).partition(", accept rate")
    wrapped = f"{first}\naccept rate{rest}"

    for shift in range(len(wrapped)):
        log = "x" * (BLOCK_BYTES - shift - 2) + "\n" + wrapped + window(8)
        records = read(log)

        assert running(records) == [7, 8]
        assert [r.record.accept_rate_logged for r in records] == [0.34, 0.34]


def test_a_window_inside_a_wrapped_line_at_a_block_border_is_read_once():
    first, _, rest = window(7, " DP0").partition(", accept rate")
    middle, _, last = f"accept rate{rest}".partition(", cuda")
    wrapped = f"{first}\n{window(8, ' DP1')}{middle}\ncuda{last}"

    for shift in range(0, len(wrapped), 3):
        records = read("x" * (BLOCK_BYTES - shift - 2) + "\n" + wrapped + window(9))

        assert running(records) == [7, 8, 9]


@pytest.mark.parametrize(
    "change",
    [
        ("accept len: 3.41, accept rate: 0.34", "accept len: 0.00, accept rate: 0.00"),
        ("accept len: 3.41, accept rate: 0.34", "accept len: 3, accept rate: 0"),
        ("accept len: 3.41, accept rate: 0.34, ", ""),
        ("accept rate: 0.34, ", ""),
        (
            "accept rate: 0.34",
            "accept rate: 0.34, accepted depth: 0.00, commit len: 1.00, tree nodes: 0.00",
        ),
        ("graph: True", "graph: False"),
        ("cuda graph: True, ", ""),
        ("cuda graph", "npu graph"),
        ("#token: 7, token", "#full token: 7, full token"),
        ("usage: 0.00", "usage: 0.00, mamba num: 3, mamba usage: 0.30"),
        ("812.55", "812"),
        ("812.55", "8.1.2"),
        ("2026-07-23", "2026-07-32"),
        ("05:31:43", "05:31:43.120"),
        ("05:31:43", "05:31:43 TP1 DP0"),
        ("batch,", "batch [12],"),
        ("batch,", "batch."),
        ("#queue-req: 0", "#queue-req: 0, "),
        ("#queue-req: 0", "#queue-req: 0\r"),
        ("[2026", "\x1b[36m(Engine pid=4)\x1b[0m [2026"),
        ("[2026", "\x1b]0;title\x07[2026"),
        ("[2026", "obj= [2026"),
        ("[2026", "progress\r[2026"),
    ],
)
def test_the_shortcut_for_common_lines_gives_what_the_parser_gives(change):
    line = window(7).replace(*change)

    assert [logged.record for logged in read(line)] == list(line_records(line))


def test_the_line_after_a_short_record_is_not_dragged_in():
    log = "[2026-07-23 05:31:43] Decode batch, #running-req: 4, #token: 7\n" + window(8) + window(9)

    records = read(log)

    assert running(records) == [4, 8, 9]
    assert records[0].record.accept_len_logged is None


def test_two_records_on_one_line_are_both_read():
    log = window(1, " DP0").strip() + window(2, " DP1")

    assert running(read(log)) == [1, 2]


def test_a_line_that_cannot_be_read_is_a_record_of_its_own():
    log = window(1) + window(2).replace("3.41", "fast") + window(3)

    records = read(log)

    assert running(records) == [1, 3]
    assert isinstance(records[1].record, UnreadableLine)
    assert "fast" in records[1].record.why
    assert records[1].line_number == 2


def test_vllm_lines_are_read_too():
    log = (
        "(EngineCore_0 pid=9) INFO 03-04 12:00:00 Engine 000: Avg prompt throughput: 1.0 tokens/s, "
        "Avg generation throughput: 9.5 tokens/s, Running: 3 reqs, Waiting: 0 reqs\n"
        "(EngineCore_0 pid=9) INFO 03-04 12:00:00 SpecDecoding metrics: Mean acceptance length: "
        "2.13, Accepted: 113 tokens, Drafted: 300 tokens\n"
    )

    load, spec = read(log)

    assert isinstance(load.record, VllmLoadWindow)
    assert isinstance(spec.record, VllmSpecWindow)
    assert load.source == spec.source == "EngineCore_0 pid=9"


def test_nul_bytes_and_utf16_do_not_hide_a_line():
    log = b"\0\0\0" + window(1).encode() + window(2).encode("utf-16-le")

    assert running(read(log)) == [1, 2]


def test_a_last_line_without_an_end_is_read():
    assert running(read(window(1) + window(2).rstrip())) == [1, 2]


def test_a_huge_line_takes_bounded_memory():
    huge = 100_000_000

    class Endless(io.RawIOBase):
        """One line of 100 MB, then two windows."""

        def __init__(self):
            self.left = huge
            self.rest = ("\n" + window(1) + window(2)).encode()

        def readable(self):
            return True

        def readinto(self, buffer):
            size = min(len(buffer), self.left or len(self.rest))
            if self.left:
                buffer[:size] = b"a Decode batch, " * (size // 16) + b"x" * (size % 16)
                self.left -= size
            else:
                buffer[:size], self.rest = self.rest[:size], self.rest[size:]
            return size

    tracemalloc.start()
    records = list(read_stream(io.BufferedReader(Endless(), BLOCK_BYTES), "huge.log"))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert running(records) == [1, 2]
    assert peak_bytes < 8 * MAX_LINE_BYTES


def test_memory_does_not_grow_with_the_log():
    def peak_bytes(lines):
        data = io.BufferedReader(io.BytesIO("".join(map(window, range(lines))).encode()))
        tracemalloc.start()
        count = sum(1 for _ in read_stream(data, "long.log"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert count == lines
        return peak

    assert peak_bytes(6_000) < 1.5 * peak_bytes(1_500)


def test_an_empty_file_is_an_error(tmp_path):
    path = tmp_path / "empty.log"
    path.touch()

    with pytest.raises(LogFormatError, match="holds nothing"):
        list(read_log(path))


def test_a_directory_and_a_missing_file_are_errors(tmp_path):
    with pytest.raises(LogFormatError, match="directory"):
        list(read_log(tmp_path))
    with pytest.raises(LogFormatError, match="No such file"):
        list(read_log(tmp_path / "gone.log"))


def test_garbage_holds_no_records():
    data = bytes(range(256)) * 5000

    assert read(data) == []


def test_more_servers_than_can_be_kept_apart_are_refused():
    log = "".join(window(1, prefix=f"server-{i} | ") for i in range(1025))

    with pytest.raises(LogFormatError, match="1024"):
        read(log)
