"""Keep the certificates and the administrator's token of a cluster in a directory.

What is missing, expires soon or was made for other addresses is made anew; the rest stays. Files have mode 0600 and are
written by a rename. Kubernetes: kubeadm's certs phase.
"""

import datetime
import re
import secrets
import socket
import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple

from moorage.client.kubeconfig.context_file import Login
from moorage.client.kubeconfig.private_file import write_private
from moorage.serve.pki.authentication import ADMIN, MASTERS
from moorage.serve.pki.certificates import Authority, CertificateError, Issued

_ALWAYS = (
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*")
#: The address at which a client on this machine reaches a server that listens on all.
_ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


class Credentials(NamedTuple):
    """The secrets of a cluster. `authority` can issue certificates for other components."""

    authority: Authority
    server: Issued
    admin: Issued
    token: str

    def login(self, url: str) -> Login:
        """Return what the administrator needs to reach the server at `url`."""
        admin = self.admin
        return Login(url, self.authority.issued.certificate, self.token, admin.certificate, admin.key)

    def server_context(self) -> ssl.SSLContext:
        """TLS for the server: a client certificate is optional, but must be signed by our authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(cadata=self.authority.issued.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.TemporaryDirectory() as directory:  # OpenSSL's interface in Python reads keys from files only
            path = Path(directory) / "chain.pem"
            write_private(path, self.server.certificate + self.server.key)
            context.load_cert_chain(path)
        return context


def server_names(bind_address: str) -> tuple[str, ...]:
    names = [*_ALWAYS, socket.gethostname()]
    names.append(outward_address() if bind_address in _ANY_ADDRESS else bind_address)
    return tuple(dict.fromkeys(name for name in names if ":" in name or _HOST_NAME.fullmatch(name)))


def open_credentials(directory: Path | None, names: tuple[str, ...], now: datetime.datetime) -> Credentials:
    """Read what exists, make the rest; without a directory nothing is kept. Raises CertificateError, OSError."""
    kept = _Kept(directory)
    found = kept.read_pair("ca")
    try:
        authority = Authority(found, now) if found else None
    except CertificateError as error:
        raise CertificateError(f"{directory}: {error}; remove the directory to have new certificates made") from None
    if authority is None or not authority.is_usable:
        authority = Authority.create(now)
        kept.write_pair("ca", authority.issued)
    server = kept.read_pair("apiserver")
    if server is None or not authority.still_vouches_for(server, names):
        server = authority.issue_server(names)
        kept.write_pair("apiserver", server)
    admin = kept.read_pair("admin")
    if admin is None or not authority.still_vouches_for(admin):
        admin = authority.issue_client(ADMIN.name, (MASTERS,))
        kept.write_pair("admin", admin)
    token = kept.read("token").decode("ascii", "replace").strip()
    if not token:
        token = secrets.token_urlsafe(32)
        kept.write("token", token.encode() + b"\n")
    return Credentials(authority, server, admin, token)


class _Kept:
    """The files of the directory, if there is one."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def read(self, name: str) -> bytes:
        if self._directory is None:
            return b""
        try:
            return (self._directory / name).read_bytes()
        except FileNotFoundError:
            return b""

    def write(self, name: str, content: bytes) -> None:
        if self._directory is not None:
            write_private(self._directory / name, content)

    def read_pair(self, name: str) -> Issued | None:
        certificate, key = self.read(f"{name}.crt"), self.read(f"{name}.key")
        return Issued(certificate, key) if certificate and key else None

    def write_pair(self, name: str, issued: Issued) -> None:
        self.write(f"{name}.key", issued.key)
        self.write(f"{name}.crt", issued.certificate)


def outward_address() -> str:
    """The address that other machines see, from the kernel's routes. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def server_url(bind_address: str, port: int) -> str:
    host = _ANY_ADDRESS.get(bind_address, bind_address)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
