"""Attach beside a cluster: what `moorage attach install` prints, with its programs as processes of this machine.

Each has the rights of its service account and no others. The API server finds the webhook behind its Service, and the
controller makes the certificates; what a kubelet would do, mounting them, is done here.
"""

import base64
import json
import socket
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.e2e.component_processes import free_port, until
from tests.interop.attached.unaware_cluster import UnawareCluster, listed, moorage, taint
from tests.interop.cluster_user import ClusterUser
from tests.interop.programs import Process

from moorage.attached import names
from moorage.model.well_known.annotations import WEBHOOK_URL

Raw = dict[str, Any]
_IMAGE = "registry.example/moorage:1"
#: What the API server only has to accept: nothing runs in pods here.
_LEFT_OUT = ("Deployment", "PodDisruptionBudget")
#: A leader that is killed is replaced soon.
QUICK = ("--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=300ms")
#: It leads on while an API server starts again on a busy machine.
_PATIENT = ("--leader-elect-lease-duration=90s", "--leader-elect-renew-deadline=80s", "--leader-elect-retry-period=1s")
#: Of a network for documentation.
_NOWHERE = "192.0.2.1"
_MOUNTED = ("tls.crt", "tls.key", "ca.crt")


class Installation:
    """See the module. For 1.35 and before, nodes are mirrored by the webhook, too."""

    def __init__(self, cluster: UnawareCluster, version: str, *options: str) -> None:
        self.cluster, self._options = cluster, (f"--kubernetes-version={version}", *options)
        self.certificates = cluster.programs.directory / "certificates-of-attach"
        self.certificates.mkdir()
        self.admin = ClusterUser(cluster.kubeconfig, cluster.admin.home, names.NAMESPACE)
        self.controllers: list[Process] = []
        self._service: Raw = {}
        self._port = 0
        self._webhook: Process | None = None

    def install(self) -> None:
        """Apply the manifests, start webhook and controller, and wait until comparing tolerations are stored."""
        there = self.cluster.admin.run(f"get namespace {names.NAMESPACE}").status == 0
        assert not there, f"the cluster has a namespace {names.NAMESPACE}: uninstall attach before"
        printed = json.loads(moorage("attach", "install", "-o", "json", "--image", _IMAGE, *self._options))
        for document in printed["items"]:
            if document["kind"] == "Service":
                self._service = document
            elif document["kind"] not in _LEFT_OUT:
                self.admin.apply(json.dumps(document))
            else:
                assert "Warning" not in self.admin("apply --dry-run=server -f -", json.dumps(document)).err
        self.start_controller()
        if self._service:
            self.mount()
            self.start_webhook()
        until(lambda: self.lowers("SemverGt" if self._service else "Gt", "1"))
        until(lambda: self.cluster.mirrors(taint("probe", "1")))
        self.admin("annotate node --all --overwrite mirrored=at-once")

    def _lead_to(self, port: int) -> None:
        """Let the Service lead to a process here: our API server is told by an annotation, others by endpoints."""
        service = deepcopy(self._service)
        del service["spec"]["selector"]
        service["spec"]["ports"][0]["targetPort"] = port
        service["metadata"]["annotations"] = {WEBHOOK_URL: f"https://127.0.0.1:{port}"}
        endpoints = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": names.WEBHOOK, "labels": {"kubernetes.io/service-name": names.WEBHOOK}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [_own_address()], "conditions": {"ready": True}}],
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        }
        self.admin.apply(listed([service, endpoints]))

    def lowers(self, operator: str = "SemverGt", value: str = "1.2.3") -> bool:
        """Whether the API server stores a pod whose toleration compares."""
        return self.refusal(operator, value) == ""

    def refusal(self, operator: str = "SemverGt", value: str = "1.2.3") -> str:
        """Return how the API server refuses a pod with a comparison; empty if it does not."""
        toleration = {"key": "probe", "operator": operator, "value": value, "effect": "NoSchedule"}
        spec = {"containers": [{"name": "c", "image": "i:1"}], "tolerations": [toleration]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": "default"}, "spec": spec}
        ran = self.cluster.admin.run("create --dry-run=server -f -", json.dumps(pod))
        return "" if ran.status == 0 else ran.err.strip()

    # -- the webhook

    def start_webhook(self) -> None:
        """Start the webhook where the Service leads."""
        if not self._port:
            self._port = free_port()
            self._lead_to(self._port)
        self._webhook = self._started_webhook(self._port)

    def _started_webhook(self, port: int) -> Process:
        options = ("--cert-dir", str(self.certificates), "--port", str(port), "--bind-address", "0.0.0.0")
        access = ("--kubeconfig", str(self._account(names.WEBHOOK)), "--native", "auto")
        return self.cluster.programs.moorage("attach", "webhook", *options, *access)

    def stop_webhook(self) -> None:
        assert self._webhook is not None
        self.cluster.programs.stop(self._webhook)
        self._webhook = None

    def restart_webhook(self) -> None:
        """Start the webhook again with the certificates that the Secret has now."""
        self.stop_webhook()
        self.mount()
        self.start_webhook()

    def add_webhook(self) -> Callable[[], None]:
        """Start another webhook beside the one there is, and let the Service lead to it; return what stops the old."""
        old, self._port = self._webhook, free_port()
        assert old is not None
        self._webhook = new = self._started_webhook(self._port)
        until(lambda: "serving reviews" in self.cluster.programs.log(new))
        self._lead_to(self._port)
        return lambda: self.cluster.programs.stop(old)

    def reviews(self) -> int:
        """Return how many reviews of pods and templates the webhook has answered."""
        context = ssl.create_default_context(cafile=self.certificates / "ca.crt")
        context.check_hostname = False
        with urllib.request.urlopen(f"https://127.0.0.1:{self._port}/metrics", context=context) as answer:
            lines = answer.read().decode().splitlines()
        counted = [line for line in lines if line.startswith('moorage_attach_webhook_reviews_total{webhook="lower"')]
        return int(sum(float(line.rpartition(" ")[2]) for line in counted))

    def mount(self) -> None:
        """Copy the Secret into the directory of the webhook, once it is there, as a kubelet does."""
        secret = until(self.secret)
        assert secret is not None
        for name in _MOUNTED:
            (self.certificates / name).write_bytes(base64.b64decode(secret["data"][name]))

    def change_secret(self, patch: Raw) -> None:
        self.admin(f"patch secret {names.CERTIFICATES} --type=merge --patch='{json.dumps(patch)}'")

    def ca_bundle(self) -> bytes:
        """Return the authorities that API servers trust when they call the webhook."""
        path = "{.webhooks[0].clientConfig.caBundle}"
        found = self.admin(f"get mutatingwebhookconfiguration {names.LOWERING} -o jsonpath='{path}'").out
        return base64.b64decode(found)

    def certificates_used(self) -> int:
        """Return how often the webhook took a certificate into use."""
        assert self._webhook is not None
        return self.cluster.programs.log(self._webhook).count("Using the certificate")

    def secret_data(self, name: str) -> str:
        secret = self.secret()
        return secret["data"][name] if secret is not None else ""

    def secret(self) -> Raw | None:
        found = self.admin.run(f"get secret {names.CERTIFICATES} -o json")
        secret: Raw | None = json.loads(found.out) if found.status == 0 else None
        return secret if secret and "tls.crt" in secret.get("data", {}) else None

    # -- the controller

    def start_controller(self, *options: str) -> Process:
        """Start one more replica."""
        kubeconfig = self._account(names.CONTROLLER)
        access = ("--kubeconfig", str(kubeconfig), "--metrics-port", "-1")
        process = self.cluster.programs.moorage("attach", "controller", *access, *_PATIENT, *options)
        self.controllers.append(process)
        return process

    def kill_controller(self, process: Process) -> None:
        process.kill()
        process.wait()
        self.cluster.programs.stop(process)
        self.controllers.remove(process)

    def stop_controllers(self) -> None:
        while self.controllers:
            self.cluster.programs.stop(self.controllers.pop())

    def _account(self, account: str) -> Path:
        """Return the kubeconfig of a service account."""
        token = self.admin(f"create token {account} --duration=4h").out.strip()
        config = json.loads(self.admin("config view --raw --minify --flatten -o json").out)
        config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
        path = self.cluster.programs.directory / f"{account}.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def leader(self) -> str:
        """Return who holds the Lease."""
        return self.admin(f"get lease {names.CONTROLLER} -o jsonpath='{{.spec.holderIdentity}}'").out

    # -- the end

    def uninstall(self) -> None:
        """Remove everything: nothing lowered is left in a test's cluster."""
        log = ""
        if self._webhook is not None:
            log = self.cluster.programs.log(self._webhook)
            self.stop_webhook()
        self.stop_controllers()
        self.admin(f"delete mutatingwebhookconfiguration {names.LOWERING} {names.MIRRORING} --ignore-not-found")
        self.cluster.remove_policies()
        for kind in ("clusterrolebinding", "clusterrole"):
            self.admin(f"delete {kind} {names.CONTROLLER} {names.WEBHOOK} {names.CERTIFICATES} --ignore-not-found")
        self.admin(f"delete namespace {names.NAMESPACE}")
        assert "cannot be read" not in log, log


def _own_address() -> str:
    """Return an address of this machine that is not its loopback's: endpoints may not have those.

    Without a network it is one that leads nowhere; our own API server does not need it.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((_NOWHERE, 9))
        except OSError:
            return _NOWHERE
        return str(asking.getsockname()[0])


@contextmanager
def attached(cluster: UnawareCluster, version: str = "1.36", *options: str) -> Iterator[Installation]:
    """Install attach beside a cluster for a while, with these options of the command."""
    installation = Installation(cluster, version, *options)
    installation.install()
    try:
        yield installation
    finally:
        installation.uninstall()
