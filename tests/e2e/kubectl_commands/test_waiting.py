"""Waiting and watching: wait, get -w, scale, rollout status."""

from tests.e2e.kubectl import Kubectl
from tests.e2e.kubectl_commands.manifests import DEPLOYMENT, SETTINGS, pod

UP_OPTIONS = ("--nodes", "2")


def test_wait(kubectl: Kubectl) -> None:
    kubectl("apply -f -", pod("one"))
    assert kubectl("wait --for=condition=Ready pod/one --timeout=120s").out == "pod/one condition met\n"
    kubectl("wait --for=jsonpath='{.status.phase}'=Running pod/one --timeout=120s")
    assert "timed out waiting for the condition" in kubectl.fails("wait --for=delete pod/one --timeout=1s")
    kubectl("delete pod one --wait=false")
    kubectl("wait --for=delete pod/one --timeout=120s")


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
    # Its line says that the watch has begun.
    kubectl("apply -f -", pod("before"))
    kubectl("wait --for=condition=Ready pod/before --timeout=120s")
    watching = kubectl.start("get pods -w --output-watch-events")
    assert watching.stdout is not None
    try:
        assert watching.stdout.readline().split() == ["EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        assert watching.stdout.readline().split()[:4] == ["ADDED", "before", "1/1", "Running"]
        kubectl("apply -f -", pod("one"))
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


def test_rollout_status(kubectl: Kubectl) -> None:
    nowhere = DEPLOYMENT.replace("      containers:\n", "      nodeSelector: {no: such}\n      containers:\n")
    kubectl("apply -f -", nowhere)
    assert "timed out" in kubectl.fails("rollout status deployment web --timeout=1s")
    assert kubectl("get deployment web --no-headers").out.split()[:4] == ["web", "0/3", "3", "0"]
    kubectl("apply -f -", DEPLOYMENT)
    said = kubectl("rollout status deployment web --timeout=120s").out
    assert 'deployment "web" successfully rolled out' in said
    assert kubectl("get deployment web --no-headers").out.split()[:4] == ["web", "3/3", "3", "3"]
