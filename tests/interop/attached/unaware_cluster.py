"""A cluster of Kubernetes that does not know comparing tolerations, and what a user of attach does with it.

Everything goes through kubectl, so that it holds for any cluster. Simulated nodes are node-1 to node-6, and pods ask
for those; a scenario has them for itself, with a namespace of its own, and leaves them without taints.
"""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.component_processes import until
from tests.interop.binaries import ALL, KUBECTL, needs, program
from tests.interop.cluster_user import ClusterUser
from tests.interop.clusters import start_kubelets, start_kubernetes
from tests.interop.programs import Programs, programs_in
from tests.interop.real_server import RealServer
from tests.unit.attach.workloads import pod as any_pod
from tests.unit.attach.workloads import toleration

from moorage.attach.formats import MIRRORED, RAW_VALUE, is_match_label, is_mirror_label, taint_label
from moorage.attach.mirror import mirror_labels
from moorage.attached import names
from moorage.run.node_objects import SIMULATOR, SIMULATOR_LABEL

Raw = dict[str, Any]
#: Names the kubeconfig of a cluster in which the tests may do as they like.
GIVEN = "MOORAGE_TEST_KUBECONFIG"
NODES = tuple(f"node-{number}" for number in range(1, 7))
#: The label of simulated nodes. A cluster may have others, on which nothing of a test may run.
SIMULATED = {SIMULATOR_LABEL: SIMULATOR}


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Raw:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def pod(*tolerations: Raw, name: str = "p", **spec: Any) -> Raw:
    """Return a pod for a simulated node, which goes at once when it has to."""
    document = any_pod(*tolerations, **{"nodeSelector": SIMULATED, "terminationGracePeriodSeconds": 0, **spec})
    document["metadata"] = {"name": name}
    return document


class UnawareCluster:
    """The cluster, as its administrator uses it."""

    def __init__(self, programs: Programs, kubeconfig: Path) -> None:
        self.programs, self.kubeconfig = programs, kubeconfig
        self.admin = ClusterUser(kubeconfig, programs.directory / "home")
        self._names = itertools.count(1)

    def restart(self) -> None:
        """Stop the API server and start it again, on the same address and data."""
        raise NotImplementedError

    @contextmanager
    def scenario(self, taints: Mapping[str, Sequence[Raw]] | None = None) -> Iterator["Tenant"]:
        """Taint nodes, and give a user with a namespace; afterwards its objects and the taints are gone."""
        tenant = Tenant(self, f"scenario-{next(self._names)}")
        self.set_taints(taints or {})
        try:
            yield tenant
        finally:
            self.admin(f"delete namespace {tenant.namespace} --wait=false")
            self.admin.run(f"delete pods --all --force -n {tenant.namespace}")
            for node in NODES:
                self.taint(node)

    def taint(self, node: str, *taints: Raw) -> None:
        """Give a node these taints and no others, in one write."""
        self.admin(f"patch node {node} --type=merge --patch='{json.dumps({'spec': {'taints': taints}})}'")

    def set_taints(self, taints: Mapping[str, Sequence[Raw]]) -> None:
        for node, its in taints.items():
            self.taint(node, *its)

    def nodes(self) -> list[Raw]:
        """Return the simulated nodes."""
        return self.admin.items(f"nodes -l {SIMULATOR_LABEL}={SIMULATOR}")

    def nodes_come(self) -> None:
        """Wait until the nodes are there and ready, without taints."""
        until(lambda: len(self.nodes()) == len(NODES))
        self.admin.wait("condition=Ready", " ".join(f"node/{name}" for name in NODES))
        until(lambda: not any(node["spec"].get("taints") for node in self.nodes()))

    def mirror(self, node: str) -> dict[str, str]:
        """Return the labels of a node that belong to attach."""
        return mirror_of(self.admin.get(f"node {node}"))

    def is_mirrored(self, node: str) -> bool:
        """Whether the mirror of a node is as it must be; match labels are not looked at."""
        found = self.admin.get(f"node {node}")
        return {key: value for key, value in mirror_of(found).items() if not is_match_label(key)} == mirror_labels(
            found
        )

    def install_policies(self, *options: str) -> None:
        """Apply what `moorage attach policies` prints, and wait until the API server obeys it."""
        self.admin.apply(moorage("attach", "policies", *options))
        until(lambda: self.mirrors(taint("probe", "1")))
        self.admin("annotate node --all --overwrite mirrored=at-once")
        if "--lower" in options:
            until(self.lowers)

    def remove_policies(self) -> None:
        for kind in ("mutatingadmissionpolicybinding", "mutatingadmissionpolicy"):
            self.admin(f"delete {kind} {names.LOWERING} {names.MIRRORING} --ignore-not-found")

    def lowers(self) -> bool:
        """Whether the API server stores a pod whose toleration compares."""
        probe = pod(toleration("Gt", "1", effect="NoSchedule"))
        return self.admin.run("create --dry-run=server -f -", json.dumps(probe)).status == 0

    def mirrors(self, probe: Raw) -> bool:
        """Whether the write that would add a taint to the first node mirrors it."""
        patch = json.dumps({"spec": {"taints": [probe]}})
        ran = self.admin.run(f"patch node {NODES[0]} --type=merge --patch='{patch}' --dry-run=server -o json")
        label = taint_label(RAW_VALUE, probe["effect"], probe["key"])
        return ran.status == 0 and label in json.loads(ran.out)["metadata"]["labels"]


