"""Open a connection to one member of etcd, with TLS, and check that the member can be used. Kubernetes: clientv3's dial.

Every failure is one line that says what is wrong at which URL.
"""

import asyncio
import re
import socket
import ssl
from contextlib import suppress
from urllib.parse import urlsplit

from moorage import __version__
from moorage.store.etcd.errors import EtcdError, EtcdRefused, EtcdTooOld, EtcdUnreachable
from moorage.store.etcd.messages import MemberStatus
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.wire.answers import BadAnswer, decode_status
from moorage.store.etcd.wire.connection import Connection
from moorage.store.etcd.wire.frames import encode_headers
from moorage.store.etcd.wire.refusals import meaning
from moorage.store.etcd.wire.streams import GrpcStatus


def tls_context(settings: EtcdSettings) -> ssl.SSLContext | None:
    """Return what connections to https URLs need; None if there are none. Raises EtcdError."""
    if not any(url.startswith("https:") for url in settings.servers):
        if settings.ca_file or settings.cert_file or settings.key_file:
            raise EtcdError("--etcd-cafile, --etcd-certfile and --etcd-keyfile need https:// in --etcd-servers")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    try:
        if settings.ca_file:
            context.load_verify_locations(settings.ca_file)
        else:
            context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    except (OSError, ValueError) as error:
        raise EtcdError(f"--etcd-cafile {settings.ca_file}: {_file_trouble(error)}") from None
    if bool(settings.cert_file) != bool(settings.key_file):
        raise EtcdError("--etcd-certfile and --etcd-keyfile are given together or not at all")
    if settings.cert_file:
        try:
            # Without a password, OpenSSL would ask for the passphrase on the terminal.
            context.load_cert_chain(settings.cert_file, settings.key_file, password=lambda: b"")
        except (OSError, ValueError) as error:
            files = f"--etcd-certfile {settings.cert_file} and --etcd-keyfile {settings.key_file}"
            raise EtcdError(f"{files}: {_file_trouble(error)}") from None
    return context


def _file_trouble(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"cannot be used ({(error.reason or 'not PEM').replace('_', ' ').lower()})"
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror})"
    return "cannot be used"


def tls_trouble(error: ssl.SSLError) -> str:
    """Return what a person can do about a connection on which TLS failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}): see --etcd-cafile"
    reason = error.reason or str(error)
    if "WRONG_VERSION" in reason or "HTTP_REQUEST" in reason or "RECORD_LAYER" in reason:
        return "it does not speak TLS: write http:// instead of https://"
    said = reason.replace("_", " ").lower()
    if "ALERT" in reason and ("CERT" in reason or "CA" in reason):
        return f"it refuses our certificate ({said}): see --etcd-certfile and --etcd-keyfile"
    return f"TLS failed ({said})"


def closed_at_once(url: str) -> str:
    """Return what is said of a server that closes a connection before it says anything."""
    tls = "with TLS" if url.startswith("https:") else "without TLS"
    return f"{url} closed the connection: does it speak {tls}, and is this etcd's client URL?"


STATUS = "/etcdserverpb.Maintenance/Status"
DEFAULT_PORT = 2379
_OLDEST = (3, 5)
_VERSION = re.compile(r"(\d+)\.(\d+)\.")


class Endpoint:
    """The URL of a member, taken apart."""

    def __init__(self, url: str) -> None:
        """Raises EtcdError."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or DEFAULT_PORT
        except ValueError:
            host, port = None, 0
        if not host or parts.scheme not in ("http", "https") or parts.path.strip("/") or parts.username:
            raise EtcdError(
                f"{url!r} is not a URL of etcd: write http://HOST:{DEFAULT_PORT} or https://HOST:{DEFAULT_PORT}"
            )
        self.url, self.scheme, self.host, self.port = url.rstrip("/"), parts.scheme, host, port
        self.authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def block(self, path: str, token: str = "", *, needs_leader: bool = True) -> bytes:
        """Return the encoded headers of a call."""
        headers = [
            (b":method", b"POST"),
            (b":scheme", self.scheme.encode()),
            (b":path", path.encode()),
            (b":authority", self.authority.encode("idna" if not self.authority.isascii() else "ascii")),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
            (b"user-agent", f"moorage/{__version__}".encode()),
        ]
        if needs_leader:
            headers.append((b"hasleader", b"true"))
        if token:
            headers.append((b"token", token.encode()))
        return encode_headers(tuple(headers))


async def dial(endpoint: Endpoint, tls: ssl.SSLContext | None, settings: EtcdSettings) -> Connection:
    """Return a connection on which the server has answered in HTTP/2. Raises EtcdUnreachable."""
    loop, url = asyncio.get_running_loop(), endpoint.url
    connection = Connection(url, settings.keepalive_seconds, settings.keepalive_timeout)
    is_secure = endpoint.scheme == "https"
    try:
        transport, _ = await loop.create_connection(
            lambda: connection,
            endpoint.host,
            endpoint.port,
            ssl=tls if is_secure else None,
            server_hostname=endpoint.host if is_secure else None,
            ssl_handshake_timeout=settings.dial_seconds if is_secure else None,
        )
        with suppress(OSError, AttributeError):
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secure = transport.get_extra_info("ssl_object")
        if secure is not None and secure.selected_alpn_protocol() != "h2":
            raise EtcdUnreachable(f"{url} does not speak HTTP/2: is this etcd's client URL?")
        await connection.ready
    except BaseException as error:
        connection.close("was not used")
        raise _dial_error(error, url) from None
    return connection


def _dial_error(error: BaseException, url: str) -> BaseException:
    if isinstance(error, ssl.SSLError):
        return EtcdUnreachable(f"{url}: {tls_trouble(error)}")
    if isinstance(error, socket.gaierror):
        return EtcdUnreachable(f"{url}: the name cannot be resolved ({error.strerror or error})")
    if isinstance(error, ConnectionRefusedError):
        return EtcdUnreachable(f"{url}: connection refused: does etcd run there?")
    if isinstance(error, TimeoutError):
        return EtcdUnreachable(f"{url} does not answer")
    if isinstance(error, ConnectionError):
        return EtcdUnreachable(closed_at_once(url))
    if isinstance(error, OSError):
        return EtcdUnreachable(f"{url}: {error.strerror or error}")
    return error


async def ask_status(connection: Connection, block: bytes, seconds: float) -> tuple[MemberStatus, int]:
    """Return the status of the member, and the ID of its cluster. Raises EtcdError."""
    name = connection.name
    try:
        return decode_status(await connection.call(block, b"", seconds))
    except GrpcStatus as status:
        if status.code == 2 and "HTTP status" in status.text:
            raise EtcdRefused(status.code, status.text, f"{name} {status.text}") from None
        raise meaning(status, name) from None
    except BadAnswer as error:
        raise EtcdRefused(2, str(error), f"{name} does not answer as etcd does: {error}") from None


def check_version(status: MemberStatus, name: str) -> None:
    """Raises EtcdTooOld."""
    found = _VERSION.match(status.version)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        said = f"etcd at {name} is version {status.version or 'unknown'}, and 3.5 or later is needed"
        raise EtcdTooOld(12, status.version, said)
