"""Small clusters in few words, and plans of them."""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import yaml

from moorage.lint.sources import Source, sources_of
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.plan.difference.difference import Difference
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.rollout import Rollout
from moorage.plan.what_if import Changes

Raw = dict[str, Any]
_DIRECTORY = Path(tempfile.mkdtemp(prefix="moorage-plans-"))
_NUMBERS = itertools.count()
atexit.register(shutil.rmtree, _DIRECTORY, ignore_errors=True)


def node(name: str, cpu: str = "4", *, taints: list[Raw] | None = None, **labels: str) -> Raw:
    capacity = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {"taints": taints} if taints else {},
        "status": {"capacity": capacity},
    }


def spec(cpu: str = "1", **fields: Any) -> Raw:
    return {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}], **fields}


def pod(name: str, cpu: str = "1", *, labels: Raw | None = None, metadata: Raw | None = None, **fields: Any) -> Raw:
    about = {"name": name, "labels": labels or {}, **(metadata or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec(cpu, **fields)}


def running(name: str, on: str, owner: tuple[str, str] | None = None, **fields: Any) -> Raw:
    """A pod as `kubectl get` prints it: it has a uid, a node and a phase."""
    made = pod(name, **fields)
    made["metadata"] |= {"uid": f"uid-of-{name}", "resourceVersion": "7"}
    if owner is not None:
        reference = {"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": "u", "controller": True}
        made["metadata"]["ownerReferences"] = [reference]
    made["spec"] |= {"nodeName": on, "priority": 0}
    made["status"] = {"phase": "Running"}
    return made


def workload(kind: str, name: str, cpu: str = "1", pods: Raw | None = None, **fields: Any) -> Raw:
    """`pods` are further fields of the pods' spec."""
    template = {"metadata": {"labels": {"app": name}}, "spec": spec(cpu, **(pods or {}))}
    selector = {"matchLabels": {"app": name}}
    group = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    about: Raw = {"template": template, **fields}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    else:
        about["selector"] = selector
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": about}


class Plan:
    """A plan of documents, and what became of it."""

    is_live = False

    def __init__(self, *documents: Raw | str, gates: dict[str, bool] | None = None, seed: int = 0) -> None:
        self.planner = Planner(Settings(gates_from(gates or {}), seed))
        self.planner.inventory.is_live = self.is_live
        self.planner.load(written(*documents))
        self.simulation = self.planner.build()
        self.outcome: Outcome = self.planner.plan(self.simulation)

    @property
    def where(self) -> dict[str, str]:
        """Pods that are on a node or wait for one by name, and their nodes; empty for those that wait."""
        return {pod.name: pod.node for pod in self.outcome.pods if pod.is_present}

    @property
    def states(self) -> dict[str, str]:
        """All pods by name, and their states."""
        return {pod.name: pod.state.value for pod in self.outcome.pods}

    @property
    def why(self) -> dict[str, str]:
        return {pod.name: f"{pod.reason}: {pod.message}" for pod in self.outcome.pending}

    @property
    def notes(self) -> list[str]:
        return [f"{note.level.value} {note.line} {note.object}: {note.message}" for note in self.outcome.notes]

    def nodes_of(self, workload_name: str) -> list[str]:
        pods = (pod for pod in self.outcome.pods if pod.is_present)
        return sorted(pod.node for pod in pods if pod.workload.endswith(f"/{workload_name}"))

    def what_if(self, changes: Changes | None = None, *documents: Raw | str) -> Difference:
        sources = written(*documents) if documents else []
        made = self.planner.what_if(self.simulation, self.outcome, changes or Changes(), sources)
        self.outcome, difference, _ = made
        return difference

    def rollout(self, name: str, *documents: Raw | str) -> Rollout:
        """Play a rollout on the plan, which is not the same afterwards."""
        sources = written(*documents) if documents else []
        _, _, rollout = self.planner.what_if(self.simulation, self.outcome, Changes(), sources, name)
        assert rollout is not None
        return rollout

    def pod(self, name: str) -> Pod:
        """A pod of the default namespace, as it is now."""
        view: Pod = self.simulation.api.get(KINDS.POD, name, "default").view
        return view


class LivePlan(Plan):
    """A plan of all objects of a cluster: what is not there does not exist."""

    is_live = True


def written(*documents: Raw | str) -> list[Source]:
    """The documents as the one source that a command would read."""
    texts = [one if isinstance(one, str) else yaml.safe_dump(one) for one in documents]
    path = _DIRECTORY / f"{next(_NUMBERS)}.yaml"
    path.write_text("\n---\n".join(texts), encoding="utf-8")
    return list(sources_of([str(path)]))
