"""`python -m ddbench.engine`: 0 stopped, 1 failed while running, 2 could not start."""

import sys

from ddbench.engine.arguments import EngineArguments, parse_arguments
from ddbench.errors import DdbenchError


def main(arguments: EngineArguments) -> int:
    from ddbench.engine.serve import serve  # torch: not before the command line has been read

    return serve(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main(parse_arguments()))
    except DdbenchError as error:
        print(f"error: {error}\n  try: {error.remedy}", file=sys.stderr, flush=True)
        sys.exit(2)
