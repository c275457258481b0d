"""ddbench serve SWEEP --arm NAME [--print-unit]"""

from pathlib import Path
from typing import Annotated

import typer

USUAL_PORT = 30000  # SGLang's own; a unit that is started again must find its clients


def serve(
    sweep_file: Annotated[Path, typer.Argument(metavar="SWEEP.yaml", help="A sweep file.")],
    arm: Annotated[
        str | None, typer.Option(help="Which arm's server; without it, list them.")
    ] = None,
    print_unit: Annotated[
        bool, typer.Option("--print-unit", help="Print a systemd unit of it instead.")
    ] = False,
) -> None:
    """Run one server of a sweep in the foreground, its command line printed first."""
    import os
    import shlex

    from ddbench.errors import PlanError
    from ddbench.patching.launch import with_patches
    from ddbench.plan.argv import server_command
    from ddbench.plan.read import read_sweep
    from ddbench.server.ports import free_port, require_free

    plan = read_sweep(sweep_file)
    names = [each.name for each in plan.arms]
    if arm is None:
        typer.echo("\n".join(names))
        return
    if arm not in names:
        raise PlanError(
            f"{sweep_file} has no arm {arm!r}", remedy=f"Choose one of {', '.join(names)}."
        )
    server = plan.servers[names.index(arm)]
    if server.engine == "attach":
        raise PlanError(
            f"the server of arm {arm!r} is run by someone else ({server.base_url})",
            remedy="Use `serve` with an arm whose engine is embedded or sglang.",
        )
    if print_unit:
        from ddbench.server.systemd.unit_file import unit_file

        description = f"{server.engine} server, arm {arm} of {sweep_file.name}"
        options = dict(server.launcher_options)
        command = with_patches(server_command(server, port=server.port or USUAL_PORT), server)
        typer.echo(unit_file(command, options, description=description), nl=False)
        return
    if server.port is not None:
        require_free(server.host, server.port)
    command = server_command(server, port=server.port or free_port(server.host))
    command = with_patches(command, server)
    settings = [f"{name}={value}" for name, value in command.env.items()]
    typer.echo(shlex.join([*(["env", *settings] if settings else []), *command.argv]))
    os.execvpe(command.argv[0], list(command.argv), {**os.environ, **command.env})
