"""Open a connection to one member of etcd, and see that it is one that can be used. Kubernetes: clientv3's dial.

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
from moorage.store.etcd.wire.tls import closed_at_once, tls_trouble

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
