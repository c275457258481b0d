"""SGLang's own client over a closed loop, for bench_client.py. Run by an interpreter with SGLang.

    python sglang_bench_client.py PORT STREAMS REQUESTS OUT

The request function is the one of `python -m sglang.bench_serving --backend sglang`; its tokenizer,
data sets and tables are left out, so that only the streaming is measured.
"""

import argparse
import asyncio
import json
import sys
import time
from itertools import accumulate
from pathlib import Path

from sglang.benchmark import serving

serving.args = argparse.Namespace(
    temperature=0.0,
    top_p=1.0,
    disable_ignore_eos=False,
    disable_stream=False,
    return_logprob=False,
    return_routed_experts=False,
    logprob_start_len=-1,
    top_logprobs_num=0,
    token_ids_logprob=None,
    header=None,
)


async def run(port: int, streams: int, requests: int) -> dict[str, object]:
    before_s = time.process_time()
    numbers = iter(range(requests))
    times: dict[str, tuple[float, list[float]]] = {}

    async def work() -> None:
        for number in numbers:
            asked = serving.RequestFuncInput(
                prompt=str(number),
                api_url=f"http://127.0.0.1:{port}/generate",
                prompt_len=1,
                output_len=64,
                model="x",
                lora_name="",
                image_data=None,
                extra_request_body={},
            )
            output = await serving.async_request_sglang_generate(asked)
            assert output.success, output.error
            times[str(number)] = (output.ttft, list(accumulate(output.itl, initial=output.ttft)))

    await asyncio.gather(*(work() for _ in range(streams)))
    return {"cpu_s": time.process_time() - before_s, "times": times}


if __name__ == "__main__":
    *numbers, out = sys.argv[1:]
    Path(out).write_text(json.dumps(asyncio.run(run(*map(int, numbers)))))
