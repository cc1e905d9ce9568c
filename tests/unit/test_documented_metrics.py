"""docs/metrics.md has every metric of a running cluster, as it is, and every event that is reported."""

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

from moorage.attached.controller.process import AttachControllerProcess
from moorage.attached.webhook.process import WebhookProcess, WebhookSettings
from moorage.cli.shared import gates_of_components
from moorage.client.event_sender import BURST, MAX_QUEUED, PER_SECOND
from moorage.client.kubeconfig.access import Access
from moorage.client.leader_election import ElectionTimes
from moorage.cluster.components import ControllerManagerProcess, Process
from moorage.cluster.control_plane import ControlPlane, Settings
from moorage.model.gates import default_gates
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION
from moorage.telemetry.metrics import Metrics

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \| ([^|]*)\|", re.MULTILINE)
EVENTS = PAGE.partition("## Events")[2]
#: Where events are reported from; the third of what `Report(…)` and a recorder's `report` are given is the reason.
REPORTING = ("attached/controller", "control", "run", "schedule/live", "client")
_REASON = 2


def _families(metrics: Metrics) -> dict[str, tuple[str, list[str]]]:
    return {family.name: (family.kind, list(family.label_names)) for family in metrics.families()}


async def _running() -> dict[str, tuple[str, list[str]]]:
    settings = Settings(
        gates=gates_of_components((), {}),
        configuration=DEFAULT_CONFIGURATION,
        nodes=0,
        simulates=True,
        data_dir=None,
        bind_address="127.0.0.1",
        port=0,
        kubeconfig=None,
        manifests=(),
    )
    plane = ControlPlane(settings)
    await plane.start()
    try:
        assert plane._server is not None
        found = _families(plane._server.metrics)
    finally:
        await plane.stop()
    alone = Process("moorage", Access("http://127.0.0.1:1"), election=ElectionTimes())
    process = ControllerManagerProcess(alone, default_gates(), ())
    await process.client.close()
    attached = AttachControllerProcess(alone)
    await attached.client.close()
    webhook = WebhookProcess(WebhookSettings(Path("tls")))
    return found | _families(process.metrics) | _families(attached.metrics) | _families(webhook.metrics)


def test_every_metric_is_in_a_table_with_its_type_and_labels() -> None:
    told = {name: (kind, re.findall(r"`(\w+)`", labels)) for name, kind, labels in ROW.findall(PAGE)}
    assert told == asyncio.run(_running())


def _told_reasons() -> set[str]:
    cells = re.findall(r"^\| (`[^|]*) \| \w+(?:, \w+)? \|", EVENTS, re.MULTILINE)
    return {reason for cell in cells for reason in re.findall(r"`([^`]+)`", cell)}


def _sources() -> Iterator[tuple[Path, ast.Module]]:
    for folder in REPORTING:
        for path in sorted((ROOT / "src" / "moorage" / folder).rglob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def _constants() -> dict[str, str]:
    """Texts that have a name at the top of some module, by that name."""
    found = {}
    for _, module in _sources():
        for statement in module.body:
            if isinstance(statement, ast.Assign):
                for target, value in _pairs(statement.targets[0], statement.value):
                    if (
                        isinstance(target, ast.Name)
                        and isinstance(value, ast.Constant)
                        and isinstance(value.value, str)
                    ):
                        found[target.id] = value.value
    return found


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _name(expression: ast.expr) -> str:
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")


def _calls(inside: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(inside) if isinstance(node, ast.Call))


def _reporters(module: ast.Module) -> dict[str, int]:
    """Functions that report a reason they are given, and at which place they are given it."""
    found = {"Report": _REASON, "report": _REASON, "note": 1, "warn": 1, "ReportEvent": _REASON}
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef):
            given = [argument.arg for argument in function.args.args if argument.arg != "self"]
            for call in _calls(function):
                if _name(call.func) in ("Report", "report") and len(call.args) > _REASON:
                    reason = _name(call.args[_REASON])
                    if reason in given:
                        found[function.name] = given.index(reason)
    return found


def _reported() -> Iterator[tuple[Path, str]]:
    """The reasons of reports as far as they are written down where it is reported, or have a name."""
    names = _constants()
    for path, module in _sources():
        places = _reporters(module)
        for call in _calls(module):
            place = places.get(_name(call.func))
            if place is None or len(call.args) <= place:
                continue
            reason = call.args[place]
            if isinstance(reason, ast.Constant) and isinstance(reason.value, str):
                yield path, reason.value
            elif _name(reason) in names:
                yield path, names[_name(reason)]


def test_every_event_is_in_the_table() -> None:
    reported = set(_reported())
    assert len(reported) > 10, "the search finds nothing any more"
    assert {(path.name, reason) for path, reason in reported if reason not in _told_reasons()} == set()


def test_how_many_events_are_sent_is_told() -> None:
    told = f"up to {BURST:,} at once and {PER_SECOND:.0f} a second"
    assert told in EVENTS
    assert f"{MAX_QUEUED:,}" in EVENTS


def test_every_event_of_the_table_is_one() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "moorage").rglob("*.py"))
    made_of_parts = {"RegisteredNode": "Registered Node", "RemovingNode": "Removing Node"}
    for reason in _told_reasons():
        written = "OutOf{" if reason.startswith("OutOf") else made_of_parts.get(reason, f'"{reason}"')
        assert written in source, reason
