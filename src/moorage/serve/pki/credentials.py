"""Keep the certificates and the administrator's token of a cluster in a directory.

What is missing, expires soon or was made for other addresses is renewed; the rest stays. Files have mode 0600 and are
written by a rename. Several API servers may share the directory: what one of them has made the others read, and each
has a certificate of its own, which is not kept. Kubernetes: kubeadm's certs phase; `--tls-cert-file`,
`--client-ca-file`. Differs: the cluster's own authority is trusted besides that of `--client-ca-file`, unless the
serving certificate is given, too.
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
from moorage.client.kubeconfig.private_file import alone_in, write_private
from moorage.serve.pki.authentication import ADMIN, MASTERS
from moorage.serve.pki.certificates import Authority, CertificateError, Issued, read_authorities, read_pair

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
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)
#: The address at which a client on this machine reaches a server that listens on all.
_ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


class GivenFiles(NamedTuple):
    """Certificates of the user's own, in files: those of the server with its key, and the authorities of clients."""

    certificate: Path | None = None
    key: Path | None = None
    client_authority: Path | None = None

    @property
    def are_all(self) -> bool:
        """Whether nothing of the cluster's own authority is needed."""
        return self.certificate is not None and self.client_authority is not None


NO_FILES = GivenFiles()


class Credentials(NamedTuple):
    """The secrets of a cluster. `authority` can issue certificates for other components.

    `trusted` are the authorities of client certificates, `server_authority` is the one of the server's, all in PEM;
    where they are empty, they are the cluster's own. Without a `token` there is no administrator.
    """

    authority: Authority
    server: Issued
    admin: Issued
    token: str
    trusted: bytes = b""
    server_authority: bytes = b""

    @property
    def client_authority(self) -> str:
        return (self.trusted or self.authority.issued.certificate).decode()

    def login(self, url: str) -> Login:
        """Return what the administrator needs to reach the server at `url`."""
        admin, authority = self.admin, self.server_authority or self.authority.issued.certificate
        return Login(url, authority, self.token, admin.certificate, admin.key)

    def server_context(self) -> ssl.SSLContext:
        """TLS for the server: a client certificate is optional, but must be signed by an authority that is trusted."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(cadata=self.client_authority)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.TemporaryDirectory() as directory:  # OpenSSL's interface in Python reads keys from files only
            path = Path(directory) / "chain.pem"
            write_private(path, self.server.certificate + b"\n" + self.server.key)
            context.load_cert_chain(path)
        return context


def server_names(bind_address: str, advertised: str = "") -> tuple[str, ...]:
    names = [*_ALWAYS, socket.gethostname(), *filter(None, [advertised])]
    names.append(outward_address() if bind_address in _ANY_ADDRESS else bind_address)
    return tuple(dict.fromkeys(name for name in names if ":" in name or _HOST_NAME.fullmatch(name)))


def open_credentials(
    directory: Path | None,
    names: tuple[str, ...],
    now: datetime.datetime,
    *,
    is_shared: bool = False,
    given: GivenFiles = NO_FILES,
) -> Credentials:
    """Read what exists, make the rest; without a directory nothing is kept. Raises CertificateError, OSError."""
    if given.are_all:
        directory = None
    with alone_in(directory if is_shared else None):
        credentials = _own_credentials(directory, names, now, is_shared=is_shared)
    own = credentials.authority.issued.certificate
    if given.certificate is not None and given.key is not None:
        server = read_pair(given.certificate, given.key)
        signed = credentials.authority.still_vouches_for(server)
        authority = own if signed else _CERTIFICATE.findall(server.certificate)[-1]  # the last one of a chain
        credentials = credentials._replace(server=server, server_authority=authority)
    if given.client_authority is not None:
        trusted = read_authorities(given.client_authority)
        credentials = credentials._replace(trusted=trusted if given.are_all else trusted + b"\n" + own)
    return credentials._replace(token="") if given.are_all else credentials


def _own_credentials(
    directory: Path | None, names: tuple[str, ...], now: datetime.datetime, *, is_shared: bool
) -> Credentials:
    kept = _Kept(directory)
    found = kept.read_pair("ca")
    try:
        authority = Authority(found, now) if found else None
    except CertificateError as error:
        raise CertificateError(f"{directory}: {error}; remove the directory to have new certificates made") from None
    if authority is None or not authority.is_usable:
        authority = Authority.create(now)
        kept.write_pair("ca", authority.issued)
    server = None if is_shared else kept.read_pair("apiserver")
    if server is None or not authority.still_vouches_for(server, names):
        server = authority.issue_server(names)
        if not is_shared:
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
    """Return the address that other machines see, from the kernel's routes. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def server_url(bind_address: str, port: int) -> str:
    host = _ANY_ADDRESS.get(bind_address, bind_address)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
