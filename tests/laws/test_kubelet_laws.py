"""Simulated kubelets, whatever happens: no node takes more than it has, and every pod gets somewhere.

Pods and nodes come and go in any order, pods are replaced by others of their name, events come late, the process is
killed and comes back. Pods that run never ask for more than their node has. In the end every pod whose node is there
runs or is over, and those that were to go are gone.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices

from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.run.actions import Remove, WriteStatus
from moorage.run.admission import Admission
from moorage.run.kubelet_state import KubeletState
from moorage.run.simulated_pod import SimulatedPod

Raw = dict[str, Any]
Step = tuple[Any, ...]
CPUS, PODS, NODES = 4, 4, 2
LONG = 3_000.0

_POD, _NODE = st.integers(0, PODS - 1), st.integers(0, NODES - 1)
_SCRIPT = st.fixed_dictionaries(
    {"stop-delay": st.sampled_from(["0", "90s", "90s"])},
    optional={
        "start-delay": st.sampled_from(["0", "5s"]),
        "completes-after": st.sampled_from(["1s", "700s"]),
        "exit-code": st.sampled_from(["0", "1"]),
    },
)
_POLICY = st.sampled_from(["Always", "OnFailure", "Never"])
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("bind"), _POD, _NODE, st.integers(1, 4), _POLICY, _SCRIPT),
    st.tuples(st.just("bind"), _POD, _NODE, st.integers(1, 4), _POLICY, _SCRIPT),
    st.tuples(st.just("delete"), _POD),
    st.tuples(st.just("drop"), _POD),
    st.tuples(st.just("node"), _NODE),
    st.tuples(st.just("drop node"), _NODE),
    st.tuples(st.just("time"), st.sampled_from([0.0, 1.0, 11.0, 1000.0])),
    st.tuples(st.just("hold")),
    st.tuples(st.just("tell")),
    st.tuples(st.just("restart")),
)


class World:
    """A server that takes what kubelets write, and tells them of all that happens, at once or later."""

    def __init__(self, machine: type[KubeletState]) -> None:
        self._machine = machine
        self.now = 1_000_000.0
        self.pods: dict[str, Raw] = {}
        self.nodes: set[str] = set()
        self._uids = 0
        self._held: list[str] | None = None
        self.state = self._fresh()

    def _fresh(self) -> KubeletState:
        return self._machine(Admission(default_gates()))

    def happen(self, step: Step) -> None:
        what, key = step[0], f"default/p{step[1]}" if len(step) > 1 else ""
        if what == "bind":
            self._bind(key, *step[2:])
        elif what == "delete" and key in self.pods:
            metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
            self.pods[key] = {**self.pods[key], "metadata": self.pods[key]["metadata"] | metadata}
            self._tell(key)
        elif what == "drop" and self.pods.pop(key, None) is not None:
            self._tell(key)
        elif what == "node":
            self.nodes.add(f"n{step[1]}")
            self._tell_node(f"n{step[1]}")
        elif what == "drop node" and f"n{step[1]}" in self.nodes:
            self.nodes.remove(f"n{step[1]}")
            self.state.node_gone(f"n{step[1]}")
        elif what == "time":
            self._wait(step[1])
        elif what == "hold" and self._held is None:
            self._held = []
        elif what in ("tell", "restart"):
            if what == "restart":
                self.state = self._fresh()
            self._catch_up(list(self.pods) if what == "restart" else None)
        self._carry_out()

    def _bind(self, key: str, node: int, cpu: int, policy: str, script: Raw) -> None:
        self._uids += 1
        annotations = {f"simulate.moorage.dev/{name}": value for name, value in script.items()}
        metadata = {"name": key[8:], "namespace": "default", "uid": str(self._uids), "annotations": annotations}
        containers = [{"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}]
        spec = {"nodeName": f"n{node}", "restartPolicy": policy, "containers": containers}
        self.pods[key] = {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
        self._tell(key)

    def _tell_node(self, name: str) -> None:
        amounts = {"cpu": str(CPUS), "pods": "100"}
        node = {"metadata": {"name": name}, "status": {"allocatable": amounts, "capacity": amounts}}
        self.state.node_changed(convert_view(node, Node), self.now)

    def _tell(self, *keys: str) -> None:
        if self._held is not None:
            self._held += keys
            return
        changed = {}
        for key in keys:
            if key in self.pods:
                changed[key] = convert_view(self.pods[key], Pod)
            else:
                self.state.pod_gone(key)
        self.state.pods_changed(changed.items(), self.now)

    def _catch_up(self, keys: list[str] | None) -> None:
        held, self._held = self._held or [], None
        if keys is not None:
            for name in self.nodes:
                self._tell_node(name)
        self._tell(*(held if keys is None else keys))

    def _carry_out(self) -> None:
        for action in self.state.due(self.now):
            if not isinstance(action, WriteStatus | Remove):
                continue
            pod = self.pods.get(action.key)
            if pod is None or pod["metadata"]["uid"] != action.uid:
                continue
            if isinstance(action, WriteStatus):
                self.pods[action.key] = {**pod, "status": {**pod["status"], **action.status}}
            else:
                assert "deletionTimestamp" in pod["metadata"], "nobody wanted it gone"
                del self.pods[action.key]
            self._tell(action.key)
            self.check()

    def _wait(self, seconds: float) -> None:
        until = self.now + seconds
        while (at := self.state.next_time()) <= until:
            self.now = max(self.now, at)
            self._carry_out()
        self.now = until

    def check(self) -> None:
        """Pods that run have room."""
        used: dict[str, int] = {}
        for pod in self.pods.values():
            if pod["status"]["phase"] == "Running":
                node = pod["spec"]["nodeName"]
                used[node] = used.get(node, 0) + int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        assert all(amount <= CPUS for amount in used.values()), used

    def end(self) -> None:
        """All is told and there is time enough."""
        self._catch_up(None)
        self._wait(LONG)
        self.check()
        for pod in self.pods.values():
            if pod["spec"]["nodeName"] in self.nodes:
                assert "deletionTimestamp" not in pod["metadata"]
                assert pod["status"]["phase"] in ("Running", "Succeeded", "Failed")


def _play(steps: list[Step], machine: type[KubeletState] = KubeletState) -> None:
    world = World(machine)
    for number in range(NODES):
        world.happen(("node", number))
    for step in steps:
        world.happen(step)
        world.check()
    world.end()


@LAW_SETTINGS
@given(st.lists(STEPS, min_size=12, max_size=40))
def test_no_node_takes_more_than_it_has_and_every_pod_gets_somewhere(steps: list[Step]) -> None:
    _play(steps)


class _Forgetful(KubeletState):
    """Gives a pod's place away as soon as the pod is to stop."""

    def _stop(self, key: str, life: SimulatedPod, now: float) -> None:
        super()._stop(key, life, now)
        self._release(life)


class _Lazy(KubeletState):
    """Does not look at a pod again that it has started."""

    def _seen_again(self, key: str, life: SimulatedPod, pod: Pod, now: float) -> None:
        life.pod = pod


def test_the_law_notices_who_gives_places_away_too_early() -> None:
    @UNTIL_NOTICED
    @given(st.lists(STEPS, min_size=12, max_size=40))
    def law(steps: list[Step]) -> None:
        _play(steps, _Forgetful)

    assert_notices(law)


def test_the_law_notices_who_leaves_pods_behind() -> None:
    @UNTIL_NOTICED
    @given(st.lists(STEPS, min_size=12, max_size=40))
    def law(steps: list[Step]) -> None:
        _play(steps, _Lazy)

    assert_notices(law)
