"""ddbench report markdown RUN"""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Findings and tables of a run.", no_args_is_help=True)


@app.command("markdown")
def markdown(run: Annotated[Path, typer.Argument(help="A run folder.")]) -> None:
    """Tables that render on GitHub, on stdout."""
    from ddbench.report.markdown import render_markdown
    from ddbench.runs.store import RunStore

    with RunStore.open(run) as store:
        typer.echo(render_markdown(store.name, store.launches(), list(store.results())), nl=False)
