"""A change that may make a pod fit: what to write, and the pod or node as it would be then.

`taints`, `labels`, `resources`, `neighbours`, `volumes` and `devices` propose changes; `trials` tries them.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np

from moorage.admit.raw import Raw
from moorage.attach.originals.marks import without_marks
from moorage.columns.cluster import Cluster
from moorage.columns.devices.devices import DeviceObject
from moorage.model.kinds import Kind
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.node_changes import AddedNodes
from moorage.schedule.candidates import Candidates
from moorage.schedule.framework.plugin import ChosenSlots, Mask

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*|[0-9]+(m|Ki|Mi|Gi)")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
#: Words in the keys of labels and taints that state what a node is or has.
_FACT_WORDS = frozenset(
    {"version", "kubelet", "kernel", "driver", "firmware", "cuda", "os", "arch", "instance-type"}
    | {"capacity", "count", "memory", "cores", "gpu", "gpus"}
)
_VERSION = re.compile(r"v?[0-9]+(\.[0-9]+)+([-+_.][0-9A-Za-z.-]*)?")
_KEY_WORDS = re.compile(r"[a-z]+(?:-type)?")
A_FACT = "a fact about the node: change it only if it is no longer true, such as after an upgrade"
MAX_VALUES = 6  # of the values that would do, this many are tried: the nearest and those that open most nodes


def fact_note(key: str, value: str = "", *, is_compared: bool = False) -> str:
    """Return what to say of a change to a label or taint that states a fact, such as a version; else nothing.

    That is one whose key says so, whose value is a version, or which the pod compares as a number or version.
    """
    is_fact = is_compared or _VERSION.fullmatch(value) or _FACT_WORDS & set(_KEY_WORDS.findall(key.lower()))
    return A_FACT if is_fact else ""


class ChangeKind(StrEnum):
    """What is changed."""

    TOLERATION = "toleration"
    THRESHOLD = "threshold"
    NODE_TAINT = "nodeTaint"
    UNCORDON = "uncordon"
    NODE_SELECTOR = "nodeSelector"
    NODE_AFFINITY = "nodeAffinity"
    NODE_LABEL = "nodeLabel"
    RESOURCES = "resources"
    HOST_PORT = "hostPort"
    POD_AFFINITY = "podAffinity"
    POD_ANTI_AFFINITY = "podAntiAffinity"
    POD_LABEL = "podLabel"
    SPREAD = "topologySpread"
    VOLUME = "volume"
    DEVICE_CLAIM = "deviceClaim"
    DEVICE_CLASS = "deviceClass"
    DEVICE_COUNT = "deviceCount"
    DEVICE_SELECTOR = "deviceSelector"
    DEVICE_TAINT = "deviceTaint"
    DEVICE_THRESHOLD = "deviceThreshold"
    DEVICE_TOLERATION = "deviceToleration"
    SCHEDULING_GATE = "schedulingGate"
    SCHEDULER = "schedulerName"
    PRIORITY = "priority"
    OTHER_POD = "otherPod"
    REPLICAS = "replicas"
    STRATEGY = "strategy"
    MORE_NODES = "moreNodes"
    QUOTA = "quota"
    STORAGE_CLASS = "storageClass"
    RUNTIME_CLASS = "runtimeClass"


#: First words of summaries that say what to do.
_IMPERATIVES = frozenset({"add", "create", "delete", "drop", "label", "move", "remove", "uncordon"})
#: What to do with what other summaries begin with; nothing, where they say what is in the way.
_VERBS = {
    ChangeKind.THRESHOLD: "Change the ",
    ChangeKind.NODE_AFFINITY: "Change the ",
    ChangeKind.POD_AFFINITY: "Change the ",
    ChangeKind.POD_ANTI_AFFINITY: "Change the ",
    ChangeKind.SPREAD: "Change the ",
    ChangeKind.RESOURCES: "Request less: ",
    ChangeKind.PRIORITY: "Use ",
    ChangeKind.STRATEGY: "Use ",
    ChangeKind.MORE_NODES: "Add ",
    ChangeKind.VOLUME: "",
}


class ObjectPatch(msgspec.Struct, frozen=True):
    """A merge patch of an object of the cluster."""

    kind: Kind
    namespace: str
    name: str
    patch: Raw


class Change(msgspec.Struct, frozen=True):
    """One change. `part` is what it is about: of changes to the same part, only some are worth showing.

    `size` says how large it is: a number moved is less than a line added, that less than a line dropped, and what
    an administrator has to do (on a node, to a volume) is the most. `move` orders changes of equal size.
    """

    kind: ChangeKind
    part: str
    summary: str
    size: int
    pod: Pod | None = None
    node: Node | None = None
    written: Pod | None = None  # the pod as it is written, where admission adds to it
    for_siblings: bool = False  # other pods of the workload are in the way, which the same change concerns
    gone: str = ""  # another pod that would have to leave
    devices: tuple[DeviceObject, ...] = ()  # claims and classes as they would be
    removed: tuple[DeviceObject, ...] = ()
    patches: tuple[ObjectPatch, ...] = ()  # of other objects, such as a quota, or of the workload's replicas
    recreated: tuple[ObjectPatch, ...] = ()  # objects that have to be deleted and made again with this patch
    added: AddedNodes | None = None
    recreates: bool = False  # with strategy Recreate: new pods have to wait until all old ones are gone
    yaml: str = ""
    command: str = ""
    note: str = ""  # what to know before it is done
    move: float = 0

    @property
    def sentence(self) -> str:
        """The summary as a sentence: it begins with what to do, unless it says what is in the way."""
        verb = "" if self.summary.partition(" ")[0] in _IMPERATIVES else _VERBS.get(self.kind, "Change ")
        return f"{verb}{self.summary}" if verb else f"{self.summary[:1].upper()}{self.summary[1:]}"

    @property
    def template(self) -> Pod | None:
        """The changed pod as the workload's template has it: without what admission adds."""
        return self.written if self.written is not None else self.pod


