"""Run every benchmark workload in miniature, with a clock that stands still, and reduce who is where to a hash.

`python -m tests.laws.recorded_placements` prints what `recorded_placements.json` holds. It is recorded again only by a
change that means to place pods otherwise.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml
from bench.perf import config
from bench.perf.executor import Executor

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).with_suffix(".json")
_LARGEST = 90  # of the numbers of nodes and pods; the others are smaller in proportion


def miniatures() -> Iterator[config.Workload]:
    """The first workload of each test case, made small."""
    for file in sorted((ROOT / "bench" / "workloads").rglob(config.FILE_NAME)):
        raw = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
        for case in msgspec.convert(raw, tuple[config._RawTestCase, ...]):
            workload = case.workloads[0]
            small = msgspec.structs.replace(workload, params=_small(workload.params))
            yield config._compile(file, case, small, case.name)


def _small(params: dict[str, Any]) -> dict[str, Any]:
    largest = max((number for number in params.values() if isinstance(number, int)), default=0)
    if largest <= _LARGEST:
        return params
    return {
        name: max(1, value * _LARGEST // largest) if isinstance(value, int) else value for name, value in params.items()
    }


def placements(workload: config.Workload) -> str:
    """A hash of each pod and its node, and of how many pods wait."""
    executor = Executor(workload, 0, timer=lambda: 0.0)
    for index, operation in enumerate(workload.operations):
        executor.run(operation, index)
    objects = executor.objects
    nodes = objects.cluster.nodes
    placed = sorted((key, nodes.node(record.slot).metadata.name) for key, record in objects.cluster.pods.items())
    return hashlib.sha256(json.dumps([placed, len(objects.pending)]).encode()).hexdigest()[:16]


if __name__ == "__main__":
    print(json.dumps({workload.name: placements(workload) for workload in miniatures()}, indent=0))
