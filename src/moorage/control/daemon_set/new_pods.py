"""The pods of a DaemonSet as they are made: one for each node, pinned to it.

In: a DaemonSet, the hash of its revision, nodes. Out: documents that share all but their affinity. Kubernetes:
CreatePodTemplate, ReplaceDaemonSetPodNodeNameNodeAffinity.
"""

from collections.abc import Iterable

import msgspec

from moorage.client.protocol import Object
from moorage.control.daemon_set.daemon_pod import REVISION_HASH, TEMPLATE_GENERATION_LABEL
from moorage.control.framework.actions import Raw
from moorage.control.framework.pods_of import pod_from_template
from moorage.match.daemon_pods import daemon_tolerations, pinned_affinity
from moorage.model.types.workload import DaemonSet

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def template_generation(daemon_set: Object) -> str:
    """How often the template has changed, as the API server counts it; empty if it does not say."""
    text: str = daemon_set.view.metadata.annotations.get(_TEMPLATE_GENERATION, "")
    return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 19 else ""


def daemon_pods(daemon_set: Object, hash_: str, nodes: Iterable[str]) -> list[Raw]:
    view: DaemonSet = daemon_set.view
    base = pod_from_template(daemon_set, daemon_set.raw["spec"].get("template") or {})
    labels = {**(base["metadata"].get("labels") or {}), REVISION_HASH: hash_}
    generation = template_generation(daemon_set)
    if generation:
        labels[TEMPLATE_GENERATION_LABEL] = generation
    base["metadata"]["labels"] = labels
    spec = view.spec.template.spec
    tolerations = daemon_tolerations(spec.tolerations, host_network=spec.hostNetwork)
    written = [
        {name: value for name, value in one.items() if value not in ("", None)}
        for one in msgspec.to_builtins(tolerations)
    ]
    affinity = base["spec"].get("affinity")
    return [
        {**base, "spec": {**base["spec"], "tolerations": written, "affinity": pinned_affinity(affinity, node)}}
        for node in nodes
    ]
