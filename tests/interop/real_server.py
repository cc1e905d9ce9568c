"""A real kube-apiserver on a real etcd, with certificates of its own.

In: a directory. Out: its address and kubeconfigs of users; it authorizes by Node and RBAC, as kubeadm's does.
"""

import datetime
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.e2e.component_processes import free_port, until
from tests.interop.binaries import API_SERVER, ETCD, program
from tests.interop.programs import Process, Programs

from moorage.serve.pki.certificates import Authority, Issued

_HOST = "127.0.0.1"


class Pki:
    """Certificates and keys as files, and kubeconfigs made of them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.authority = Authority.create(datetime.datetime.now(datetime.UTC))
        self.ca = self._write("ca.crt", self.authority.issued.certificate)
        self.ca_key = self._write("ca.key", self.authority.issued.key)
        names = ("localhost", _HOST, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1")
        self.server_certificate, self.server_key = self._pair("server", self.authority.issue_server(names))
        self.account_key = self._write("sa.key", _rsa_key())

    def kubeconfig(self, url: str, user: str, *groups: str) -> Path:
        """Write the kubeconfig of a user, who is known by a certificate."""
        name = user.replace(":", "-")
        certificate, key = self._pair(name, self.authority.issue_client(user, groups))
        return write_kubeconfig(self.directory / f"{name}.kubeconfig", url, self.ca, certificate, key)

    def _pair(self, name: str, issued: Issued) -> tuple[Path, Path]:
        return self._write(f"{name}.crt", issued.certificate), self._write(f"{name}.key", issued.key)

    def _write(self, name: str, content: bytes) -> Path:
        path = self.directory / name
        path.write_bytes(content)
        return path


def write_kubeconfig(path: Path, url: str, ca: Path, certificate: Path, key: Path) -> Path:
    path.write_text(
        f"""\
apiVersion: v1
kind: Config
current-context: real
clusters: [{{name: real, cluster: {{server: "{url}", certificate-authority: "{ca}"}}}}]
users: [{{name: real, user: {{client-certificate: "{certificate}", client-key: "{key}"}}}}]
contexts: [{{name: real, context: {{cluster: real, user: real}}}}]
"""
    )
    return path


class RealServer:
    """etcd and kube-apiserver. `kubeconfig` is the administrator's."""

    def __init__(self, programs: Programs, *options: str) -> None:
        self.pki = Pki(programs.directory / "pki")
        peer, client, port = free_port(), free_port(), free_port()
        store = f"http://{_HOST}:{client}"
        self._start_etcd(programs, store, f"http://{_HOST}:{peer}")
        self.url = f"https://{_HOST}:{port}"
        pki = self.pki
        self._programs = programs
        self._command = (
            program(API_SERVER),
            f"--etcd-servers={store}",
            f"--bind-address={_HOST}",
            f"--secure-port={port}",
            f"--tls-cert-file={pki.server_certificate}",
            f"--tls-private-key-file={pki.server_key}",
            f"--client-ca-file={pki.ca}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki.account_key}",
            f"--service-account-signing-key-file={pki.account_key}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--authorization-mode=Node,RBAC",
            f"--cert-dir={programs.directory / 'certificates'}",
            *options,
        )
        self.kubeconfig = pki.kubeconfig(self.url, "kubernetes-admin", "system:masters")
        self._process = self._started()

    def restart(self) -> None:
        """Stop kube-apiserver and start it again, on the same address and data."""
        self._programs.stop(self._process)
        self._process = self._started()

    def user(self, name: str, *groups: str) -> Path:
        return self.pki.kubeconfig(self.url, name, *groups)

    def _started(self) -> Process:
        process = self._programs.start(*self._command)
        until(lambda: is_ready(self.url, self.pki.ca))
        return process

    def _start_etcd(self, programs: Programs, store: str, peers: str) -> None:
        programs.start(
            program(ETCD),
            f"--data-dir={programs.directory / 'etcd'}",
            f"--listen-client-urls={store}",
            f"--advertise-client-urls={store}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
        )


def is_ready(url: str, ca: Path) -> bool:
    context = ssl.create_default_context(cafile=str(ca))
    try:
        with urllib.request.urlopen(f"{url}/readyz", context=context, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _rsa_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return key.private_bytes(encoding, serialization.PrivateFormat.TraditionalOpenSSL, plain)
