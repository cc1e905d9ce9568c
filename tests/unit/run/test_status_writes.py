"""Status writes of pods that are being deleted: they never name the deletionTimestamp, and never end the deletion."""

from typing import Any

import msgspec
from tests.unit.run.simulation import simulating
from tests.unit.schedule.clusters import node, pod

from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.run.admission import Admission
from moorage.run.kubelet_state import KubeletState
from moorage.serve.requests.loopback import LoopbackClient

Raw = dict[str, Any]


class Watched(LoopbackClient):
    """A client that remembers its patches."""

    patches: list[Raw]

    def patch(self, *args: Any, **kwargs: Any) -> Any:
        self.patches.append(args[3])
        return super().patch(*args, **kwargs)


async def test_a_patch_of_status_names_the_uid_and_nothing_else_of_the_metadata() -> None:
    """Kubernetes v1.36.4: the kubelet's syncPod calls PatchPodStatus, a strategic merge patch of the subresource.

    The patch is the difference of two pods that have a status only, and the uid as a precondition: the kubelet's
    deletionTimestamp, which may be outdated, is dropped.
    """
    async with simulating(starts=False) as world:
        await world.node()
        kubelet = Watched(world.api, "kubelet")
        kubelet.patches = []
        await world.start(kubelet)
        await world.pod(finalizers=["example.com/wait"])
        await world.client.delete(KINDS.POD, "p", "default")
        await world.settle(60)
        stored = (await world.client.get(KINDS.POD, "p", "default")).raw
    written = [patch for patch in kubelet.patches if "containerStatuses" in patch.get("status", {})]
    assert len(written) >= 2
    assert all(patch.keys() == {"metadata", "status"} for patch in written)
    assert [patch["metadata"] for patch in written] == [{"uid": stored["metadata"]["uid"]}] * len(written)
    assert stored["metadata"]["deletionTimestamp"]
    assert stored["status"]["containerStatuses"][0]["state"].keys() == {"terminated"}


async def test_a_write_of_status_cannot_undo_a_deletion() -> None:
    """Kubernetes v1.36.4: podStatusStrategy clears the new pod's deletionTimestamp, and BeforeUpdate puts back the old.

    An update can never remove or change it, whatever the request says.
    """
    async with simulating() as world:
        await world.node()
        await world.pod(finalizers=["example.com/wait"])
        await world.client.delete(KINDS.POD, "p", "default")
        before = (await world.client.get(KINDS.POD, "p", "default")).raw["metadata"]["deletionTimestamp"]
        for stated in (None, "2001-01-01T00:00:00Z"):
            patch = {"metadata": {"deletionTimestamp": stated}, "status": {"message": f"{stated}"}}
            after = (await world.client.patch(KINDS.POD, "p", "default", patch, subresource="status")).raw
            assert (after["metadata"]["deletionTimestamp"], after["status"]["message"]) == (before, f"{stated}")


def _with(found: Any, **metadata: Any) -> Any:
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, **metadata))


def test_an_own_write_that_shows_a_deletion_is_not_passed_over() -> None:
    """A kubelet need not look at its own writes again, except at one whose pod is being deleted meanwhile.

    Kubernetes v1.36.4: syncPod works on the pod that it got from the API server just before, and canBeDeleted looks at
    that pod's deletionTimestamp.
    """
    state = KubeletState(Admission(default_gates()))
    state.node_changed(node("n"), 0.0)
    bound = _with(pod("p", nodeName="n"), uid="1")
    state.pod_changed("default/p", bound, 0.0)
    running = msgspec.structs.replace(bound, status=msgspec.structs.replace(bound.status, phase="Running"))
    assert state.wrote("default/p", bound, running)
    leaving = _with(running, deletionTimestamp="2026-01-01T00:00:00Z")
    gone = msgspec.structs.replace(leaving, status=msgspec.structs.replace(leaving.status, message="again"))
    state.pod_changed("default/p", leaving, 0.0)
    assert not state.wrote("default/p", leaving, gone)
    assert not state.wrote("default/p", running, gone)
