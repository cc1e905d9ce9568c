"""Print what the feature gates are set to (`moorage gates`), and which objects depend on them (`moorage gates audit`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click
import msgspec

from moorage.cli.options import all_option, colour_option, context_option, live_kubeconfig_option, scrape_option
from moorage.cli.shared import coloured, live_input, piped_input, prepare_output, say, terminal_width, write_lines
from moorage.lint.report.printable import visible_length
from moorage.model.gate_skew import skew_lines, skews
from moorage.model.gates import GATES, Component, Gate, all_gates
from moorage.plan.report.text import BOLD, DIM, GREEN, YELLOW, TerminalLines

Values = Mapping[str, Mapping[str, bool | None]]

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
    help="Certificates to trust where --scrape is https, in PEM; else those of the system.",
)
@click.option(
    "--scrape-token-file",
    "token",
    default="",
    type=click.Path(),
    metavar="FILE",
    help="A bearer token for --scrape, sent by https only.",
)
@click.option("-o", "--output", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="Form.")
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
    some components only are warned about where that does harm. `moorage gates audit` finds what depends on them.

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
    from moorage.plan.input.live_gates import ScrapeLogin, read_gates

    live = read_gates(kubeconfig, context, endpoints, ScrapeLogin(authority, token))
    for problem in live.problems:
        say(problem)
    values = live.table()
    _print(values, form, colour)
    warnings = "\n".join(skew_lines(skews(live.known())))
    if warnings:
        click.echo(warnings if form == "json" else f"\n{warnings}", err=form == "json")
    if live.problems:
        raise click.exceptions.Exit(_UNREADABLE)


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
    help="Only this gate.  [default: all that objects can depend on]  Repeatable.",
)
@click.option("-o", "--output", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="Form.")
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
    from moorage.plan.gate_audit import as_document
    from moorage.plan.gate_audit import audit as find
    from moorage.plan.input.live_cluster import load_live
    from moorage.plan.planner import Planner, Settings
    from moorage.plan.report.audit import AuditText

    prepare_output(is_text=form == "text")
    gates = _gates(names)
    planner = Planner(Settings(all_gates()))
    if kubeconfig is not None:
        load_live(planner, live_input(kubeconfig, context))
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
        raise click.BadParameter(f"{unknown[0]} is none of {', '.join(known)}", param_hint="'--gate'")
    return [known[name] for name in names] if names else list(GATES)


def _as_json(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"


def _print(values: Values, form: str, colour: str) -> None:
    from moorage.cli.commands.gates import GateTable

    if form == "json":
        click.echo(_as_json(values), nl=False)
    else:
        write_lines(GateTable(colour=coloured(colour), width=terminal_width()).lines(values))


#: By gate and component: whether it is on; None if it is not known.

_SHORT = {
    Component.API_SERVER.value: "API",
    Component.SCHEDULER.value: "SCH",
    Component.CONTROLLER_MANAGER.value: "CM",
    Component.KUBELET.value: "KLT",
}
_COLOURS = {"on": GREEN, "off": DIM, "?": YELLOW, "-": DIM}
_GAP = "  "


class GateTable(TerminalLines):
    """Prints gates in 80 columns; on a narrower terminal the values go below the gate."""

    def lines(self, values: Values) -> list[str]:
        heads = self._heads(values)
        stages = {gate.name: gate.stage.value for gate in GATES}
        rows = [(gate, stages.get(gate, ""), _cells(gate, row, list(heads))) for gate, row in values.items()]
        widest = max((len(gate) for gate, _, _ in rows), default=0)
        needed = widest + 7 + sum(len(_GAP) + max(3, len(head)) for head in heads.values())
        fits = needed <= self._width
        if fits:
            title = _GAP.join(["GATE".ljust(widest), "STAGE", *(head.ljust(3) for head in heads.values())])
            lines = [self._styled(title.rstrip(), BOLD)]
        else:
            lines = []
        for gate, stage, cells in rows:
            if fits:
                lines.append(_GAP.join([gate.ljust(widest), stage.ljust(5), *self._padded(cells, heads)]).rstrip())
            else:
                named = [f"{head} {self._mark(cell)}" for head, cell in zip(heads.values(), cells, strict=True)]
                lines += [gate, *self._packed([stage, *named])]
        return [*lines, "", *self._legend(heads, rows)]

    def _heads(self, values: Values) -> dict[str, str]:
        """Return the components, each with a short name; those that Kubernetes has not are numbered."""
        others = sorted({name for row in values.values() for name in row} - set(_SHORT))
        return {**_SHORT, **{name: f"#{number}" for number, name in enumerate(others, 1)}}

    def _padded(self, cells: Sequence[str], heads: Mapping[str, str]) -> list[str]:
        return [
            self._mark(cell) + " " * (max(3, len(head)) - len(cell))
            for cell, head in zip(cells, heads.values(), strict=True)
        ]

    def _mark(self, cell: str) -> str:
        return self._styled(cell, _COLOURS[cell])

    def _packed(self, parts: Sequence[str]) -> list[str]:
        return [f"  {line}" for line in self._rows(parts)]

    def _rows(self, parts: Sequence[str]) -> list[str]:
        rows: list[str] = []
        for part in parts:
            if rows and visible_length(f"{rows[-1]}{_GAP}{part}") + 2 <= self._width:
                rows[-1] += f"{_GAP}{part}"
            else:
                rows.append(part)
        return rows

    def _legend(self, heads: Mapping[str, str], rows: Sequence[tuple[str, str, Sequence[str]]]) -> list[str]:
        named = ", ".join(f"{head} {name}" for name, head in heads.items())
        used = {cell for _, _, cells in rows for cell in cells}
        words = {"-": "- does not read the gate", "?": "? not known"}
        marks = ", ".join(text for mark, text in words.items() if mark in used)
        return [line for text in (named, marks) if text for line in self._wrapped("", 0, text, DIM)]


def _cells(gate: str, row: Mapping[str, bool | None], components: Sequence[str]) -> list[str]:
    readers = {one.value for known in GATES if known.name == gate for one in known.components}
    return [_cell(row.get(name), name in readers) for name in components]


def _cell(value: bool | None, is_read: bool) -> str:
    if value is None:
        return "?" if is_read else "-"
    return "on" if value else "off"
