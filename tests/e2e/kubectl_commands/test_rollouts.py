"""Deployments with kubectl: create, set image, rollout status, history, undo, pause, resume, restart; scale."""

import re

from tests.e2e.kubectl import Kubectl

UP_OPTIONS = ("--nodes", "2")


def _deploy(kubectl: Kubectl, name: str = "web", replicas: int = 3) -> None:
    kubectl(f"create deployment {name} --image=nginx:1 --replicas={replicas}")
    _rolled(kubectl, name)


def _rolled(kubectl: Kubectl, name: str = "web") -> list[str]:
    lines = kubectl(f"rollout status deployment/{name} --timeout=120s").lines
    assert lines[-1] == f'deployment "{name}" successfully rolled out'
    return lines


def _images(kubectl: Kubectl) -> list[str]:
    fields = "jsonpath={range .items[*]}{.spec.containers[0].image}{'\\n'}{end}"
    return kubectl(f'get pods --field-selector status.phase=Running -o "{fields}"').lines


def test_create_scale_and_set_image(kubectl: Kubectl) -> None:
    _deploy(kubectl)
    assert kubectl("get deployment web --no-headers").out.split()[:4] == ["web", "3/3", "3", "3"]
    assert kubectl("scale deployment web --replicas=5").out == "deployment.apps/web scaled\n"
    _rolled(kubectl)
    assert kubectl("get replicasets --no-headers").out.split()[1:4] == ["5", "5", "5"]
    assert kubectl("set image deployment/web nginx=nginx:2").out == "deployment.apps/web image updated\n"
    _rolled(kubectl)
    kubectl("wait --for=jsonpath={.status.terminatingReplicas}=0 deployment/web --timeout=120s")
    assert _images(kubectl) == ["nginx:2"] * 5
    said = kubectl("describe deployment web").out
    assert re.search(r"Progressing +True +NewReplicaSetAvailable", said)
    assert re.search(r"ScalingReplicaSet .*Scaled up replica set web-\w+ from 0 to 3", said)


def test_history_and_undo(kubectl: Kubectl) -> None:
    _deploy(kubectl)
    kubectl('annotate deployment web kubernetes.io/change-cause="the first"')
    kubectl("set image deployment/web nginx=nginx:2")
    kubectl('annotate deployment web --overwrite kubernetes.io/change-cause="the second"')
    _rolled(kubectl)
    assert kubectl("rollout history deployment/web").rows[1:3] == [["1", " the first"], ["2", " the second"]]
    assert "nginx:2" in kubectl("rollout history deployment/web --revision=2").out
    assert kubectl("rollout undo deployment/web").out == "deployment.apps/web rolled back\n"
    _rolled(kubectl)
    assert kubectl("get deployment web -o jsonpath={..image}").out == "nginx:1"
    assert [row[0] for row in kubectl("rollout history deployment/web").rows[1:3]] == ["2", "3"]
    kubectl("rollout undo deployment/web --to-revision=2")
    _rolled(kubectl)
    assert kubectl("get deployment web -o jsonpath={..image}").out == "nginx:2"
    assert "unable to find specified revision" in kubectl.fails("rollout undo deployment/web --to-revision=77")


def test_pause_and_resume(kubectl: Kubectl) -> None:
    _deploy(kubectl)
    assert kubectl("rollout pause deployment/web").out == "deployment.apps/web paused\n"
    kubectl("set image deployment/web nginx=nginx:2")
    kubectl("wait --for=jsonpath={.status.observedGeneration}=3 deployment/web --timeout=120s")
    assert len(kubectl("get replicasets -o name").lines) == 1
    assert "cannot rollback a paused deployment" in kubectl.fails("rollout undo deployment/web --to-revision=1")
    assert kubectl("rollout resume deployment/web").out == "deployment.apps/web resumed\n"
    _rolled(kubectl)
    assert len(kubectl("get replicasets -o name").lines) == 2


def test_restart(kubectl: Kubectl) -> None:
    _deploy(kubectl)
    before = set(kubectl("get pods -o name").lines)
    assert kubectl("rollout restart deployment/web").out == "deployment.apps/web restarted\n"
    _rolled(kubectl)
    kubectl("wait --for=jsonpath={.status.terminatingReplicas}=0 deployment/web --timeout=120s")
    assert not before & set(kubectl("get pods -o name").lines)


def test_a_rollout_that_gets_stuck(kubectl: Kubectl) -> None:
    _deploy(kubectl)
    patch = '{"spec":{"progressDeadlineSeconds":1,"template":{"spec":{"nodeSelector":{"no":"such"}}}}}'
    kubectl(f"patch deployment web -p '{patch}'")
    assert 'deployment "web" exceeded its progress deadline' in kubectl.fails("rollout status deployment/web")
    assert kubectl("get deployment web -o jsonpath={.status.availableReplicas}").out == "3"
    kubectl("rollout undo deployment/web")
    _rolled(kubectl)


def test_a_template_that_is_refused(kubectl: Kubectl) -> None:
    kubectl("create deployment web --image=nginx --replicas=0")
    patch = '{"spec":{"replicas":2,"template":{"spec":{"priorityClassName":"missing"}}}}'
    kubectl(f"patch deployment web -p '{patch}'")
    kubectl("wait --for=condition=ReplicaFailure deployment/web --timeout=120s")
    text = "Error creating: .* is forbidden: no PriorityClass with name missing was found"
    failed = "get events --field-selector reason=FailedCreate -o jsonpath={..message}"
    assert re.search(text, kubectl(failed).out)
