"""Four processes, and gates that are off in one of them: each is restarted alone, with pods that the others know.

KEP-5500, "Version Skew Strategy", component by component. All three gates of tolerations at once: a pod for each, on
the same nodes. Once a component has the gates on again, everybody recovers by themselves.
"""

from pathlib import Path

from tests.e2e.component_processes import Components, Process, components, free_port
from tests.e2e.gates.features import EXPRESSIONS, FEATURES, SIX, STRICT, on, workload
from tests.e2e.gates.lives import WAIT, Life
from tests.e2e.kubectl import Kubectl
from tests.e2e.stories.stage import NOT_HELPFUL, Raw

USERS = {feature.gate.removeprefix("TaintToleration").lower(): feature for feature in FEATURES}
ON, OFF = "--feature-gates=AllAlpha=true", "--feature-gates=AllAlpha=false"
DAEMONS = "agents"


class Cluster(Life):
    """Four processes, of which any can be started again with other gates."""

    def __init__(self, made: Components) -> None:
        self._made, self._running = made, dict[str, Process]()
        self._ports = {name: str(free_port()) for name in ("scheduler", "controller-manager", "kubelet")}
        for name in ("apiserver", *self._ports):
            self._start(name, ON)
        super().__init__(Kubectl(made.kubeconfig, made.directory))

    def _start(self, name: str, gates: str) -> None:
        if name == "apiserver":
            self._running[name] = self._made.api_server(gates)
            return
        more = ("--nodes", "0") if name == "kubelet" else ("--no-leader-elect",)
        options = ("--kubeconfig", str(self._made.kubeconfig), "--metrics-port", self._ports[name], *more, gates)
        self._running[name] = self._made.start(name, *options)

    def restart(self, name: str, gates: str) -> None:
        self._made.stop(self._running[name])
        self._start(name, gates)

    def values(self, gate: str) -> list[str]:
        """What `moorage gates` says of the four."""
        told = self.moorage("gates", *(f"--scrape=http://127.0.0.1:{port}" for port in self._ports.values()))
        [line] = [line for line in told.splitlines() if line.startswith(f"{gate} ")]
        return line.split()[2:]

    def add(self, prefix: str, pool: str) -> list[str]:
        """A pod for each feature."""
        made = [one.pod(f"{prefix}-{name}", nodeSelector=on(pool)) for name, one in USERS.items()]
        self.create(*made)
        return [one["metadata"]["name"] for one in made]


def test_a_gate_that_is_off_in_one_component_only(tmp_path: Path) -> None:
    with components(tmp_path) as made:
        cluster = Cluster(made)
        cluster.create(simulated(STRICT), workload("DaemonSet", DAEMONS, EXPRESSIONS))
        running, waiting = cluster.add("runs", "strict"), cluster.add("waits", "six")
        assert cluster.lands(*running) == ["strict"] * 3
        cluster.until(f"daemonset/{DAEMONS}", "{.status.numberReady}", "1")
        assert cluster.values(EXPRESSIONS.gate) == ["on"] * 4
        off_in_the_api_server(cluster, waiting)
        off_in_the_scheduler(cluster)
        off_in_the_kubelet(cluster, running)
        off_in_the_controller_manager(cluster, running, waiting)


def simulated(node: Raw) -> Raw:
    """The node with the label by which a kubelet knows it."""
    labels = {**node["metadata"]["labels"], "simulate.moorage.dev/kubelet": "moorage"}
    return {**node, "metadata": {**node["metadata"], "labels": labels}}


def off_in_the_api_server(cluster: Cluster, waiting: list[str]) -> None:
    """Nothing new comes in; what is there is understood by all others."""
    cluster.restart("apiserver", OFF)
    for name, feature in USERS.items():
        assert cluster.refused(feature.pod(name)) == feature.complaint_about("Pod", name)
    assert cluster.values(EXPRESSIONS.gate) == ["off", "on", "on", "on"]
    cluster.create(simulated(SIX))
    assert cluster.lands(*waiting) == ["six"] * 3
    # A node for a daemon, whose pod is refused; running daemons are left alone.
    said = cluster.event("FailedCreate", "DaemonSet")
    assert said.endswith(f"is invalid: spec.tolerations[0]{EXPRESSIONS.complaint}")
    assert set(cluster.pods(DAEMONS).values()) == {"strict"}
    cluster.restart("apiserver", ON)
    cluster.until(f"daemonset/{DAEMONS}", "{.status.numberReady}", "2")


def off_in_the_scheduler(cluster: Cluster) -> None:
    """What is accepted stays Pending, and is scheduled without another word once it is understood."""
    cluster.restart("scheduler", OFF)
    late = cluster.add("late", "six")
    for name, feature in zip(late, USERS.values(), strict=True):
        why = (
            f"0/2 nodes are available: 1 node(s) had untolerated taint {{version: 5}} ({feature.obstacle}), "
            f"1 node(s) had untolerated taint {{version: 6}} ({feature.obstacle}). " + NOT_HELPFUL.format(2)
        )
        cluster.is_pending_because(name, why)
    cluster.restart("scheduler", ON)
    assert cluster.lands(*late) == ["six"] * 3


def off_in_the_kubelet(cluster: Cluster, running: list[str]) -> None:
    """What the scheduler places is turned away; what runs already goes on."""
    cluster.restart("kubelet", OFF)
    rejected = cluster.add("rejected", "strict")
    cluster.until(" ".join(f"pod/{name}" for name in rejected), "{.status.phase}", "Failed")
    told = cluster.read(f"pods {' '.join(rejected)}", "{.items[*].status.reason}")
    assert told.split() == ["TaintToleration"] * 3
    assert cluster.read(f"pod {rejected[0]}", "{.spec.nodeName}: {.status.message}") == (
        "strict: Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
    )
    # Without NoExecute the kubelet has nothing against them.
    assert cluster.lands(*cluster.add("let-in", "six")) == ["six"] * 3
    assert cluster.lands(*running) == ["strict"] * 3
    cluster.restart("kubelet", ON)
    assert cluster.lands(*cluster.add("welcome", "strict")) == ["strict"] * 3


def off_in_the_controller_manager(cluster: Cluster, running: list[str], waiting: list[str]) -> None:
    """Pods are evicted that should not be, daemons are missing where they should be."""
    cluster.restart("controller-manager", OFF)
    cluster.is_gone(*running)
    said = cluster.event("TaintManagerEviction", "Pod", **{"involvedObject.name": running[0]})
    assert said == f"Marking for deletion Pod default/{running[0]}"
    assert cluster.lands(*waiting) == ["six"] * 3
    cluster.until(f"daemonset/{DAEMONS}", "{.status.desiredNumberScheduled}", "0")
    # Where nothing but NoSchedule stands against it a daemon may stay, but is not made again.
    [(name, where)] = cluster.pods(DAEMONS).items()
    assert where == "six"
    cluster.kubectl(f"delete pod {name} --now")
    cluster.until(f"daemonset/{DAEMONS}", "{.status.numberMisscheduled}", "0")
    assert cluster.pods(DAEMONS) == {}
    # It would be evicted as soon as it is placed, whoever else understands it.
    evicted = cluster.add("evicted", "strict")
    cluster.is_gone(*evicted)
    cluster.restart("controller-manager", ON)
    cluster.until(f"daemonset/{DAEMONS}", "{.status.numberReady}", "2")
    assert cluster.lands(*cluster.add("kept", "strict")) == ["strict"] * 3
    cluster.kubectl(f"wait --for=condition=Ready pods -l app={DAEMONS} {WAIT}")
