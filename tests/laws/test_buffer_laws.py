"""Law of CapacityBuffers: pods like those of a buffer find nodes at once, and no room is given up meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.test_autoscale_laws import POOLS, SETTLED, WORKLOADS, Pool, Workload, manifests, written
from tests.unit.autoscale.autoscaled import CLUSTER_AUTOSCALER, KARPENTER, Autoscaled, buffer, deployment

from moorage.autoscale.karpenter.consolidation import Consolidator
from moorage.autoscale.snapshot import Snapshot
from moorage.autoscale.timeline import Did
from moorage.pools.node_template import Scaler

MOST, SEARCH = examples(12), 120
BURST = {"apiGroup": "apps", "kind": "Deployment", "name": "burst"}


def law_of_room(scaler: Scaler, most: int = MOST) -> None:
    @settings(LAW_SETTINGS, max_examples=most)
    @given(WORKLOADS, POOLS, st.integers(1, 6), st.sampled_from([300, 900, 1800]), st.integers(0, 8))
    def law(workloads: list[Workload], bounded: list[Pool], size: int, cpu: int, fewer: int) -> None:
        pools = [(cpus, is_tainted, zone, 30) for cpus, is_tainted, zone, _ in bounded]
        documents = [*manifests(workloads), deployment("burst", 0, f"{cpu}m")]
        texts = [*written(scaler, pools), buffer("b", of=BURST, replicas=size)]
        words = ["scale-down-unneeded-time=1m", "scale-down-delay-after-add=1m"] if scaler is CLUSTER_AUTOSCALER else []
        world = Autoscaled(scaler, texts, *documents, words=words).until(600)
        controller = world.attached.controller
        before = len(controller.timeline.steps)
        world.scale("w0", min(fewer, workloads[0][0])).until(600 + SETTLED)
        started = [one for one in controller.timeline.steps[before:] if one.did is Did.REQUESTED]
        assert all(one.reason.startswith("replaces") for one in started), "room was given up and made again"
        assume(not controller.leaving and not controller.machines)
        held = set(controller.room.pods)
        assert len(held) == size
        left = size - len(held & controller.timeline.refused.keys())
        assert left == (size if any(not is_tainted for _, is_tainted, _, _ in pools) else 0)
        nodes = world.nodes
        world.scale("burst", left).until(600 + SETTLED + 1)
        waiting = [name for name in world.waiting() if name.startswith("burst-")]
        assert not waiting, f"{len(waiting)} of {left} pods wait on {nodes}"

    law()


@pytest.mark.parametrize("scaler", [KARPENTER, CLUSTER_AUTOSCALER])
def test_pods_of_a_buffer_find_room_at_once(scaler: Scaler) -> None:
    law_of_room(scaler)


@pytest.mark.parametrize("scaler", [KARPENTER, CLUSTER_AUTOSCALER])
def test_the_law_notices_buffers_that_are_one_pod_short(scaler: Scaler, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = Snapshot.hold
    monkeypatch.setattr(Snapshot, "hold", lambda self, pods: hold(self, dict(list(pods.items())[:-1])))
    assert_notices(lambda: law_of_room(scaler, SEARCH))


def test_the_law_notices_consolidation_that_forgets_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consolidator, "_held_on", lambda self, candidates: [])
    assert_notices(lambda: law_of_room(KARPENTER, SEARCH))
