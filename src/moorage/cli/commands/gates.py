"""`moorage gates`: what the gates are set to, and `audit`: which objects depend on them."""

import asyncio
import re
import urllib.error
import urllib.request
from collections.abc import Iterable

import click
import msgspec

from moorage.cli.options import all_option, context_option, live_kubeconfig_option
from moorage.cli.shared import live_input, piped_input, say
from moorage.client.http.client import HttpClient
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Unreachable
from moorage.model.api_error import ApiError
from moorage.model.gates import GATES, Component, Gate, gates_from
from moorage.telemetry.metrics import NAME

#: By gate and component: whether it is on; absent if unknown.
Values = dict[str, dict[str, bool]]

_LINE = re.compile(rf"^{NAME}\{{(?P<labels>[^}}]*)\}} (?P<value>[01])", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_SECONDS = 10.0
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
      moorage gates --kubeconfig kubeconfig.yaml --scrape http://127.0.0.1:10251
      moorage gates audit --kubeconfig kubeconfig.yaml
    """
    if ctx.invoked_subcommand is not None:
        return
    values = {
        gate.name: dict.fromkeys(sorted(component.value for component in gate.components), gate.default)
        for gate in GATES
    }
    if kubeconfig is not None or endpoints:
        try:
            values = _live_values(kubeconfig, context, endpoints)
        except _CannotScrape as error:
            say(str(error))
            raise click.exceptions.Exit(_UNREADABLE) from None
    click.echo(_as_json(values) if form == "json" else _render_table(values), nl=False)


@command.command("audit")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@live_kubeconfig_option
@context_option
@click.option(
    "--gate",
    "names",
    multiple=True,
    metavar="GATE",
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
    from moorage.lint.sources import sources_of
    from moorage.model.kinds import KINDS
    from moorage.plan.gate_audit import as_document, render_text
    from moorage.plan.gate_audit import audit as find
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
        click.echo(_as_json(as_document(findings, gates)), nl=False)
    else:
        click.echo(render_text(findings, gates, everything=everything), nl=False)
    if inventory.unreadable or inventory.rejected:
        return _UNREADABLE
    return _BREAKS if any(finding.breaks for finding in findings) else 0


def _gates(names: tuple[str, ...]) -> list[Gate]:
    known = {gate.name: gate for gate in GATES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"{unknown[0]} is none of {', '.join(known)}", param_hint="'--gate'")
    return [known[name] for name in names] if names else list(GATES)


def _as_json(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"


class _CannotScrape(Exception):
    """Why metrics could not be read: one line for the user."""


def _live_values(kubeconfig: str | None, context: str, endpoints: Iterable[str]) -> Values:
    """Raises _CannotScrape."""
    values: Values = {}
    if kubeconfig is not None:
        _add(values, _from_server(kubeconfig, context), Component.API_SERVER.value)
    for endpoint in endpoints:
        _add(values, _from_endpoint(endpoint), endpoint)
    if not values:
        raise _CannotScrape(f"no {NAME} in the metrics: this server does not say what its gates are")
    return values


def _add(values: Values, text: str, component: str) -> None:
    """Add the gates in `text`; `component` is theirs if they name none."""
    for line in _LINE.finditer(text):
        labels = dict(_LABEL.findall(line["labels"]))
        values.setdefault(labels.get("name", ""), {})[labels.get("component", component)] = line["value"] == "1"


def _from_server(kubeconfig: str, context: str) -> str:
    try:
        client = HttpClient(load_access(kubeconfig, context=context), "gates")
        return asyncio.run(_get(client, "/metrics")).decode("utf-8", "replace")
    except KubeconfigError as error:
        raise _CannotScrape(str(error)) from None
    except Unreachable as error:
        raise _CannotScrape(f"the API server cannot be reached: {error}") from None
    except ApiError as error:
        raise _CannotScrape(f"the API server's metrics cannot be read: {error.message}") from None


async def _get(client: HttpClient, path: str) -> bytes:
    try:
        return await client.get_path(path)
    finally:
        await client.close()


def _from_endpoint(endpoint: str) -> str:
    if not endpoint.startswith(("http://", "https://")):
        raise _CannotScrape(f"--scrape: {endpoint}: must begin with http:// or https://")
    url = endpoint if endpoint.endswith("/metrics") else f"{endpoint.rstrip('/')}/metrics"
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
            return str(answer.read().decode("utf-8", "replace"))
    except (OSError, urllib.error.URLError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise _CannotScrape(f"--scrape: {url}: {getattr(reason, 'strerror', None) or reason}") from None


def _render_table(values: Values) -> str:
    """A line for each gate, a column for each component."""
    known = [component.value for component in Component]
    others = sorted({name for row in values.values() for name in row} - set(known))
    columns = [*known, *others]
    stages = {gate.name: gate.stage.value for gate in GATES}
    readers = {gate.name: {component.value for component in gate.components} for gate in GATES}
    rows = [["GATE", "STAGE", *(name.upper() for name in columns)]]
    for gate, row in values.items():
        cells = [_cell(row.get(name), name in readers.get(gate, ())) for name in columns]
        rows.append([gate, stages.get(gate, ""), *cells])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: bool | None, is_read: bool) -> str:
    if value is None:
        return "?" if is_read else "-"
    return "on" if value else "off"