class Tenant(ClusterUser):
    """The user of a scenario."""

    def __init__(self, cluster: UnawareCluster, namespace: str) -> None:
        super().__init__(cluster.kubeconfig, cluster.programs.directory / "home", namespace)
        self.cluster = cluster
        self(f"create namespace {namespace}")
        until(lambda: self.run("get serviceaccount default").status == 0)

    def create(self, *documents: Raw) -> None:
        self("create -f -", listed(documents))

    def placements(self) -> dict[str, str]:
        """Return the node of each pod, or "" where the scheduler has found none; wait for the scheduler."""
        return until(lambda: _placements_in(self.items("pods")))

    def become_placed(self, wanted: Mapping[str, str]) -> None:
        """Wait until pods are on these nodes, "" for no node; other pods are not looked at."""

        def those() -> dict[str, str]:
            return {name: node for name, node in self.placements().items() if name in wanted}

        try:
            until(lambda: those() == wanted)
        except AssertionError:
            assert those() == wanted, self("get pods,nodes,events -o yaml").out

    def names(self, what: str) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.items(what))

    def told(self, name: str, reason: str) -> str:
        """Return the latest message of an Event about a pod, once there is one with this reason."""

        def messages() -> list[str]:
            events = self.items(f"events --field-selector=involvedObject.name={name},reason={reason}")
            return [each["message"] for each in sorted(events, key=lambda each: str(each.get("lastTimestamp")))]

        return until(messages)[-1]

    def nodes_of(self, selector: str, number: int) -> list[str]:
        """Return the nodes of pods with a label, once so many of them run and no other is there."""
        return sorted(until(lambda: _running_on(self.items(f"pods -l {selector}"), number)))


def _placements_in(pods: Sequence[Raw]) -> dict[str, str]:
    """Return the node of each pod, "" for none; an empty map if the scheduler has yet to look at one."""
    found = {each["metadata"]["name"]: _placement(each) for each in pods}
    return {} if None in found.values() else {name: node or "" for name, node in found.items()}


def _placement(pod: Raw) -> str | None:
    if node := pod["spec"].get("nodeName"):
        return str(node)
    conditions = pod["status"].get("conditions", ())
    return "" if any(each.get("reason") == "Unschedulable" for each in conditions) else None


def _running_on(pods: Sequence[Raw], number: int) -> list[str]:
    """Return the nodes of the pods; none of them until as many run as there are."""
    running = [each for each in pods if each["status"].get("phase") == "Running"]
    return [each["spec"]["nodeName"] for each in running] if len(running) == len(pods) == number else []


def mirror_of(node: Raw) -> dict[str, str]:
    labels: dict[str, str] = node["metadata"]["labels"]
    return {
        key: value for key, value in labels.items() if key == MIRRORED or is_mirror_label(key) or is_match_label(key)
    }


def listed(documents: Sequence[Raw]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)})


def converted(documents: Sequence[Raw]) -> list[Raw]:
    """Return what `moorage attach convert` makes of documents."""
    items: list[Raw] = json.loads(moorage("attach", "convert", "--output=json", "-", given=listed(documents)))["items"]
    return items


def moorage(*arguments: str, given: str = "") -> str:
    """Return what a command of moorage prints; it must succeed."""
    ran = subprocess.run([sys.executable, "-m", "moorage", *arguments], input=given, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


class Kubernetes(UnawareCluster):
    """Real components of Kubernetes, with the gates of their release."""

    def __init__(self, programs: Programs, server: RealServer) -> None:
        super().__init__(programs, server.kubeconfig)
        self.server = server

    def restart(self) -> None:
        self.server.restart()


class GivenCluster(UnawareCluster):
    """A cluster that a kubeconfig leads to, with six simulated nodes beside its own."""

    def restart(self) -> None:
        pytest.skip("the API server of a cluster that is given is not started again")


def needs_a_cluster() -> pytest.MarkDecorator:
    """Skip what is marked where neither a cluster is given nor the programs of one are."""
    return pytest.mark.skipif(False, reason="") if os.environ.get(GIVEN) else needs(*ALL)


@contextmanager
def a_cluster(directory: Path) -> Iterator[UnawareCluster]:
    """Start Kubernetes, or take the cluster that is given and put simulated nodes into it for a while."""
    given = os.environ.get(GIVEN)
    if not given:
        with kubernetes(directory) as started:
            yield started
        return
    with pytest.MonkeyPatch.context() as environment, programs_in(directory) as programs:
        if os.environ.get(KUBECTL):
            environment.setenv("KUBECTL", program(KUBECTL))
        cluster = GivenCluster(programs, Path(given).absolute())
        there = [name for name in NODES if cluster.admin.run(f"get node {name}").status == 0]
        assert not there, f"the cluster of {GIVEN} has nodes with names of simulated ones: {there}"
        start_kubelets(programs, cluster.kubeconfig, nodes=len(NODES))
        try:
            cluster.nodes_come()
            yield cluster
        finally:
            cluster.admin(f"delete node {' '.join(NODES)} --wait=false")


@contextmanager
def kubernetes(directory: Path) -> Iterator[Kubernetes]:
    """Start Kubernetes with its default gates, and six simulated nodes."""
    with pytest.MonkeyPatch.context() as environment, programs_in(directory) as programs:
        environment.setenv("KUBECTL", program(KUBECTL))
        options = ("--enable-admission-plugins=NodeRestriction", "--enable-aggregator-routing=true")
        cluster = Kubernetes(programs, start_kubernetes(programs, *options, nodes=len(NODES)))
        cluster.nodes_come()
        yield cluster
