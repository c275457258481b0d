"""ddbench explain CODE|all: what a rule means, how it is computed, what to do."""

from typing import Annotated

import typer

from ddbench.errors import DdbenchError


class UnknownRule(DdbenchError):
    pass


def explain(
    code: Annotated[str, typer.Argument(help="A code such as DDB102, a rule's name, or all.")],
) -> None:
    """Explain a rule of `ddbench check`."""
    from ddbench.checks.table import ALL_RULES

    wanted = code.lower()
    rules = [r for r in ALL_RULES if wanted in ("all", r.code.lower(), r.name)]
    if not rules:
        known = ", ".join(r.code for r in ALL_RULES if r.code.lower().startswith(wanted[:4]))
        raise UnknownRule(
            f"there is no rule {code}",
            remedy=f"Choose one of {known}." if known else "Run `ddbench explain all`.",
        )
    for number, rule in enumerate(rules):
        if number:
            typer.echo("\n" + "-" * 72 + "\n")
        typer.echo(f"{rule.code} {rule.name} ({rule.severity})\n")
        typer.echo(rule.explanation)
        typer.echo(f"\n## What to do\n{rule.remedy}")
        if rule.needs:
            typer.echo(f"\n## What it needs\n{', '.join(need.what for need in rule.needs)}")
