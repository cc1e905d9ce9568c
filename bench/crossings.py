"""Count how often a small plan crosses from one package of Moorage to another, and how many documents it converts.

    python -m bench.crossings [directory with another version's `moorage` package]

The plan is of four pods of a Deployment on three nodes. A crossing is a call whose caller and callee are in different
top-level packages (`plan` → `serve`); a conversion is a call of `convert_view`. Modules are imported before, and the
same plan is made once before, so that caches which outlive a plan do not count.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

_NODE = """
apiVersion: v1
kind: Node
metadata: {name: node-%d, labels: {topology.kubernetes.io/zone: z%d}}
status:
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
---"""
_WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: app, resources: {requests: {cpu: "1"}}}
"""
MANIFESTS = "".join(_NODE % (number, number) for number in range(3)) + _WORKLOAD


class Crossings:
    """Calls between packages, and conversions, while it is the profiler."""

    def __init__(self) -> None:
        self.between: Counter[tuple[str, str]] = Counter()
        self.conversions = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or frame.f_back is None:
            return
        callee, caller = _package(frame), _package(frame.f_back)
        if callee and caller and callee != caller:
            self.between[caller, callee] += 1
        if frame.f_code.co_name == "convert_view":
            self.conversions += 1


def _package(frame: FrameType) -> str:
    name = str(frame.f_globals.get("__name__", ""))
    return name.split(".")[1] if name.startswith("moorage.") else ""


def count() -> Crossings:
    from moorage.lint.sources import sources_of
    from moorage.model.gates import default_gates
    from moorage.plan.planner import Planner, Settings

    def plan(path: str) -> None:
        planner = Planner(Settings(default_gates()))
        planner.load(sources_of([path]))
        outcome = planner.plan(planner.build())
        if len(outcome.pods) != 4:
            raise RuntimeError(f"the plan is not as it should be: {outcome.notes}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.yaml"
        path.write_text(MANIFESTS, encoding="utf-8")
        plan(str(path))
        counted = Crossings()
        sys.setprofile(counted)
        try:
            plan(str(path))
        finally:
            sys.setprofile(None)
    return counted


def main() -> None:
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])
    counted = count()
    import moorage

    print(f"{moorage.__file__}: {counted.between.total():,} crossings, {counted.conversions:,} conversions")
    for (caller, callee), calls in counted.between.most_common(12):
        print(f"  {caller:>9} → {callee:<9} {calls:6,}")


if __name__ == "__main__":
    main()
