"""docs/metrics.md has every metric of a running cluster, as it is, and every event that is reported."""

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

from moorage.cli.component_process import ComponentProcess, Process
from moorage.cli.control_plane import ControlPlane, Settings
from moorage.cli.streams import gates_of_components
from moorage.client.access import Access
from moorage.client.leader_election import ElectionTimes
from moorage.schedule.configured_scheduler import DEFAULT_CONFIGURATION
from moorage.telemetry.metrics import Metrics

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \| ([^|]*)\|", re.MULTILINE)
EVENTS = PAGE.partition("## Events")[2]
#: Where events are reported from; the third of what `Report(…)` and a recorder's `report` are given is the reason.
REPORTING = ("control", "run", "schedule/live", "client")
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
    process = ComponentProcess(Process("moorage", Access("http://127.0.0.1:1"), election=ElectionTimes()))
    await process.client.close()
    return found | _families(process.metrics)


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
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
                for target in statement.targets:
                    if isinstance(target, ast.Name) and isinstance(statement.value.value, str):
                        found[target.id] = statement.value.value
    return found


def _reported() -> Iterator[tuple[Path, str]]:
    """The reasons of reports as far as they are written down where it is reported, or have a name."""
    names = _constants()
    for path, module in _sources():
        for call in ast.walk(module):
            if not isinstance(call, ast.Call) or len(call.args) <= _REASON:
                continue
            function = call.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            reason = call.args[_REASON]
            if name not in ("Report", "report"):
                continue
            if isinstance(reason, ast.Constant) and isinstance(reason.value, str):
                yield path, reason.value
            elif isinstance(reason, ast.Name | ast.Attribute):
                named = names.get(reason.attr if isinstance(reason, ast.Attribute) else reason.id)
                if named is not None:
                    yield path, named


def test_every_event_is_in_the_table() -> None:
    reported = set(_reported())
    assert len(reported) > 10, "the search finds nothing any more"
    assert {(path.name, reason) for path, reason in reported if reason not in _told_reasons()} == set()


def test_every_event_of_the_table_is_one() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "moorage").rglob("*.py"))
    made_of_parts = {"RegisteredNode": "Registered Node", "RemovingNode": "Removing Node"}
    for reason in _told_reasons():
        written = "OutOf{" if reason.startswith("OutOf") else made_of_parts.get(reason, f'"{reason}"')
        assert written in source, reason