class Blockers:
    """The nodes that each plugin refuses, so that proposals are about nodes that one change can open.

    `among` are the nodes in question. With `only_plugins`, what others say is left aside for the moment, and so is
    whatever else these plugins object to: a proposal need not be enough.
    """

    def __init__(
        self, pod: Pod, candidates: Candidates, among: Mask, only_plugins: frozenset[str] | None = None
    ) -> None:
        self.pod = pod
        self.cluster: Cluster = candidates.cluster
        self.among = among
        self._wants = {plugin.name: prepared.want for plugin, prepared in candidates.prepared.items()}
        self.partial = only_plugins is not None
        self._refused: dict[str, Mask] = {}
        for plugin, prepared in candidates.prepared.items():
            if only_plugins is not None and plugin.name not in only_plugins:
                continue
            if prepared.rejection is not None:
                self._refused[plugin.name] = among.copy()
        for item in candidates.filters:
            name = item.plugin.name
            if name in self._refused or (only_plugins is not None and name not in only_plugins):
                continue
            refused = among & ~candidates.mask(item)
            if refused.any():
                self._refused[name] = refused

    def only(self, *plugins: str) -> ChosenSlots:
        """Return the slots that these plugins refuse, one or several of them, and no other plugin."""
        refused = np.zeros(len(self.among), np.bool_)
        others = np.zeros(len(self.among), np.bool_)
        for name, mask in self._refused.items():
            if name in plugins:
                refused |= mask
            else:
                others |= mask
        return np.flatnonzero(refused & ~others)

    def want(self, plugin: str) -> Any:
        """Return what a plugin has prepared for the pod."""
        return self._wants.get(plugin)

    def refuses(self, plugin: str, slot: int) -> bool:
        mask = self._refused.get(plugin)
        return mask is not None and bool(mask[slot])

    def number(self) -> Any:
        return sum((mask.astype(np.int64) for mask in self._refused.values()), np.zeros(len(self.among), np.int64))


def with_spec(pod: Pod, **changes: Any) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **changes))


def with_affinity(pod: Pod, **changes: Any) -> Pod:
    if pod.spec.affinity is None:
        return pod
    return with_spec(pod, affinity=msgspec.structs.replace(pod.spec.affinity, **changes))


def replaced(items: Iterable[Any], index: int, *instead: Any) -> tuple[Any, ...]:
    """Return the items with others, or nothing, in the place of one."""
    kept = tuple(items)
    return (*kept[:index], *instead, *kept[index + 1 :])


def as_yaml(value: Any) -> str:
    """Write a value in block style, as users write it. Strings that some reader of YAML misreads are quoted."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes more than it has to: `y`, `1e3` and `0o7` are no strings to the API server. Repeats, never refers."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')

    Dumper.add_representer(str, represent)
    text: str = yaml.dump(without_marks(value), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000)
    return text.removesuffix("\n")


def few(values: Iterable[tuple[Any, int]]) -> list[Any]:
    """Of (value, nodes) pairs, nearest value first, those worth a try: the nearest, the furthest, the commonest."""
    pairs = list(values)
    if len(pairs) <= MAX_VALUES:
        return [value for value, _ in pairs]
    common = sorted(range(1, len(pairs) - 1), key=lambda i: -pairs[i][1])[: MAX_VALUES - 2]
    return [pairs[i][0] for i in sorted({0, len(pairs) - 1, *common})]
