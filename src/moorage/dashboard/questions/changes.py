"""Read the changes that a what-if is asked about, and write them as commands of kubectl and `moorage plan`.

Each change is an object with one name. They are made in the order of `plan`, whatever their order here: manifests,
taints, removed taints, labels, replicas, new nodes, cordons, evictions, drains, removals.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from shlex import quote
from typing import Any, TypeVar

import msgspec

from moorage.dashboard.questions.base import BadQuestion
from moorage.dashboard.state.page_names import DEVICE_EFFECTS
from moorage.lint.sources import Source
from moorage.plan.input.inventory import Inventory
from moorage.plan.node_changes import (
    ALL_NODES,
    EFFECTS,
    MAX_NODES,
    MAX_SECONDS,
    AddedNodes,
    LabelChange,
    ScaleChange,
    TaintChange,
    UntaintChange,
    with_label,
)
from moorage.plan.rollout import SCALED, find_workload
from moorage.plan.simulation.loading import MAX_PODS
from moorage.plan.what_if import Changes

MAX_CHANGES = 1_000
MAX_TEXT = 1 << 20
_RULE = "resource.k8s.io/v1beta2"


class WantedChanges(msgspec.Struct):
    """The changes, and the manifests that are applied first, by the names that the changes have for them."""

    changes: Changes
    manifests: dict[str, str]

    @property
    def adds_nodes(self) -> bool:
        """Whether there may be nodes afterwards that are not there now."""
        return bool(self.changes.adds or self.manifests)

    @property
    def sources(self) -> list[Source]:
        return [Source(name, content=text.encode()) for name, text in self.manifests.items()]


def read_changes(arguments: dict[str, Any]) -> WantedChanges:
    """Return the changes. Raises BadQuestion with the path of what is wrong."""
    given = arguments.get("changes")
    if not isinstance(given, list):
        raise BadQuestion("changes: must be a list")
    if len(given) > MAX_CHANGES:
        raise BadQuestion(f"changes: at most {MAX_CHANGES:,} are made together, not {len(given):,}")
    fields: dict[str, list[Any]] = {}
    manifests: dict[str, str] = {}
    for index, change in enumerate(given):
        path = f"changes[{index}]"
        if not isinstance(change, dict) or len(change) != 1:
            raise BadQuestion(f"{path}: must be an object with one name, such as taint or drain")
        ((name, what),) = change.items()
        if name == "apply":
            manifests[f"what-if-{len(manifests) + 1}.yaml"] = _text(what, f"{path}.apply", most=MAX_TEXT)
        elif name == "deviceTaint":
            rule = device_rule(what, f"{path}.deviceTaint", f"what-if-{len(manifests) + 1}")
            manifests[f"what-if-{len(manifests) + 1}.yaml"] = msgspec.yaml.encode(rule).decode()
        elif name in _READERS:
            field, read = _READERS[name]
            fields.setdefault(field, []).extend(read(what, f"{path}.{name}"))
        else:
            known = ", ".join((*_READERS, "deviceTaint", "apply"))
            raise BadQuestion(f"{path}: {str(name)[:80]!r} is no change; there are {known}")
    lists: dict[str, Any] = {field: tuple(all_) for field, all_ in fields.items()}
    changes = Changes(files=tuple(manifests), **lists)
    return WantedChanges(changes, manifests)


def read_until(arguments: dict[str, Any]) -> float | None:
    until = arguments.get("until")
    if until is None:
        return None
    if isinstance(until, bool) or not isinstance(until, int | float) or not 0 <= until <= MAX_SECONDS:
        raise BadQuestion(f"until: must be a number of seconds from 0 to {MAX_SECONDS}, or null")
    return float(until)


# -- one change -------------------------------------------------------------------------------------------------------


def _object(given: Any, path: str, fields: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadQuestion(f"{path}: must be an object")
    unknown = next((name for name in given if name not in fields), None)
    if unknown is not None:
        raise BadQuestion(f"{path}: has no field {str(unknown)[:80]!r}; there are {', '.join(fields)}")
    return given


def _text(given: Any, path: str, *, empty: bool = False, most: int = 1000) -> str:
    if not isinstance(given, str) or not (given or empty):
        raise BadQuestion(f"{path}: must be a text{'' if empty else ' that is not empty'}")
    if len(given) > most:
        raise BadQuestion(f"{path}: is longer than {most:,} characters")
    return given


def _effect(given: Any, path: str, effects: tuple[str, ...] = EFFECTS) -> str:
    if given not in effects:
        raise BadQuestion(f"{path}: must be one of {', '.join(effects)}")
    return str(given)


def _number(given: Any, path: str, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise BadQuestion(f"{path}: must be a number from {least} to {most:,}")
    return given


def _nodes(given: Any, path: str) -> list[str]:
    if given == "all":
        return [ALL_NODES]
    if isinstance(given, list):
        if not given or len(given) > MAX_NODES:
            raise BadQuestion(f"{path}: must name from 1 to {MAX_NODES:,} nodes")
        return [_node(name, f"{path}[{index}]") for index, name in enumerate(given)]
    if isinstance(given, dict) and list(given) == ["label"]:
        label = _object(given["label"], f"{path}.label", ("key", "value"))
        key = _text(label.get("key"), f"{path}.label.key")
        return [with_label(key, _text(label.get("value"), f"{path}.label.value", empty=True))]
    raise BadQuestion(f'{path}: must be a list of names, {{"label": {{"key": …, "value": …}}}} or "all"')


def _node(given: Any, path: str) -> str:
    name = _text(given, path)
    if name == ALL_NODES or name.startswith("{"):
        raise BadQuestion(f"{path}: {name[:80]!r} is no name of a node")
    return name


def _taints(given: Any, path: str) -> list[TaintChange]:
    what = _object(given, path, ("nodes", "key", "value", "effect"))
    key, value = _text(what.get("key"), f"{path}.key"), _text(what.get("value", ""), f"{path}.value", empty=True)
    effect = _effect(what.get("effect"), f"{path}.effect")
    return [TaintChange(node, key, value, effect) for node in _nodes(what.get("nodes"), f"{path}.nodes")]


def _untaints(given: Any, path: str) -> list[UntaintChange]:
    what = _object(given, path, ("nodes", "key", "effect", "value"))
    key = _text(what.get("key"), f"{path}.key")
    effect = _effect(what["effect"], f"{path}.effect") if what.get("effect") else ""
    return [UntaintChange(node, key, effect) for node in _nodes(what.get("nodes"), f"{path}.nodes")]


def _labels(given: Any, path: str) -> list[LabelChange]:
    what = _object(given, path, ("nodes", "key", "value"))
    key, value = _text(what.get("key"), f"{path}.key"), what.get("value")
    text = None if value is None else _text(value, f"{path}.value", empty=True)
    return [LabelChange(node, key, text) for node in _nodes(what.get("nodes"), f"{path}.nodes")]


def _only_nodes(given: Any, path: str) -> list[str]:
    """Read the nodes of a change that has nothing else: `{"nodes": …}`, or a name or several."""
    if isinstance(given, dict):
        return _nodes(_object(given, path, ("nodes",)).get("nodes"), f"{path}.nodes")
    return _nodes(given if isinstance(given, list) else [given], path)


def _pods(given: Any, path: str) -> list[str]:
    key = _text(given, path)
    if not all(key.partition("/")) or key.count("/") != 1:
        raise BadQuestion(f"{path}: {key[:80]!r} is not of the form NAMESPACE/NAME")
    return [key]


def _scales(given: Any, path: str) -> list[ScaleChange]:
    what = _object(given, path, ("workload", "replicas"))
    workload = _text(what.get("workload"), f"{path}.workload")
    return [ScaleChange(workload, _number(what.get("replicas"), f"{path}.replicas", 0, MAX_PODS))]


def _adds(given: Any, path: str) -> list[AddedNodes]:
    what = _object(given, path, ("count", "like"))
    return [
        AddedNodes(_number(what.get("count"), f"{path}.count", 1, MAX_NODES), _node(what.get("like"), f"{path}.like"))
    ]


#: By the name of a change: the field of `Changes`, and how its members are read.
_READERS: dict[str, tuple[str, Callable[[Any, str], list[Any]]]] = {
    "taint": ("taints", _taints),
    "untaint": ("untaints", _untaints),
    "label": ("labels", _labels),
    "drain": ("drains", _only_nodes),
    "remove": ("removes", _only_nodes),
    "cordon": ("cordons", _only_nodes),
    "evict": ("evicts", _pods),
    "scale": ("scales", _scales),
    "addNodes": ("adds", _adds),
}


def device_rule(given: Any, path: str, name: str) -> dict[str, Any]:
    """Return a DeviceTaintRule that taints the devices. Raises BadQuestion."""
    what = _object(given, path, ("driver", "pool", "device", "key", "value", "effect"))
    selector = {name: _text(what[name], f"{path}.{name}") for name in ("driver", "pool", "device") if what.get(name)}
    if not selector:
        raise BadQuestion(f"{path}: must name a driver, a pool or a device")
    taint = {
        "key": _text(what.get("key"), f"{path}.key"),
        "value": _text(what.get("value", ""), f"{path}.value", empty=True),
        "effect": _effect(what.get("effect"), f"{path}.effect", DEVICE_EFFECTS),
    }
    return {
        "apiVersion": _RULE,
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
        "spec": {"deviceSelector": selector, "taint": {name: text for name, text in taint.items() if text}},
    }


_Change = TypeVar("_Change", TaintChange, UntaintChange, LabelChange)
_DRAIN = " --ignore-daemonsets --delete-emptydir-data --force"
#: Cordon and drain have no --all.
_EVERY_NODE = "$(kubectl get nodes -o name)"
#: A command line names this many nodes; a further one names more.
_AT_ONCE = 500


def kubectl_commands(request: WantedChanges, inventory: Inventory) -> list[str]:
    """Return the commands in the order in which the changes are made. Nodes are not added by any."""
    changes = request.changes
    return [
        *map(_apply, request.manifests.values()),
        *_of_nodes("taint", changes.taints, _taint, " --overwrite"),
        *_of_nodes("taint", changes.untaints, lambda untaint: f"{_untaint(untaint)}-", ""),
        *_of_nodes("label", changes.labels, _label, " --overwrite"),
        *(_scale(inventory, scale.workload, scale.replicas) for scale in changes.scales),
        *_named("kubectl cordon", changes.cordons, _EVERY_NODE),
        *map(_eviction, changes.evicts),
        *_named("kubectl drain", changes.drains, _EVERY_NODE, _DRAIN),
        *_named("kubectl delete nodes", changes.removes, "--all"),
    ]


def kubectl_remarks(changes: Changes) -> list[str]:
    """Return what has no command, and what a command does not do, each with what to do instead."""
    remarks = [
        f"{added}: kubectl has no command. A node joins when its kubelet registers it: enlarge the node pool or the"
        " machine deployment, or start machines."
        for added in changes.adds
    ]
    if changes.removes:
        alone = "kubectl delete nodes removes the Node objects only"
        remarks.append(f"{alone}: stop the machines, or their kubelets register them again.")
    return remarks


def _eviction(key: str) -> str:
    """Return the command that asks the API server for an eviction: kubectl delete would pass by disruption budgets."""
    namespace, _, name = key.partition("/")
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
    document = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    text = msgspec.json.encode(document).decode()
    return f"kubectl create --raw {quote(path)} -f - <<'EOF'\n{text}\nEOF"


def _apply(text: str) -> str:
    end = "EOF"
    while end in text.splitlines():  # no line of a manifest may end the text, and be run as a command after it
        end += "_"
    return f"kubectl apply -f - <<'{end}'\n{text.rstrip()}\n{end}"


def _of_nodes(verb: str, changes: Sequence[_Change], written: Callable[[_Change], str], end: str) -> list[str]:
    """Return one command for each run of changes that differ by their nodes only."""
    commands = []
    for what, several in groupby(changes, written):
        names: list[str] = []
        for change in several:
            if change.node == ALL_NODES:
                commands.append(f"kubectl {verb} nodes --all {quote(what)}{end}")
            elif change.node.startswith("{"):
                commands.append(f"kubectl {verb} nodes -l {quote(change.node[1:-1])} {quote(what)}{end}")
            else:
                names.append(quote(change.node))
        for first in range(0, len(names), _AT_ONCE):
            commands.append(f"kubectl {verb} nodes {' '.join(names[first : first + _AT_ONCE])} {quote(what)}{end}")
    return commands


def _named(command: str, scopes: Sequence[str], every: str, end: str = "") -> list[str]:
    """Return one command for each scope; nodes that are named stand in one together."""
    commands: list[str] = []
    for is_name, several in groupby(scopes, lambda scope: scope != ALL_NODES and not scope.startswith("{")):
        if not is_name:
            commands.extend(
                f"{command} {every if one == ALL_NODES else f'-l {quote(one[1:-1])}'}{end}" for one in several
            )
            continue
        names = list(map(quote, several))
        for first in range(0, len(names), _AT_ONCE):
            commands.append(f"{command} {' '.join(names[first : first + _AT_ONCE])}{end}")
    return commands


def _taint(change: TaintChange) -> str:
    return f"{change.key}{change.value and f'={change.value}'}:{change.effect}"


def _untaint(change: UntaintChange) -> str:
    return f"{change.key}{change.effect and f':{change.effect}'}"


def _label(change: LabelChange) -> str:
    return f"{change.key}-" if change.value is None else f"{change.key}={change.value}"


def _scale(inventory: Inventory, workload: str, replicas: int) -> str:
    key = find_workload(inventory, workload, SCALED)
    return f"kubectl scale {key.kind.lower()}/{quote(key.name)} -n {quote(key.namespace)} --replicas={replicas}"


def plan_command(request: WantedChanges, until: float | None) -> str:
    """Return the command line, but for what names the cluster."""
    changes = request.changes
    options = [
        *(f"--change {name}" for name in request.manifests),
        *(f"--taint {quote(f'{taint.node}={_taint(taint)}')}" for taint in changes.taints),
        *(f"--untaint {quote(f'{untaint.node}={_untaint(untaint)}')}" for untaint in changes.untaints),
        *(f"--label {quote(f'{label.node}={_label(label)}')}" for label in changes.labels),
        *(f"--scale {quote(f'{scale.workload}={scale.replicas}')}" for scale in changes.scales),
        *(f"--add-nodes {added.count} --like {quote(added.like)}" for added in changes.adds),
        *(
            f"--{verb} {quote(name)}"
            for verb in ("cordon", "evict", "drain", "remove")
            for name in getattr(changes, f"{verb}s")
        ),
        *([f"--at {until:g}s"] if until is not None else ()),
    ]
    return " ".join(("moorage plan", *options))
