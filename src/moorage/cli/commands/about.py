"""Print the help of a command (`moorage help`), and versions (`moorage version`)."""

from __future__ import annotations

import click

from moorage import __version__


@click.command("help")
@click.argument("names", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def show_help(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Print the help of moorage, or of a command: `moorage help plan`, `moorage help gates audit`."""
    context = ctx.find_root()
    for name in names:
        group = context.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"`{context.command_path}` has no commands of its own, so there is no {name!r}.")
        try:
            _, command, _ = group.resolve_command(context, [name])
        except click.UsageError as error:
            error.ctx = context
            raise
        assert command is not None
        context = command.context_class(command, info_name=name, parent=context, **command.context_settings)
    click.echo(context.get_help())


@click.command("version")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
def show_version(form: str) -> None:
    """Print the version, the Kubernetes version whose behaviour it has, and what it runs on."""
    import json
    import platform

    from moorage.model.kubernetes_version import KUBERNETES_VERSION

    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}"
    if form == "json":
        document = {
            "moorage": __version__,
            "kubernetes": KUBERNETES_VERSION,
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
            "platform": system,
        }
        click.echo(json.dumps(document, indent=2))
        return
    click.echo(f"moorage     {__version__}")
    click.echo(f"Kubernetes  {KUBERNETES_VERSION} (API, scheduler and controllers behave as this version's)")
    click.echo(f"Python      {python}, {system}")
