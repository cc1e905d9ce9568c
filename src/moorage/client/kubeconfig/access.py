"""Address, credentials and TLS context of an API server. Kubernetes: rest.Config, TLSClientConfig."""

import os
import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple


class KubeconfigError(Exception):
    """A kubeconfig, or a file it points to, cannot be used. The text names the file and the field."""


class ExecPlugin(NamedTuple):
    """A command that prints credentials."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class Access(NamedTuple):
    """How to reach an API server. Certificates and keys are PEM; `origin` is named in messages."""

    server: str
    certificate_authority: bytes = b""
    insecure: bool = False
    server_name: str = ""
    client_certificate: bytes = b""
    client_key: bytes = b""
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    plugin: ExecPlugin | None = None
    impersonate: tuple[tuple[str, str], ...] = ()
    namespace: str = "default"
    origin: str = ""


def tls_context(access: Access, client_certificate: bytes = b"", client_key: bytes = b"") -> ssl.SSLContext:
    """Return the TLS context. Raises KubeconfigError.

    A certificate of a plugin replaces the one of the kubeconfig.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif access.certificate_authority:
        try:
            context.load_verify_locations(cadata=access.certificate_authority.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            raise KubeconfigError(f"{access.origin}: the certificate authority is not PEM: {error}") from None
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    certificate, key = client_certificate or access.client_certificate, client_key or access.client_key
    if certificate:
        _load_certificate(context, certificate, key, access.origin)
    return context


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes, origin: str) -> None:
    """Load a certificate through a temporary file, because OpenSSL takes keys from files only."""
    descriptor, name = tempfile.mkstemp(prefix="moorage-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate.rstrip() + b"\n" + key)
        # Without a password, OpenSSL would ask for the passphrase on the terminal.
        context.load_cert_chain(name, password=lambda: b"")
    except ssl.SSLError as error:
        raise KubeconfigError(f"{origin}: the client certificate and key cannot be used: {error}") from None
    finally:
        Path(name).unlink()
