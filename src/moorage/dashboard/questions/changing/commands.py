"""Write changes as commands: those of kubectl that make them, and the `moorage plan` that asks the same."""

from collections.abc import Callable, Sequence
from itertools import groupby
from shlex import quote
from typing import TypeVar

from moorage.dashboard.questions.changing.changes import WantedChanges
from moorage.plan.input.inventory import Inventory
from moorage.plan.node_changes import ALL_NODES, LabelChange, TaintChange, UntaintChange
from moorage.plan.rollout import SCALED, find_workload

_Change = TypeVar("_Change", TaintChange, UntaintChange, LabelChange)
_DRAIN = "--ignore-daemonsets --delete-emptydir-data --force"
#: A command line names so many nodes; a further one names more.
_AT_ONCE = 500


def kubectl_commands(asked: WantedChanges, inventory: Inventory) -> list[str]:
    """Return the commands in the order in which the changes are made. Nodes are not added by any."""
    changes = asked.changes
    return [
        *map(_apply, asked.manifests.values()),
        *_of_nodes("taint", changes.taints, _taint, " --overwrite"),
        *_of_nodes("taint", changes.untaints, lambda one: f"{_untaint(one)}-", ""),
        *_of_nodes("label", changes.labels, _label, " --overwrite"),
        *(_scale(inventory, one.workload, one.replicas) for one in changes.scales),
        *(f"kubectl cordon {quote(name)}" for name in changes.cordons),
        *(f"kubectl drain {quote(name)} {_DRAIN}" for name in changes.drains),
        *(f"kubectl delete node {quote(name)}" for name in changes.removes),
    ]


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
        for one in several:
            if one.node == ALL_NODES:
                commands.append(f"kubectl {verb} nodes --all {quote(what)}{end}")
            elif one.node.startswith("{"):
                commands.append(f"kubectl {verb} nodes -l {quote(one.node[1:-1])} {quote(what)}{end}")
            else:
                names.append(quote(one.node))
        for first in range(0, len(names), _AT_ONCE):
            commands.append(f"kubectl {verb} nodes {' '.join(names[first : first + _AT_ONCE])} {quote(what)}{end}")
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


def plan_command(asked: WantedChanges, until: float | None) -> str:
    """Return the command line, but for what names the cluster."""
    changes = asked.changes
    options = [
        *(f"--change {name}" for name in asked.manifests),
        *(f"--taint {quote(f'{one.node}={_taint(one)}')}" for one in changes.taints),
        *(f"--untaint {quote(f'{one.node}={_untaint(one)}')}" for one in changes.untaints),
        *(f"--label {quote(f'{one.node}={_label(one)}')}" for one in changes.labels),
        *(f"--scale {quote(f'{one.workload}={one.replicas}')}" for one in changes.scales),
        *(f"--add-nodes {one.count} --like {quote(one.like)}" for one in changes.adds),
        *(f"--{verb} {quote(name)}" for verb in ("cordon", "drain", "remove") for name in getattr(changes, f"{verb}s")),
        *([f"--at {until:g}s"] if until is not None else ()),
    ]
    return " ".join(("moorage plan", *options))
