"""An operator written with kopf, run as its users run it, against a running cluster."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster, moorage_up
from tests.e2e.stories.stage import Stage

OPERATOR = Path(__file__).with_name("operators") / "caretaker.py"
ANNOTATION = r"{.metadata.annotations.caretaker\.example\.com/%s}"
FINALIZER = "caretaker.example.com/finalizer"
WAIT = "--timeout=120s"
_NUMBERS = count(1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with moorage_up(tmp_path_factory.mktemp("cluster"), "--nodes", "1") as running:
        yield running


@pytest.fixture(scope="module")
def operator(cluster: Cluster) -> Iterator[Path]:
    with running_operator(cluster, "--standalone", "--all-namespaces") as log:
        yield log


@pytest.fixture
def kubectl(cluster: Cluster, operator: Path) -> Kubectl:
    user = Kubectl(cluster.kubeconfig, cluster.home, f"test-{next(_NUMBERS)}")
    user(f"create namespace {user.namespace}")
    return user


@contextmanager
def running_operator(
    cluster: Cluster, *options: str, operator: Path = OPERATOR, refusal: str = "refused on purpose"
) -> Iterator[Path]:
    """`kopf run`, until the end of the block; it must have had nothing to complain about but a `refusal`."""
    log = cluster.home / f"operator-{next(_NUMBERS)}.log"
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "kopf", "run", *options, str(operator)]
    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment) as process,
    ):
        try:
            yield log
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
    said = log.read_text()
    assert "Traceback" not in said, said
    assert not [line for line in said.splitlines() if "[ERROR" in line and refusal not in line], said
    assert process.returncode == 0, said


def wait_for(kubectl: Kubectl, what: str, path: str, value: str = "") -> None:
    kubectl(f"wait --for=jsonpath='{path}'{f'={value}' if value else ''} {what} {WAIT}")


def test_a_configmap_is_looked_after_from_creation_to_deletion(kubectl: Kubectl) -> None:
    kubectl("create -f -", settings("one", color="blue"))
    kubectl(f"wait --for=create configmap/memory-of-one {WAIT}")
    wait_for(kubectl, "configmap/one", "{.metadata.finalizers[0]}", FINALIZER)
    owner = kubectl("get configmap memory-of-one -o jsonpath='{.metadata.ownerReferences[0].name}'").out
    assert owner == "one"
    wait_for(kubectl, "configmap/one", r"{.metadata.annotations.kopf\.zalando\.org/last-handled-configuration}")
    kubectl("""patch configmap one --type=merge -p '{"data": {"color": "red"}}'""")
    wait_for(kubectl, "configmap/one", ANNOTATION % "changed", "'color:blue to color:red'")
    messages = {"Remembered": "one is remembered", "Noticed": "color:blue became color:red"}
    for reason, message in messages.items():
        events = f"get events -w --field-selector involvedObject.name=one,reason={reason}"
        assert Stage(kubectl).first_line(f"{events} -o jsonpath='{{.message}}{{\"\\n\"}}'") == message
    # Deleted, it waits for its finalizer, which goes when the handler has done its work.
    kubectl(f"delete configmap one {WAIT}")
    kubectl("get configmap farewell-to-one")
    assert "NotFound" in kubectl.fails("get configmap one")


def settings(name: str, **data: str) -> str:
    lines = "".join(f"  {key}: {value}\n" for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: {{cared-for: 'yes'}}\ndata:\n{lines}"


def test_what_is_not_asked_for_is_left_alone(kubectl: Kubectl) -> None:
    kubectl("create configmap other --from-literal=color=blue")
    kubectl("create -f -", settings("one", color="blue"))
    kubectl(f"wait --for=create configmap/memory-of-one {WAIT}")
    other = kubectl("get configmap other -o jsonpath='{.metadata.finalizers}{.metadata.annotations}'").out
    assert other == ""


def test_pods_are_labelled_as_they_live(kubectl: Kubectl) -> None:
    kubectl("run one --image=registry.example/app:1 --labels=tracked=yes")
    wait_for(kubectl, "pod/one", "{.metadata.labels.phase}", "Running")
    kubectl("delete pod one --now")


def test_an_operator_that_comes_back_resumes(cluster: Cluster, kubectl: Kubectl) -> None:
    """A second one, for one namespace only; what the first has done it finds in the annotations.

    It looks for others of its kind, to share the work with, and does without when there is no such resource.
    """
    kubectl("create -f -", settings("one", color="blue"))
    wait_for(kubectl, "configmap/one", r"{.metadata.annotations.kopf\.zalando\.org/last-handled-configuration}")
    with running_operator(cluster, f"--namespace={kubectl.namespace}"):
        wait_for(kubectl, "configmap/one", ANNOTATION % "resumed", "yes")
