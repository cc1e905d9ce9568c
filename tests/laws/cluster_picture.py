"""All that plugins can learn from a cluster, by names and values, so that two clusters can be compared.

Slots, codes and the order of events are left out: they are a cluster's own business.
"""

from collections.abc import Mapping
from typing import Any

from moorage.columns.attachments import Disk
from moorage.columns.cluster import Cluster
from moorage.columns.codes import ABSENT
from moorage.columns.owned_terms import term_key
from moorage.columns.pod_classes import DomainCounts, Label, PodCounts

_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_KEYS = (_ZONE, _HOST, "gen", "version")
_RESOURCES = ("cpu", "memory", "pods", "example.com/gpu")
_DRIVER = "disks.example.com"
_WEB: Label = ("app", "web")


class Watch:
    """Counts as plugins keep them: asked for once, and followed slot by slot from then on."""

    def __init__(self, cluster: Cluster) -> None:
        def is_web(namespace: str, labels: Mapping[str, str], deleting: bool) -> bool:
            return namespace == "default" and _WEB in labels.items() and not deleting

        def is_in_team_a(namespace: str, labels: Mapping[str, str], deleting: bool) -> bool:
            return cluster.namespaces.get(namespace, {}).get("team") == "a"

        self._cluster = cluster
        self._namespaces = self._position = -1
        self.counts: dict[str, PodCounts] = {
            "web": cluster.count_pods("web", is_web, (_WEB,)),
            "team a": cluster.count_pods("team a", is_in_team_a, reads_namespaces=True),
        }
        columns = [cluster.nodes.label(key) for key in _KEYS]
        sources = [(self.counts["web"], 1), (self.counts["team a"], -3)]
        self.domains = [DomainCounts(column, sources) for column in columns]
        for column in columns:
            column.members(ABSENT)
        self._recount()

    def catch_up(self) -> None:
        cluster = self._cluster
        changed = cluster.nodes.changes.since(self._position)
        if changed is None or self._namespaces != cluster.namespace_generation:
            self._recount()
            return
        self._position = cluster.nodes.changes.position
        for domain in self.domains:
            for slot in changed:
                domain.follow(slot)

    def _recount(self) -> None:
        self._namespaces = self._cluster.namespace_generation
        self._position = self._cluster.nodes.changes.position
        for domain in self.domains:
            domain.recount()


class _Names(dict[int, str]):
    """The node in each slot; whoever asks for another slot has kept something of a node that is gone."""

    def __missing__(self, slot: int) -> str:
        return f"empty slot {slot}"


def picture(watch: Watch, cluster: Cluster) -> dict[str, Any]:
    """What a cluster is like now."""
    watch.catch_up()
    nodes, storage = cluster.nodes, cluster.storage
    name_of = _Names({slot: node.metadata.name for slot, node in nodes})
    pods = {record.key: record for there in cluster.pods_on for record in there.values()}
    drivers = storage.attachments
    arrays = {
        **{f"allocatable {resource}": nodes.allocatable(resource) for resource in _RESOURCES},
        **{f"free {resource}": nodes.free(resource) for resource in _RESOURCES},
        "cpu as scored": cluster.non_zero_cpu_array.values,
        "memory as scored": cluster.non_zero_memory_array.values,
        "alive": nodes.alive,
        "unschedulable": nodes.unschedulable,
        "taints": nodes.taints,
        "attached": drivers.counts(_DRIVER),
        **{f"label {key}": nodes.label(key).codes for key in _KEYS},
    }
    columns = [nodes.label(key) for key in _KEYS]
    return {
        "nodes": {name: nodes.node(slot) for slot, name in name_of.items()},
        "ties": {name: int(nodes.tie[slot]) for slot, name in name_of.items()},
        "taint sets": {name: nodes.taint_sets.sets[nodes.taints[slot]] for slot, name in name_of.items()},
        "labels": [{name: c.values.values[c.codes[slot]] for slot, name in name_of.items()} for c in columns],
        "members": [
            {
                value: {name_of[s] for s in c.members(code)}
                for value, code in c.values.code_of.items()
                if c.members(code)
            }
            for c in columns
        ],
        "numbers": {
            what: {name: int(array[slot]) for slot, name in name_of.items()}
            for what, array in arrays.items()
            if what != "taints" and not what.startswith("label")
        },
        "left behind": [what for what, array in arrays.items() if array[~nodes.alive].any()],
        "images": {
            image: {name_of[slot]: size for slot, size in sizes.items()}
            for image, sizes in nodes.images.items()
            if sizes
        },
        "pods": {key: (name_of[record.slot], record.pod) for key, record in pods.items()},
        "records": dict(cluster.pods) == pods,
        "ports": {
            port: {name_of[slot]: dict(addresses) for slot, addresses in users.items()}
            for port, users in cluster.port_users.items()
            if users
        },
        "disks": {name_of[slot] for slot in cluster.disk_users.conflicts(Disk(("GCE disk", "shared"), False))},
        "claims": {key: {name_of[slot]: n for slot, n in users.items()} for key, users in storage.users.items()},
        "counts": {what: {name_of[s]: n for s, n in counts.on.items()} for what, counts in watch.counts.items()},
        "domains": [(domain.pods, _by_value(domain)) for domain in watch.domains],
        "terms": {
            (term.kind, term.weight, term_key(term.matcher)): {name_of[slot]: n for slot, n in term.owners.on.items()}
            for labels in ({}, {"app": "web"}, {"app": "db"})
            for term in cluster.affinity_terms.about(labels)
            if term.owners.on
        },
    }


def _by_value(domain: DomainCounts) -> dict[str | None, int]:
    counts = domain.counts
    return {value: int(counts[code]) for value, code in domain.column.values.code_of.items() if counts[code]}
