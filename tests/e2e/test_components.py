"""The components as processes of their own: they work together, take over from each other, and survive a restart."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.component_processes import Components, Process, components, until
from tests.e2e.kubectl import Kubectl

from moorage.client.leader_election import read_record

_POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "web:1"}]}}


class _Cluster:
    """What a user sees of it."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubectl = Kubectl(kubeconfig, kubeconfig.parent)

    def get(self, what: str) -> dict[str, Any]:
        ran = self._kubectl.run(f"get {what} -o json")
        found: dict[str, Any] = json.loads(ran.out) if ran.status == 0 else {}
        return found

    def run(self, name: str) -> None:
        self._kubectl("create -f -", json.dumps({**_POD, "metadata": {"name": name}}))
        self._kubectl(f"wait --for=jsonpath={{.status.phase}}=Running pod/{name} --timeout=120s")

    def phase(self, name: str) -> str:
        return str(self.get(f"pod {name}").get("status", {}).get("phase", ""))

    def leader(self) -> str:
        return read_record(self.get("lease kube-scheduler -n kube-system") or {}).holder


def _leading(made: Components, cluster: _Cluster, schedulers: list[Process]) -> Process:
    """The one of the schedulers that leads; it says so in its log."""
    leader = until(cluster.leader)
    for process in schedulers:
        if "Successfully acquired lease" in until(made.log_of(process).read_text):
            assert leader
            return process
    raise AssertionError(made.said())


DEVICES = ("--devices", "gpu.example.com=2")


def test_four_processes_are_a_cluster(tmp_path: Path) -> None:
    with components(tmp_path) as made:
        server = made.api_server()
        cluster = _Cluster(made.kubeconfig)
        schedulers = [made.scheduler()]
        first = until(cluster.leader)
        schedulers.append(made.scheduler())
        made.kubelet("--nodes", "2", "--node-prefix", "sim-", "--cpu", "3", "--memory", "1Gi", "--pods", "7", *DEVICES)
        cluster.run("one")
        nodes = cluster.get("nodes")["items"]
        assert [node["metadata"]["name"] for node in nodes] == ["sim-1", "sim-2"]
        amounts = nodes[0]["status"]["allocatable"]
        assert (amounts["cpu"], amounts["memory"], amounts["pods"]) == ("3", "1Gi", "7")
        slices = until(lambda: (found := cluster.get("resourceslices")["items"])[1:] and found)
        assert [len(one["spec"]["devices"]) for one in slices] == [2, 2]

        made.kill(_leading(made, cluster, schedulers))
        second = until(lambda: (leader := cluster.leader()) != first and leader)
        assert second
        cluster.run("two")

        made.stop(server)
        until(lambda: not cluster.get("nodes"))
        server = made.api_server()
        assert cluster.phase("one") == cluster.phase("two") == "Running"
        cluster.run("three")

        made.kill(server)
        made.api_server()
        cluster.run("four")
        renewed = cluster.get("lease sim-1 -n kube-node-lease")["spec"]["renewTime"]
        until(lambda: cluster.get("lease sim-1 -n kube-node-lease")["spec"]["renewTime"] > renewed)


def test_those_who_come_before_the_server_wait_for_it(tmp_path: Path) -> None:
    with components(tmp_path) as made:
        made.stop(made.api_server())
        kubelet, scheduler = made.kubelet(), made.scheduler("--no-leader-elect")
        until(lambda: "Nodes cannot be registered yet" in made.said())
        until(made.log_of(scheduler).read_text)  # it complains too
        assert kubelet.poll() is None
        assert scheduler.poll() is None
        made.api_server()
        _Cluster(made.kubeconfig).run("one")


def test_those_who_wait_can_be_stopped(tmp_path: Path) -> None:
    with components(tmp_path) as made:
        made.stop(made.api_server())
        waiting = [made.kubelet(), made.scheduler(), made.scheduler("--no-leader-elect")]
        for process in waiting:
            until(made.log_of(process).read_text)  # it complains
            made.stop(process)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ("kubelet", "--kubeconfig", "nowhere", "--wait-for-kubeconfig", "0"),
            2,
            "moorage: nowhere: cannot be read: ",
        ),
        (("kubelet", "--cpu", "many"), 2, "Invalid value for '--cpu': 'many'"),
        (("kubelet", "--nodes", "-1"), 2, "Invalid value for '--nodes'"),
        (("kubelet", "--node-prefix", "No Way"), 2, "Invalid value for '--node-prefix'"),
        (("kubelet", "--devices", "gpu=many"), 2, "Invalid value for '--devices': 'gpu=many': must be DRIVER=COUNT"),
        (("kubelet", "--devices", "nowhere.yaml"), 2, "Invalid value for '--devices': nowhere.yaml: No such file"),
        (("kubelet", "--feature-gates", "Nonsense=true"), 2, "unrecognized feature gate: Nonsense"),
        (("apiserver", "--ephemeral", "--data-dir", "x"), 2, "--ephemeral keeps nothing"),
        (("apiserver", "--ephemeral", "--port", "0", "--bind-address", "203.0.113.1"), 1, "cannot listen on"),
        (
            ("apiserver", "--ephemeral", "--port", "0", "--write-kubeconfig", "/dev/null/such"),
            1,
            "cannot write /dev/null/such",
        ),
        (("up", "--nodes", "x"), 2, "Invalid value for '--nodes'"),
        (("up", "--ephemeral", "--port", "0", "--load", "nowhere.yaml"), 1, "--load: nowhere.yaml: No such file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], code: int, said: str, tmp_path: Path) -> None:
    with components(tmp_path) as made:
        process = made.start(*arguments)
        assert process.wait(30) == code
        made.forget(process)
        assert said in made.said()


def test_a_data_directory_has_one_owner(tmp_path: Path) -> None:
    with components(tmp_path) as made:
        made.api_server()
        other = made.start("apiserver", "--port", "0", "--data-dir", str(tmp_path / "data"))
        assert other.wait(30) == 1
        made.forget(other)
        assert str(tmp_path / "data") in made.said().rpartition("---")[2]
