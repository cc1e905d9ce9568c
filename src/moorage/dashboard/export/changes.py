"""Write the changes of a command line as the question `what-if` takes them: a saved page shows its answer."""

from collections.abc import Iterable
from typing import Any

from moorage.dashboard.questions.changing.changes import MAX_TEXT
from moorage.lint.sources import STDIN, opened, sources_of
from moorage.plan.node_changes import ALL_NODES
from moorage.plan.what_if import Changes

Asked = dict[str, Any]


def asked_changes(changes: Changes) -> list[Asked] | None:
    """Return the changes in the order in which they are made; None if the question cannot be asked of them."""
    manifests = _manifests(changes.files)
    if manifests is None:
        return None
    return [
        *({"apply": text} for text in manifests),
        *(
            {"taint": {"nodes": _nodes(one.node), "key": one.key, "value": one.value, "effect": one.effect}}
            for one in changes.taints
        ),
        *({"untaint": {"nodes": _nodes(one.node), "key": one.key, "effect": one.effect}} for one in changes.untaints),
        *({"label": {"nodes": _nodes(one.node), "key": one.key, "value": one.value}} for one in changes.labels),
        *({"scale": {"workload": one.workload, "replicas": one.replicas}} for one in changes.scales),
        *({"addNodes": {"count": one.count, "like": one.like}} for one in changes.adds),
        *({"cordon": name} for name in changes.cordons),
        *({"drain": name} for name in changes.drains),
        *({"remove": name} for name in changes.removes),
    ]


def _manifests(files: Iterable[str]) -> list[str] | None:
    """Return the texts; None if one cannot be read twice, or at all, or is longer than a question."""
    texts = []
    if STDIN in files:
        return None
    for source in sources_of(files):
        try:
            with opened(source) as stream:
                texts.append(stream.read(MAX_TEXT + 1).decode())
        except (OSError, UnicodeDecodeError):
            return None
    return texts if all(len(text) <= MAX_TEXT for text in texts) else None


def _nodes(named: str) -> Any:
    if named == ALL_NODES:
        return "all"
    if named.startswith("{"):
        key, _, value = named[1:-1].partition("=")
        return {"label": {"key": key, "value": value}}
    return [named]
