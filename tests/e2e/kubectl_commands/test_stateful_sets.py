"""StatefulSets with kubectl: numbered pods, scale up and down, rollout status, history and undo."""

import json

from tests.e2e.kubectl import Kubectl

UP_OPTIONS = ("--nodes", "2")

_WEB = json.dumps(
    {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "serviceName": "nginx",
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "web:1"}], "terminationGracePeriodSeconds": 0},
            },
        },
    }
)


def _names(kubectl: Kubectl) -> list[str]:
    return sorted(kubectl("get pods -l app=web -o name").lines)


def test_scale_up_and_down(kubectl: Kubectl) -> None:
    kubectl("create -f -", _WEB)
    kubectl("rollout status statefulset/web --timeout=120s")
    assert _names(kubectl) == ["pod/web-0", "pod/web-1"]
    assert kubectl("scale statefulset web --replicas=4").out == "statefulset.apps/web scaled\n"
    kubectl("wait --for=jsonpath={.status.readyReplicas}=4 statefulset/web --timeout=120s")
    assert _names(kubectl) == [f"pod/web-{number}" for number in range(4)]
    assert kubectl("get statefulset web --no-headers").out.split()[:2] == ["web", "4/4"]
    kubectl("scale statefulset web --replicas=1")
    kubectl("wait --for=delete pod/web-1 --timeout=120s")
    assert _names(kubectl) == ["pod/web-0"]
    kubectl("delete pod web-0")
    kubectl("wait --for=condition=Ready pod/web-0 --timeout=120s")
    said = kubectl("describe statefulset web").out
    assert "Create Pod web-3 in StatefulSet web successful" in said
    assert "Delete Pod web-3 in StatefulSet web successful" in said


def test_roll_and_undo(kubectl: Kubectl) -> None:
    kubectl("create -f -", _WEB)
    kubectl("rollout status statefulset/web --timeout=120s")
    kubectl("set image statefulset/web c=web:2")
    kubectl("rollout status statefulset/web --timeout=120s")
    image = "get pods -l app=web -o jsonpath={.items[*].spec.containers[0].image}"
    assert kubectl(image).out == "web:2 web:2"
    assert [row[0] for row in kubectl("rollout history statefulset/web").rows[1:3]] == ["1", "2"]
    kubectl("rollout undo statefulset/web")
    kubectl("rollout status statefulset/web --timeout=120s")
    assert kubectl(image).out == "web:1 web:1"
    kubectl("rollout restart statefulset/web")
    lines = kubectl("rollout status statefulset/web --timeout=120s").lines
    assert lines[-1] == "partitioned roll out complete: 2 new pods have been updated..."
