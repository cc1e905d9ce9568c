"""`moorage gates`: what the gates are set to, and `audit`: which objects depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from moorage.cli.options import all_option, context_option, live_kubeconfig_option

if TYPE_CHECKING:
    from moorage.cli.gate_values import Values
    from moorage.model.gates import Gate

_BREAKS, _UNREADABLE = 1, 2
_FORMS = ("text", "json")


@click.group("gates", invoke_without_command=True)
@live_kubeconfig_option
@context_option
@click.option(
    "--scrape",
    "endpoints",
    multiple=True,
    metavar="URL",
    help="Where another component serves its metrics, such as http://127.0.0.1:10251. Repeatable.",
)
@click.option("-o", "--output", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="Form.")
@click.pass_context
def command(ctx: click.Context, kubeconfig: str | None, context: str, endpoints: tuple[str, ...], form: str) -> None:
    """List the feature gates, and what each is set to in every component of a live cluster.

    Without --kubeconfig or --scrape the defaults are shown. `moorage gates audit` finds what depends on them.

    \b
    Try:
      moorage gates
      moorage gates --kubeconfig cluster.yaml --scrape http://127.0.0.1:10251
      moorage gates audit --kubeconfig cluster.yaml
    """
    if ctx.invoked_subcommand is not None:
        return
    from moorage.cli.gate_values import CannotScrape, as_document, default_values, live_values, render_table
    from moorage.cli.shared import say

    try:
        live = kubeconfig is not None or endpoints
        values: Values = live_values(kubeconfig, context, endpoints) if live else default_values()
    except CannotScrape as error:
        say(str(error))
        raise click.exceptions.Exit(_UNREADABLE) from None
    click.echo(as_document(values) if form == "json" else render_table(values), nl=False)


@command.command("audit")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@live_kubeconfig_option
@context_option
@click.option(
    "--gate",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this gate.  [default: all that objects can depend on]  Repeatable.",
)
@click.option("-o", "--output", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="Form.")
@all_option
def audit(
    paths: tuple[str, ...], kubeconfig: str | None, context: str, names: tuple[str, ...], form: str, everything: bool
) -> int:
    """Find every object that depends on a gate, and say what would happen without it.

    Reads manifests, or with --kubeconfig a live cluster. For each object: which fields need the gate, what each
    component would do if the gate were disabled now, and in which order to disable it.

    \b
    Exit code: 0 nothing would break, 1 something would, 2 wrong usage, or input that is unreadable or invalid.
    """
    import msgspec

    from moorage.cli.shared import live_input, piped_input, say
    from moorage.lint.sources import sources_of
    from moorage.model.gates import gates_from
    from moorage.model.kinds import KINDS
    from moorage.plan.gates.audit import audit as find
    from moorage.plan.gates.report import as_document, render_text
    from moorage.plan.input.live_cluster import load_live
    from moorage.plan.planner import Planner, Settings

    gates = _gates(names)
    planner = Planner(Settings(gates_from({"AllAlpha": True, "AllBeta": True})))
    if kubeconfig is not None:
        load_live(planner, live_input(kubeconfig, context))
    planner.load(
        sources_of(paths if paths or kubeconfig is not None else piped_input("audit")), announces_updates=False
    )
    inventory = planner.inventory
    for note in inventory.notes:
        say(str(note))
    if inventory.sources == 0:
        say(f"no *.yaml, *.yml or *.json files in {', '.join(paths)}")
    unknown = sorted(set(inventory.passed_over) - {kind for _, kind in KINDS})
    if unknown:
        say(f"objects of other kinds were not looked at: {', '.join(unknown)}")
    findings = find(inventory, gates)
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(as_document(findings, gates))).decode())
    else:
        click.echo(render_text(findings, gates, everything=everything), nl=False)
    if inventory.unreadable or inventory.rejected:
        return _UNREADABLE
    return _BREAKS if any(finding.breaks for finding in findings) else 0


def _gates(names: tuple[str, ...]) -> list[Gate]:
    from moorage.model.gates import GATES

    known = {gate.name: gate for gate in GATES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"{unknown[0]} is none of {', '.join(known)}", param_hint="'--gate'")
    return [known[name] for name in names] if names else list(GATES)
