"""Play a rolling update: its steps, with surge and budget, and where it stops if it does not complete."""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.dashboard.questions.changes import MAX_TEXT
from moorage.lint.sources import Source
from moorage.plan.node_changes import ChangeError
from moorage.plan.report.plain import as_data, difference_data
from moorage.plan.what_if import Changes

_FILE = "template.yaml"


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    workload, template = arguments.get("workload"), arguments.get("template")
    if not isinstance(workload, str) or not workload or len(workload) > 1000:
        raise BadQuestion("workload: must name a Deployment, StatefulSet or DaemonSet, such as deployment/default/web")
    if template is not None and (not isinstance(template, str) or len(template) > MAX_TEXT):
        raise BadQuestion(f"template: must be a manifest of at most {MAX_TEXT:,} characters, or null for a restart")
    sources = [Source(_FILE, content=template.encode())] if template else []
    planner = base.planner
    first_note = len(planner.inventory.notes)
    try:
        changes = Changes(files=(_FILE,) if template else ())
        _, difference, rollout = planner.play(base.simulation, base.plan, changes, sources, workload)
    except ChangeError as error:
        raise BadQuestion(f"workload: {error}") from None
    yield {
        "part": "rollout",
        "rollout": as_data(rollout),
        "whatIf": difference_data(difference),
        "notes": [str(note) for note in planner.inventory.notes[first_note:]],
        "stopped": base.simulation.stopped,
        "done": True,
    }
