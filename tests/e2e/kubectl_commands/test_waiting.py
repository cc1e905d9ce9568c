"""Waiting and watching: wait, get -w, rollout, scale."""

import json

from tests.e2e.kubectl import Kubectl
from tests.e2e.kubectl_commands.manifests import DEPLOYMENT, SETTINGS, pod

UP_OPTIONS = ("--nodes", "1")


def test_wait(kubectl: Kubectl) -> None:
    kubectl("apply -f -", pod("one"))
    assert kubectl("wait --for=condition=Ready pod/one --timeout=30s").out == "pod/one condition met\n"
    kubectl("wait --for=jsonpath='{.status.phase}'=Running pod/one --timeout=30s")
    assert "timed out waiting for the condition" in kubectl.fails("wait --for=delete pod/one --timeout=1s")
    kubectl("delete pod one --wait=false")
    kubectl("wait --for=delete pod/one --timeout=30s")


def test_watch(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETTINGS)
    watching = kubectl.start("""get cm settings -w -o jsonpath='{.data.color}{"\\n"}'""")
    assert watching.stdout is not None
    try:
        assert watching.stdout.readline() == "blue\n"
        kubectl("""patch cm settings -p '{"data":{"color":"red"}}'""")
        assert watching.stdout.readline() == "red\n"
    finally:
        watching.terminate()
        watching.communicate()


def test_watch_a_table_from_nothing_to_running_and_gone(kubectl: Kubectl) -> None:
    watching = kubectl.start("get pods -w --output-watch-events")
    assert watching.stdout is not None
    try:
        kubectl("apply -f -", pod("one"))
        assert watching.stdout.readline().split() == ["EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        first = watching.stdout.readline().split()
        assert first[:4] == ["ADDED", "one", "0/1", "Pending"]
        while "Running" not in (line := watching.stdout.readline()):
            assert line.startswith("MODIFIED"), line
        kubectl("delete pod one --grace-period=0 --force")
        while not (line := watching.stdout.readline()).startswith("DELETED"):
            assert line.startswith("MODIFIED"), line
    finally:
        watching.terminate()
        watching.communicate()


def test_scale(kubectl: Kubectl) -> None:
    kubectl("apply -f -", DEPLOYMENT)
    assert kubectl("scale deployment web --replicas=7").out == "deployment.apps/web scaled\n"
    assert kubectl("get deployment web -o jsonpath={.spec.replicas}").out == "7"
    assert "Expected replicas to be 3, was 7" in kubectl.fails("scale deploy web --current-replicas=3 --replicas=1")
    kubectl("scale deploy web --current-replicas=7 --replicas=1")
    assert kubectl("get deploy web --subresource=scale -o jsonpath={.spec.replicas}").out == "1"


def replica_set_of(deployment: dict[str, object], revision: int, image: str) -> str:
    """What the controller would have made."""
    metadata = deployment["metadata"]
    assert isinstance(metadata, dict)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": metadata["uid"], "controller": True}
    labels = {"app": "web", "pod-template-hash": str(revision)}
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"web-{revision}",
                "labels": labels,
                "annotations": {"deployment.kubernetes.io/revision": str(revision)},
                "ownerReferences": [owner],
            },
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "main", "image": image}]},
                },
            },
        }
    )


def test_rollouts(kubectl: Kubectl) -> None:
    kubectl("apply -f -", DEPLOYMENT)
    deployment = json.loads(kubectl("get deploy web -o json").out)
    for revision, image in ((1, "registry.example/web:0"), (2, "registry.example/web:1")):
        kubectl("create -f -", replica_set_of(deployment, revision, image))
    lines = kubectl("rollout history deployment web").lines
    assert [line.split() for line in lines[1:4]] == [["REVISION", "CHANGE-CAUSE"], ["1", "<none>"], ["2", "<none>"]]
    assert "registry.example/web:0" in kubectl("rollout history deployment web --revision=1").out
    assert kubectl("rollout undo deployment web --to-revision=1").out == "deployment.apps/web rolled back\n"
    assert kubectl("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}").out.endswith("web:0")
    assert kubectl("rollout restart deployment web").out == "deployment.apps/web restarted\n"
    assert "restartedAt" in kubectl("get deploy web -o jsonpath={.spec.template.metadata.annotations}").out
    assert kubectl("rollout pause deployment web").out == "deployment.apps/web paused\n"
    assert kubectl("rollout resume deployment web").out == "deployment.apps/web resumed\n"


def test_rollout_status(kubectl: Kubectl) -> None:
    kubectl("apply -f -", DEPLOYMENT)
    assert "timed out" in kubectl.fails("rollout status deployment web --timeout=1s")
    generation = int(kubectl("get deploy web -o jsonpath={.metadata.generation}").out)
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 3)
    status = json.dumps({"status": {"observedGeneration": generation, **counts}})
    kubectl(f"patch deployment web --subresource=status --type=merge -p '{status}'")
    said = kubectl("rollout status deployment web --timeout=10s").out
    assert 'deployment "web" successfully rolled out' in said
    assert kubectl("get deployment web --no-headers").out.split()[:4] == ["web", "3/3", "3", "3"]
