"""Print what the feature gates are set to (`moorage gates`), and which objects depend on them (`gates audit`)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from moorage.cli.options import all_option, colour_option, context_option, live_kubeconfig_option, scrape_option
from moorage.cli.shared import coloured, live_input, piped_input, prepare_output, say, terminal_width, write_lines
from moorage.model.gate_skew import skew_lines, skews
from moorage.model.gates import GATES, Gate, all_gates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.cli.gate_table import Values
    from moorage.plan.gates.kep_states import KepState
    from moorage.plan.input.live_gates import LiveGates

_BREAKS, _UNREADABLE = 1, 2
_FORMS = ("text", "json")
_UNBROKEN = 100_000  # what is piped into another program is searched by line


@click.group("gates", invoke_without_command=True)
@live_kubeconfig_option
@context_option
@scrape_option
@click.option(
    "--scrape-ca",
    "authority",
    default="",
    type=click.Path(),
    metavar="FILE",
    help="CA certificates of --scrape by https, in PEM; the system's by default.",
)
@click.option(
    "--scrape-token-file",
    "token",
    default="",
    type=click.Path(),
    metavar="FILE",
    help="A bearer token for --scrape, sent by https only.",
)
@click.option(
    "-o", "--output", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="Output format."
)
@colour_option
@click.pass_context
def command(
    ctx: click.Context,
    kubeconfig: str | None,
    context: str,
    endpoints: tuple[str, ...],
    authority: str,
    token: str,
    form: str,
    colour: str,
) -> None:
    """List the feature gates, and what each is set to in every component of a live cluster.

    Without a cluster (--kubeconfig, --context, $KUBECONFIG) or --scrape the defaults are shown. Gates that are on in
    some components only are warned about where that does harm. Of a cluster it is also said which KEPs of comparisons
    it has natively, attached (`moorage attach`) or not at all. `moorage gates audit` finds what depends on gates.

    \b
    Try:
      moorage gates
      moorage gates --kubeconfig kubeconfig.yaml --scrape http://127.0.0.1:10251
      moorage gates audit --kubeconfig kubeconfig.yaml
    """
    if ctx.invoked_subcommand is not None:
        return
    prepare_output(is_text=form == "text")
    values: Values = {gate.name: dict.fromkeys(_readers(gate), gate.default) for gate in GATES}
    if not endpoints and (authority or token):
        raise click.UsageError("--scrape-ca and --scrape-token-file need --scrape.")
    if kubeconfig is None and not endpoints:
        _print(values, form, colour)
        return
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.plan.input.live_gates import ScrapeLogin, read_gates

    try:
        live = read_gates(kubeconfig, context, endpoints, ScrapeLogin(authority, token))
    except KubeconfigError as error:
        say(str(error))
        raise click.exceptions.Exit(_UNREADABLE) from None
    for problem in live.problems:
        say(problem)
    states = _kep_states(kubeconfig, context, live)
    values = live.table()
    _print(values, form, colour, states)
    warnings = "\n".join(skew_lines(skews(live.known())))
    if warnings:
        click.echo(warnings if form == "json" else f"\n{warnings}", err=form == "json")
    if live.problems:
        raise click.exceptions.Exit(_UNREADABLE)


def _kep_states(kubeconfig: str | None, context: str, live: LiveGates) -> Sequence[KepState]:
    """Return how the cluster has each KEP that attach brings; nothing if no API server is asked."""
    if kubeconfig is None:
        return ()
    from moorage.plan.gates.kep_states import kep_states
    from moorage.plan.gates.live_keps import read_keps

    found = read_keps(kubeconfig, context)
    return kep_states(live, found.minor, found.lowering)


def _readers(gate: Gate) -> list[str]:
    return sorted(component.value for component in gate.components)


@command.command("audit")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@live_kubeconfig_option
@context_option
@click.option(
    "--gate",
    "names",
    multiple=True,
    metavar="GATE",
    help="Audit only this gate.  [default: all that objects can depend on]  Repeatable.",
)
@click.option(
    "-o", "--output", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="Output format."
)
@all_option
@colour_option
def audit(
    paths: tuple[str, ...],
    kubeconfig: str | None,
    context: str,
    names: tuple[str, ...],
    form: str,
    everything: bool,
    colour: str,
) -> int:
    """Find every object that depends on a gate, and say what would happen without it.

    Reads manifests, or with --kubeconfig a live cluster. For each object: which fields need the gate, what each
    component would do if the gate were disabled now, and in which order to disable it.

    \b
    Exit code: 0 nothing would break, 1 something would, 2 wrong usage, or input that is unreadable or invalid.
    """
    from moorage.lint.finding import Severity
    from moorage.lint.sources import sources_of
    from moorage.model.kinds import KINDS
    from moorage.plan.gates.audit import as_document
    from moorage.plan.gates.audit import audit as find
    from moorage.plan.input.live_cluster import PLAIN_TEMPLATES, load_live
    from moorage.plan.planner import Planner, Settings
    from moorage.plan.report.audit import AuditText

    prepare_output(is_text=form == "text")
    gates = _gates(names)
    planner = Planner(Settings(all_gates()))
    if kubeconfig is not None:
        load_live(planner, live_input(kubeconfig, context, more=PLAIN_TEMPLATES))
    planner.load(
        sources_of(paths if paths or kubeconfig is not None else piped_input("audit")), announces_updates=False
    )
    inventory = planner.inventory
    for note in inventory.notes:
        if note.level is not Severity.INFO:  # such as the cluster's gates, which an audit takes to be on
            say(str(note))
    if inventory.sources == 0:
        say(f"no *.yaml, *.yml or *.json files in {', '.join(paths)}")
    unknown = sorted(set(inventory.passed_over) - {kind for _, kind in KINDS})
    if unknown:
        say(f"objects of other kinds were not looked at: {', '.join(unknown)}")
    findings = find(inventory, gates)
    if form == "json":
        click.echo(_as_json(as_document(findings, gates)), nl=False)
    else:
        width = terminal_width() if sys.stdout.isatty() else _UNBROKEN
        text = AuditText(colour=coloured(colour), width=width, everything=everything)
        write_lines(text.lines(findings, gates))
    if inventory.unreadable or inventory.rejected:
        return _UNREADABLE
    return _BREAKS if any(finding.breaks for finding in findings) else 0


def _gates(names: tuple[str, ...]) -> list[Gate]:
    known = {gate.name: gate for gate in GATES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"{unknown[0]} is not one of {', '.join(known)}", param_hint="'--gate'")
    return [known[name] for name in names] if names else list(GATES)


def _as_json(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"


def _print(values: Values, form: str, colour: str, states: Sequence[KepState] = ()) -> None:
    """Print the table, and how the cluster has each KEP; in JSON a name beside those of the gates."""
    from moorage.cli.gate_table import GateTable

    if form == "json":
        from moorage.plan.gates.kep_states import as_rows

        click.echo(_as_json({**values, **({"keps": as_rows(states)} if states else {})}), nl=False)
    else:
        table = GateTable(colour=coloured(colour), width=terminal_width())
        write_lines([*table.lines(values), *table.keps(states)])
