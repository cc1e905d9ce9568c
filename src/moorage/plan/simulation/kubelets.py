"""The kubelets of a simulation: the real state machine of `run`, fed at once and answered at once.

Leases are not simulated one by one: a Lease is shown to the node lifecycle controller right before it looks at the
node, and those of all nodes whose kubelet is alive before its pulse. Where no kubelet is down, there are no pulses. A
node that a cluster has, and whose Ready condition is not True, has a kubelet that is down. Unless `ends`, containers
run until their pod is deleted: a plan shows Jobs at work.
"""

import msgspec

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.events.event import Lease
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.simulation.api import NODE, POD, SimulatedApi
from moorage.plan.simulation.controllers import NODE_LIFECYCLE, Controllers
from moorage.run.admission import Admission
from moorage.run.device_claims import DeviceClaims
from moorage.run.kubelet_state import KubeletState, Remove, WriteStatus
from moorage.run.mounts import Mounts
from moorage.run.node_objects import LEASE_NAMESPACE, STOPPED, new_lease
from moorage.run.simulated_pod import COMPLETES_AFTER

_CLAIM, _VOLUME = KINDS["v1", "PersistentVolumeClaim"], KINDS["v1", "PersistentVolume"]
_RESOURCE_CLAIM = KINDS["resource.k8s.io/v1", "ResourceClaim"]
_LEASE = KINDS["coordination.k8s.io/v1", "Lease"]
KUBELET = "kubelet"
#: A time that no plan reaches.
NEVER_COMPLETES = "876000h"
_AT_ONCE = 256
_replace = msgspec.structs.replace


class SimulatedKubelets:
    """The kubelets of all nodes. `down` are the nodes whose kubelet does not answer."""

    def __init__(self, api: SimulatedApi, controllers: Controllers, gates: GateSet, *, ends: bool) -> None:
        self._api, self._controllers, self._ends = api, controllers, ends
        self._mounts, self._claims = Mounts(gates), DeviceClaims(gates)
        self.state = KubeletState(Admission(gates), self._mounts, self._claims, reports=False)
        self.down: set[str] = set()
        self._pods: dict[str, Pod] = {}
        self._leases: dict[str, Object] = {}
        api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is POD:
            if new is not None:
                pod: Pod = new.view
                if pod.spec.nodeName and not (
                    self._api.actor == KUBELET and old is not None and self.state.wrote(new.key, old.view, pod)
                ):
                    self._pods[new.key] = pod if self._ends else _endless(pod)
            elif old is not None:
                self._pods.pop(old.key, None)
                self.state.pod_gone(old.key)
            return
        now = self._api.clock.now
        if kind is NODE:
            if new is not None and self._is_alive(new.view, old):
                self.down.discard(new.name)
                self.state.node_changed(new.view, now)
                if self._api.clock.elapsed:
                    self._renew(new.view)
            elif (gone := new or old) is not None:
                (self.down.add if new is not None else self.down.discard)(gone.name)
                self.state.node_gone(gone.name)
        elif kind is _CLAIM or kind is _VOLUME:
            self._mounts.changed([Delta(old, new)])
            self.state.volumes_changed(now)
        elif kind is _RESOURCE_CLAIM:
            self._claims.changed([Delta(old, new)])
            if new is not None:
                self.state.claims_changed({new.key}, now)

    def _is_alive(self, node: Node, old: Object | None) -> bool:
        if node.metadata.annotations.get(STOPPED) == "true":
            return False
        if old is not None:
            return node.metadata.name not in self.down
        ready = next((one.status for one in node.status.conditions if one.type == "Ready"), "True")
        return ready == "True" or not node.metadata.resourceVersion

    def work(self) -> bool:
        """Take what was bound and do what is due, a few pods at a time. Return whether there was anything."""
        arrived, self._pods = self._pods, {}
        # Pods that run already have a right to their place.
        pods = sorted(arrived.items(), key=lambda pair: pair[1].status.phase in ("", "Pending"))
        worked = bool(pods)
        for start in range(0, len(pods), _AT_ONCE):
            self.state.pods_changed(pods[start : start + _AT_ONCE], self._api.clock.now)
            self._carry_out()
        return self._carry_out() or worked

    def _carry_out(self) -> bool:
        api = self._api
        actions = self.state.due(api.clock.now)
        api.actor = KUBELET
        for action in actions:
            if isinstance(action, WriteStatus):
                api.write_pod_status(action.key, action.uid, action.status)
            elif isinstance(action, Remove):
                found = api.world.get(POD, action.key)
                if found is not None and found.uid == action.uid:
                    api.delete(POD, found.name, found.namespace, uid=action.uid, grace_seconds=0)
        api.actor = ""
        return bool(actions)

    def renew_leases(self) -> None:
        """Show the node lifecycle controller a renewed Lease of every node that is alive."""
        for node in list(self.state.nodes.values()):
            self._renew(node)

    def _renew(self, node: Node) -> None:
        loop, name = self._controllers.loops.get(NODE_LIFECYCLE), node.metadata.name
        if loop is not None:
            document = new_lease(node, self._api.clock.now)
            lease = Object(_LEASE, f"{LEASE_NAMESPACE}/{name}", 0, view=convert_view(document, Lease))
            loop.changed(_LEASE, self._leases.get(name), lease)
            self._leases[name] = lease


def _endless(pod: Pod) -> Pod:
    """Return the pod as one that runs until it is deleted."""
    metadata = pod.metadata
    if COMPLETES_AFTER not in metadata.annotations and "Job" not in [one.kind for one in metadata.ownerReferences]:
        return pod
    annotations = {**metadata.annotations, COMPLETES_AFTER: NEVER_COMPLETES}
    return _replace(pod, metadata=_replace(metadata, annotations=annotations))
