"""`python -m ddbench.engine`: 0 stopped, 1 failed while running, 2 could not start."""

import sys

from ddbench.engine.serve import serve
from ddbench.errors import DdbenchError

if __name__ == "__main__":
    try:
        sys.exit(serve())
    except DdbenchError as error:
        print(f"error: {error}\n  try: {error.remedy}", file=sys.stderr, flush=True)
        sys.exit(2)
