"""Add the row of an operator that does not exist to the table, and print what the tools then say as JSON.

    python -m tests.unit.match.trial_operator DIRECTORY

It runs in a process of its own: many modules read the table when they are imported. The row is inserted into the text
of the table's module and nothing else is changed, as the recipe in docs/contributing/add-operator.md promises.
"""

import io
import json
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

TABLE = "moorage.match.operators"
IMPORTS = "import operator\nfrom moorage.match.comparison import VERSION\n"
ROW = """    Operator(
        "SemverGe",
        _versions(Comparison(VERSION, ">=", operator.ge)),
        Arity.ONE,
        "SemverGe",
        spellings=("semvergte", "semvergreaterorequal"),
        never="no version is {value} or above",
        prerelease="{base} itself counts as newer than {value}",
    ),
"""
TOLERATION = "- {key: kernel, operator: SemverGe, value: 5.15.0, effect: NoSchedule}\n"
CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: old, labels: {kernel: 5.4.0}}
spec: {taints: [{key: kernel, value: 5.4.0, effect: NoSchedule}]}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: odd}
spec: {taints: [{key: kernel, value: 1.32-rc1, effect: NoSchedule}]}
status: {allocatable: {cpu: "0", memory: 32Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: tolerates}
spec:
  tolerations: [{key: kernel, operator: SemverGe, value: 5.15.0, effect: NoSchedule}]
  containers: [{name: app, image: app}]
---
apiVersion: v1
kind: Pod
metadata: {name: selects}
spec:
  tolerations: [{operator: Exists}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: kernel, operator: SemverGe, values: ["v5.15"]}]
  containers: [{name: app, image: app}]
---
apiVersion: v1
kind: Pod
metadata: {name: repeats}
spec:
  tolerations:
  - {key: kernel, operator: SemverGt, value: 5.15.0, effect: NoSchedule}
  - {key: kernel, operator: SemverEq, value: 5.15.0, effect: NoSchedule}
  - {key: kernel, operator: SemverGe, value: 5.15.0, effect: NoSchedule}
  containers: [{name: app, image: app}]
"""
GATES = "--feature-gates=AllAlpha=true"


def add_row() -> None:
    spec = find_spec(TABLE)
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    end = "\n)\n\nBY_NAME"
    assert text.count(end) == 1
    module = sys.modules[TABLE] = module_from_spec(spec)
    exec(compile(IMPORTS + text.replace(end, f"\n{ROW}){end[2:]}"), spec.origin, "exec"), module.__dict__)


def command(*arguments: str) -> Any:
    """Return what a command prints as JSON."""
    from moorage.cli.main import main

    sys.argv = ["moorage", *arguments]
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            main()
    except SystemExit:
        pass
    return json.loads(printed.getvalue())


def answers(manifests: str) -> dict[str, Any]:
    """Return the answers of the dashboard's slider and playground."""
    from moorage.dashboard.questions import QUESTIONS, Base
    from moorage.dashboard.questions.base import parts_of
    from moorage.lint.sources import sources_of
    from moorage.model.gates import all_gates
    from moorage.plan.planner import Planner, Settings

    planner = Planner(Settings(all_gates()))
    planner.load(sources_of([manifests]))
    simulation = planner.build()
    base = Base(planner, simulation, planner.plan(simulation))
    (slider,) = parts_of(QUESTIONS["thresholds"], base, {})
    playground: dict[str, Any] = {}
    for part in parts_of(QUESTIONS["playground"], base, {"kind": "tolerations", "text": TOLERATION}):
        playground |= part
    return {"slider": slider, "playground": playground}


def tools(directory: str) -> dict[str, Any]:
    manifests = Path(directory, "cluster.yaml")
    manifests.write_text(CLUSTER, encoding="utf-8")
    path = str(manifests)
    return {
        "lint": command("lint", GATES, "--output", "json", path),
        "tolerates": command("explain", GATES, "--output", "json", "pod/tolerates", "-f", path),
        "selects": command("explain", GATES, "--output", "json", "pod/selects", "-f", path),
        **answers(path),
    }


if __name__ == "__main__":
    add_row()
    print(json.dumps(tools(sys.argv[1])))
