"""Admission handlers of an operator written with kopf, through its own HTTPS server."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster, moorage_up
from tests.e2e.test_kopf import WAIT, running_operator

from moorage.serve.pki.certificates import Authority

OPERATOR = Path(__file__).with_name("operators") / "gatekeeper.py"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority.create(datetime.datetime.now(datetime.UTC))
    issued = authority.issue_server(["127.0.0.1"])
    files = {"ca.crt": authority.issued.certificate, "tls.crt": issued.certificate, "tls.key": issued.key}
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return directory


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with moorage_up(tmp_path_factory.mktemp("cluster"), "--nodes", "0") as running:
        yield running


@pytest.fixture
def kubectl(cluster: Cluster, certificates: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kubectl]:
    monkeypatch.setenv("CERTIFICATES", str(certificates))
    options = ("--standalone", "--all-namespaces")
    with running_operator(cluster, *options, operator=OPERATOR, refusal="failed permanently: "):
        user = Kubectl(cluster.kubeconfig, cluster.home, "default")
        for kind in ("mutating", "validating"):
            configuration = f"{kind}webhookconfiguration/gatekeeper.example.com"
            user(f"wait --for=create {configuration} {WAIT}")
            user(f"wait --for=jsonpath='{{.webhooks[0].name}}' {configuration} {WAIT}")
        yield user


def config_map(name: str, **data: str) -> str:
    lines = "".join(f"  {key}: '{value}'\n" for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: {{guarded: 'yes'}}\ndata:\n{lines}"


def test_handlers_change_refuse_and_warn(kubectl: Kubectl) -> None:
    kubectl("create -f -", config_map("plain", size="4"))
    assert kubectl("get configmap plain -o jsonpath='{.data}'").out == '{"color":"white","size":"4"}'
    refusal = kubectl.fails("create -f -", config_map("dark", color="black"))
    assert "black is not for kubernetes-admin" in refusal
    assert "NotFound" in kubectl.fails("get configmap dark")
    assert "Warning: grey is going out of fashion" in kubectl("create -f -", config_map("dull", color="grey")).err
    black = """patch configmap plain --type=merge -p '{"data": {"color": "black"}}'"""
    assert "black is not for" in kubectl.fails(black)
    kubectl("create -f -", config_map("held", kept="yes"))
    assert "it is kept" in kubectl.fails("delete configmap held")
    kubectl("delete configmap plain")
    kubectl("create configmap other --from-literal=color=black")  # which the handlers do not ask for


def test_a_webhook_that_is_gone_is_removed_with_its_configuration(kubectl: Kubectl) -> None:
    kubectl("delete mutatingwebhookconfiguration gatekeeper.example.com")
    kubectl("delete validatingwebhookconfiguration gatekeeper.example.com")
    kubectl("create -f -", config_map("late", color="black"))
