"""Set up TLS to etcd, and say in words what is wrong with it."""

import ssl

from moorage.store.etcd.errors import EtcdError
from moorage.store.etcd.settings import EtcdSettings


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
    """Return the message for a server that closes a connection before it answers."""
    tls = "with TLS" if url.startswith("https:") else "without TLS"
    return f"{url} closed the connection: does it speak {tls}, and is this etcd's client URL?"
