"""Keep the certificates and the administrator's token of a cluster in a directory, and write its kubeconfig.

What is missing, expires soon or was made for other addresses is made anew; the rest stays. Files have mode 0600 and are
written by a rename, so that the kubeconfig's appearance can mean that the cluster is ready. Kubernetes: kubeadm's certs
and kubeconfig phases.
"""

import datetime
import errno
import os
import re
import secrets
import socket
import ssl
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import NamedTuple

import msgspec

from moorage.serve.pki.authentication import ADMIN, MASTERS
from moorage.serve.pki.certificates import Authority, CertificateError, Issued


def write_private(path: Path, content: bytes) -> None:
    """Write the file, and create the directories above it. OSError leaves no trace of it.

    A link stays, and leads to the new file; a device or a pipe is refused, since a rename would replace it.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if path.parent.exists() and not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


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
    names.append(_outward_address() if bind_address in _ANY_ADDRESS else bind_address)
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


def _outward_address() -> str:
    """The address that other machines see, from the kernel's routes. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


_NAME = "moorage"


def server_url(bind_address: str, port: int) -> str:
    host = _ANY_ADDRESS.get(bind_address, bind_address)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def render_kubeconfig(
    server: str, authority_certificate: bytes, *, user: str, token: str = "", client: Issued | None = None
) -> str:
    """The text of the file. Compression is off: most clients are on the same machine."""
    lines = [
        "apiVersion: v1",
        "kind: Config",
        "clusters:",
        f"- name: {_NAME}",
        "  cluster:",
        f"    server: {_quote(server)}",
        f"    certificate-authority-data: {b64encode(authority_certificate).decode()}",
        "    disable-compression: true",
        "users:",
        f"- name: {_quote(user)}",
        "  user:",
    ]
    if token:
        lines.append(f"    token: {_quote(token)}")
    if client is not None:
        lines.append(f"    client-certificate-data: {b64encode(client.certificate).decode()}")
        lines.append(f"    client-key-data: {b64encode(client.key).decode()}")
    lines += [
        "contexts:",
        f"- name: {_NAME}",
        "  context:",
        f"    cluster: {_NAME}",
        f"    user: {_quote(user)}",
        f"current-context: {_NAME}",
    ]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    return msgspec.json.encode(text).decode()  # a JSON string is a YAML string
