"""DaemonSets with kubectl: on every node that fits, rollout status, history, undo, restart; taints; expressions."""

import json
from typing import Any

from tests.e2e.kubectl import Kubectl

UP_OPTIONS = ("--nodes", "3", "--feature-gates", "TaintTolerationCEL=true")


def _daemon_set(name: str = "agent", **pod_spec: Any) -> str:
    labels = {"app": name}
    spec = {"containers": [{"name": "c", "image": "agent:1"}], "terminationGracePeriodSeconds": 0, **pod_spec}
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": name},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }
    )


def _rolled(kubectl: Kubectl, name: str = "agent") -> None:
    lines = kubectl(f"rollout status daemonset/{name} --timeout=120s").lines
    assert lines[-1] == f'daemon set "{name}" successfully rolled out'


def _nodes(kubectl: Kubectl, name: str = "agent") -> list[str]:
    """Of its pods."""
    fields = "jsonpath={range .items[*]}{.spec.nodeName}{'\\n'}{end}"
    return sorted(kubectl(f'get pods -l app={name} -o "{fields}"').lines)


def _all_nodes(kubectl: Kubectl) -> list[str]:
    return sorted(line.removeprefix("node/") for line in kubectl("get nodes -o name").lines)


def _wait(kubectl: Kubectl, field: str, value: int, name: str = "agent") -> None:
    kubectl(f"wait --for=jsonpath={{.status.{field}}}={value} daemonset/{name} --timeout=120s")


def test_one_on_each_node_restart_and_undo(kubectl: Kubectl) -> None:
    kubectl("create -f -", _daemon_set())
    _rolled(kubectl)
    assert _nodes(kubectl) == _all_nodes(kubectl)
    assert kubectl("get daemonset agent --no-headers").out.split()[1:6] == ["3"] * 5
    before = set(kubectl("get pods -l app=agent -o name").lines)
    assert kubectl("rollout restart daemonset/agent").out == "daemonset.apps/agent restarted\n"
    _rolled(kubectl)
    assert not before & set(kubectl("get pods -l app=agent -o name").lines)
    kubectl("set image daemonset/agent c=agent:3")
    _rolled(kubectl)
    assert [row[0] for row in kubectl("rollout history daemonset/agent").rows[1:4]] == ["1", "2", "3"]
    assert "agent:1" in kubectl("rollout history daemonset/agent --revision=1").out
    assert kubectl("rollout undo daemonset/agent --to-revision=1").out == "daemonset.apps/agent rolled back\n"
    _rolled(kubectl)
    assert kubectl("get daemonset agent -o jsonpath={..image}").out == "agent:1"
    rows = kubectl("get controllerrevisions --no-headers").lines
    assert {tuple(line.split()[1:3]) for line in rows} == {
        ("daemonset.apps/agent", "2"),
        ("daemonset.apps/agent", "3"),
        ("daemonset.apps/agent", "4"),
    }
    assert "SuccessfulCreate" in kubectl("describe daemonset agent").out


def test_a_taint_and_its_end(kubectl: Kubectl) -> None:
    node = _all_nodes(kubectl)[0]
    kubectl("create -f -", _daemon_set())
    _rolled(kubectl)
    kubectl(f"taint nodes {node} example.com/away=1:NoExecute")
    try:
        _wait(kubectl, "currentNumberScheduled", 2)
        kubectl(f"wait --for=delete pods -l app=agent --field-selector spec.nodeName={node} --timeout=120s")
        assert _nodes(kubectl) == _all_nodes(kubectl)[1:]
    finally:
        kubectl(f"taint nodes {node} example.com/away-")
    _wait(kubectl, "numberReady", 3)
    assert _nodes(kubectl) == _all_nodes(kubectl)


def test_an_expression_decides_which_nodes(kubectl: Kubectl) -> None:
    low, high, _ = nodes = _all_nodes(kubectl)
    try:
        kubectl(f"taint nodes {low} example.com/sla=90:NoSchedule")
        kubectl(f"taint nodes {high} example.com/sla=99:NoSchedule")
        expression = "taint.key == 'example.com/sla' && int(taint.value) > 95"
        kubectl("create -f -", _daemon_set("picky", tolerations=[{"expression": expression}]))
        _rolled(kubectl, "picky")
        assert _nodes(kubectl, "picky") == nodes[1:]
        kubectl(f"taint nodes {low} --overwrite example.com/sla=97:NoSchedule")
        _wait(kubectl, "numberReady", 3, "picky")
        assert _nodes(kubectl, "picky") == nodes
    finally:
        kubectl(f"taint nodes {low} {high} example.com/sla-")
