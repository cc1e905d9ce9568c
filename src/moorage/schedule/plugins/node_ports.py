"""NodePorts: filter out nodes on which a host port of the pod is in use.

Two pods cannot have the same port and protocol on one node unless both name an address and the addresses differ.
Kubernetes: pkg/scheduler/framework/plugins/nodeports. Differs: the detail names the port.
"""

from collections.abc import Collection, Iterator

import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.shape import EVERY_ADDRESS, HostPort, Shape, host_ports, ports_conflict
from moorage.schedule.framework.events import Event, EventKind, Key, on
from moorage.schedule.framework.plugin import SKIP, Code, Mask, Plugin, Prepared, Verdict, unschedulable

REASON = "node(s) didn't have free ports for the requested pod ports"
_Want = tuple[HostPort, ...]


def _had_a_port_of_ours(want: _Want, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return any(ports_conflict(port, freed) for freed in host_ports(event.old.spec) for port in want)


def _numbers(want: _Want, shape: Shape, cluster: Cluster) -> tuple[Key, ...]:
    return tuple((protocol, number) for _, protocol, number in want)


def _freed_numbers(event: Event) -> Iterator[Key]:
    return ((protocol, number) for _, protocol, number in host_ports(event.old.spec))


class NodePorts(Plugin[_Want]):
    """The NodePorts plugin."""

    name = "NodePorts"
    answers_by_needs = True
    refuses_with = Code.UNSCHEDULABLE
    only_reason = REASON
    requeue_on = (
        on(EventKind.NODE_ADDED),
        on(EventKind.POD_REMOVED, hint=_had_a_port_of_ours, needs=_numbers, keys=_freed_numbers),
    )

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        return Prepared(shape.host_ports, scores=False) if shape.host_ports else SKIP

    def filter(self, want: _Want, cluster: Cluster) -> Mask:
        mask = np.ones(cluster.nodes.slots.capacity, np.bool_)
        for address, protocol, number in want:
            users = cluster.port_users.get((protocol, number))
            if not users:
                continue
            if address == EVERY_ADDRESS:
                taken = np.fromiter(users, np.int64, len(users))
            else:
                taken = np.array([slot for slot, used in users.items() if collides(address, used)], np.int64)
            mask[taken] = False
        return mask

    def withstands(self, want: _Want, cluster: Cluster, slot: int) -> bool:
        return self.filter_slot(want, cluster, slot)

    def explain(self, want: _Want, cluster: Cluster, slot: int) -> Verdict | None:
        taken = [port for port in want if is_taken(port, cluster, slot)]
        return unschedulable(REASON, *(_described(port, cluster, slot) for port in taken)) if taken else None


def collides(address: str, used: Collection[str]) -> bool:
    """Return whether a port at this address conflicts with its uses at other addresses."""
    if address == EVERY_ADDRESS:
        return len(used) > 0
    return EVERY_ADDRESS in used or address in used


def is_taken(port: HostPort, cluster: Cluster, slot: int) -> bool:
    """Return whether a pod on the node has the port."""
    address, protocol, number = port
    users = cluster.port_users.get((protocol, number))
    return users is not None and slot in users and collides(address, users[slot])


def _described(port: HostPort, cluster: Cluster, slot: int) -> str:
    address, protocol, number = port
    users = cluster.pods_on[slot].values()
    holders = sorted(user.key for user in users for used in user.shape.host_ports if ports_conflict(port, used))
    return f"host port {number}/{protocol} at {address} is in use by {', '.join(dict.fromkeys(holders))}"
