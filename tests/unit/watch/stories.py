"""Tell a Chronicle of pods in few words: created, placed, evicted, deleted, gone."""

from typing import Any

from moorage.client.protocol import Object
from moorage.model.kinds import KINDS
from moorage.watch.happenings import Chronicle, Happening

Raw = dict[str, Any]
_LABELS = {"ReplicaSet": "pod-template-hash", "StatefulSet": "controller-revision-hash"}
_INDEX = "batch.kubernetes.io/job-completion-index"


class ChronicleOf:
    """A Chronicle, and what it has told."""

    def __init__(self, chronicle: Chronicle | None = None) -> None:
        self.chronicle = chronicle or Chronicle()
        self.happenings: list[Happening] = []

    def pod(self, old: Object | None, new: Object | None, now: float) -> None:
        before, after = (item.view if item is not None else None for item in (old, new))
        self.happenings += self.chronicle.of_pod(before, after, {}, now)


class Pods:
    """The pods of one owner, unless another is named. Each change is `step` seconds later."""

    def __init__(self, told: ChronicleOf, kind: str = "ReplicaSet") -> None:
        self.told, self.kind, self.now, self.step = told, kind, 1000.0, 1.0
        self._pods: dict[str, Object] = {}
        self._replicas: Object | None = None
        self._number = 0

    def later(self, seconds: float) -> None:
        self.now += seconds

    def created(self, name: str, *, owner: str = "web", revision: str = "1", index: str = "") -> None:
        self._number += 1
        metadata: Raw = {"name": name, "namespace": "default", "uid": f"{name}-{self._number}", "labels": {}}
        if self.kind:
            label = _LABELS.get(self.kind)
            owner = f"{owner}-{revision}" if self.kind == "ReplicaSet" else owner
            metadata["ownerReferences"] = [{"kind": self.kind, "name": owner, "uid": f"u-{owner}", "controller": True}]
            metadata["labels"] = {label: revision} if label else {}
        if index:
            metadata["labels"][_INDEX] = index
        self._change(name, {"metadata": metadata, "spec": {"containers": []}, "status": {}})

    def gets_node(self, name: str, node: str) -> None:
        self._change(name, {**self._raw(name), "spec": {"containers": [], "nodeName": node}})

    def placed(self, name: str, node: str, *, owner: str = "web", revision: str = "1", index: str = "") -> None:
        self.created(name, owner=owner, revision=revision, index=index)
        self.gets_node(name, node)

    def evicted(
        self, name: str, node: str, *, owner: str = "web", revision: str = "1", index: str = "", gone: bool = True
    ) -> None:
        """A drain evicts a pod, which was there before if it was not told of."""
        self._there(name, node, owner=owner, revision=revision, index=index)
        conditions = [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]
        self._going(name, {"conditions": conditions}, gone=gone)

    def deleted(self, name: str, node: str, *, owner: str = "web", revision: str = "1", gone: bool = True) -> None:
        self._there(name, node, owner=owner, revision=revision)
        self._going(name, {}, gone=gone)

    def failed(self, name: str, node: str, *, reason: str = "") -> None:
        self._there(name, node)
        conditions = [{"type": "DisruptionTarget", "status": "True", "reason": reason}] if reason else []
        self._change(name, {**self._raw(name), "status": {"phase": "Failed", "conditions": conditions}})

    def gone(self, name: str) -> None:
        self.now += self.step
        self.told.pod(self._pods.pop(name), None, self.now)

    def has_replicas(self, number: int, revision: str = "1") -> None:
        raw = {"metadata": {"name": f"web-{revision}", "uid": f"u-web-{revision}"}, "spec": {"replicas": number}}
        after = Object(KINDS.REPLICA_SET, f"default/web-{revision}", 1, raw=raw)
        self.told.chronicle.replica_set_changed(self._replicas, after, self.now)
        self._replicas = after

    def told_placed(self) -> list[str]:
        return [
            f"{happening.subject.rpartition('/')[2]} {happening.kind} {happening.detail}"
            for happening in self.told.happenings
            if happening.kind in ("placed", "moved")
        ]

    def _there(self, name: str, node: str, **about: str) -> None:
        if name not in self._pods:
            told, self.told = self.told, ChronicleOf()
            self.placed(name, node, **about)
            self.told = told

    def _going(self, name: str, status: Raw, *, gone: bool) -> None:
        raw = self._raw(name)
        metadata = {**raw["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        self._change(name, {**raw, "metadata": metadata, "status": status})
        if gone:
            self.gone(name)

    def _raw(self, name: str) -> Raw:
        return dict(self._pods[name].raw)

    def _change(self, name: str, raw: Raw) -> None:
        self.now += self.step
        after = Object(KINDS.POD, f"default/{name}", 1, raw=raw)
        self.told.pod(self._pods.get(name), after, self.now)
        self._pods[name] = after
