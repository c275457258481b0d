"""One JSON line a request-step: what was drafted, what the target chose, what was kept.

Node 0 is the root, the last token before the step; a linear draft is a tree without branches.

    rid, step            the request and its decode steps so far (0, 1, ...)
    prefix_len           cached tokens before the step, root not included
    root                 token id of node 0
    parents, tokens, depths, log_weights
                         one entry a node, node 0 included; log_weights under the drafter
    accepted             nodes of the accepted path, from the root on
    target               the target's choice after each node; null where it made none
    bonus                the target's choice after the last accepted node
    commit               token ids appended to the answer, after the cut
    finished             whether the answer ended in this step
"""

from collections.abc import Sequence
from pathlib import Path

import orjson

from ddbench.engine.planted.seams import Seams
from ddbench.engine.steps import StepOutcome
from ddbench.reference.tree import depths


class StepTrace:
    """Flushed after every batch, so that a reader sees whole steps."""

    def __init__(self, path: Path, seams: Seams | None = None) -> None:
        self._file = path.open("wb")
        self._seams = seams or Seams()

    def write(self, outcomes: Sequence[StepOutcome], committed: Sequence[int]) -> None:
        """committed: tokens appended, one number a request; called after they were."""
        for outcome, kept in zip(outcomes, committed, strict=True):
            generation, tree = outcome.generation, outcome.tree
            line = {
                "rid": generation.request.rid,
                "step": generation.steps - 1,
                "prefix_len": outcome.prefix_len,
                "root": int(tree.token_ids[0]),
                "parents": tree.parents.tolist(),
                "tokens": tree.token_ids.tolist(),
                "depths": depths(tree).tolist(),
                "log_weights": tree.log_weights.tolist(),
                "accepted": [0, *outcome.accepted],
                "target": outcome.target,
                "bonus": outcome.tokens[-1],
                "commit": outcome.tokens[:kept],
                "finished": generation.finish is not None,
            }
            line = self._seams.trace_line(line)
            self._file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        self._file.flush()

    def close(self) -> None:
        self._file.close()
