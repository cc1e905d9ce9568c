"""Hold address, TLS context and credentials of an API server. Kubernetes: rest.Config, TLSClientConfig, auth/exec.

A token file is read again every minute, a plugin run again when its credentials expire or are refused.
"""

import asyncio
import os
import ssl
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

_TOKEN_FILE_SECONDS = 60.0
_PLUGIN_SECONDS = 60.0  # a plugin may open a browser
_MAX_OUTPUT = 1024 * 1024
_NEVER = float("inf")


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
    """How to reach an API server. Certificates and keys are PEM; `origin` is named in messages.

    `context` is the name of the kubeconfig's context; empty without a kubeconfig, as in a pod.
    """

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
    context: str = ""


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


class Credentials:
    """`authorization` is valid until `expires`, in seconds since 1970 on the clock `now`."""

    def __init__(
        self, access: Access, *, now: Callable[[], float], environment: Mapping[str, str] = os.environ
    ) -> None:
        self.authorization = b""  # the value of the header; empty: none
        self.certificate: tuple[bytes, bytes] = (b"", b"")  # a plugin's certificate and key, in PEM
        self.expires = _NEVER
        self._access, self._now, self._environment = access, now, environment
        if access.plugin is not None or access.token_file:
            self.expires = 0.0
        elif access.token:
            self._set_token(access.token)
        elif access.username:
            pair = f"{access.username}:{access.password}".encode()
            self.authorization = b"Basic " + b64encode(pair)

    @property
    def can_refresh(self) -> bool:
        return self._access.plugin is not None or bool(self._access.token_file)

    async def refresh(self) -> None:
        """Get new credentials. Raises KubeconfigError."""
        access = self._access
        if access.plugin is not None:
            await self._run_plugin(access.plugin)
        elif access.token_file:
            try:
                self._set_token(Path(access.token_file).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                raise KubeconfigError(f"{access.origin}: tokenFile: cannot read {access.token_file}: {error}") from None
            self.expires = self._now() + _TOKEN_FILE_SECONDS

    def _set_token(self, token: str) -> None:
        token = token.strip()
        if not token.isascii() or not token.isprintable():
            raise KubeconfigError(f"{self._access.origin}: token: has characters that no header can have")
        self.authorization = b"Bearer " + token.encode("ascii") if token else b""

    async def _run_plugin(self, plugin: ExecPlugin) -> None:
        output = await self._output_of(plugin)
        try:
            credential: Any = msgspec.json.decode(output)
            status = credential["status"]
            version, kind = credential["apiVersion"], credential["kind"]
        except (msgspec.DecodeError, KeyError, TypeError):
            raise self._plugin_error(plugin, "did not print an ExecCredential with a status") from None
        if kind != "ExecCredential" or version != plugin.api_version:
            raise self._plugin_error(plugin, f"printed {version} {kind}, not {plugin.api_version} ExecCredential")
        fields = ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
        values = {name: status.get(name) or "" for name in fields} if isinstance(status, dict) else {}
        if not values or not all(isinstance(value, str) for value in values.values()):
            raise self._plugin_error(plugin, "printed a status that is not one of an ExecCredential")
        certificate, key = values["clientCertificateData"].encode(), values["clientKeyData"].encode()
        if bool(certificate) != bool(key) or not (certificate or values["token"]):
            raise self._plugin_error(plugin, "gave neither a token nor a certificate with its key")
        self._set_token(values["token"])
        self.certificate = (certificate, key)
        self.expires = _NEVER
        if values["expirationTimestamp"]:
            try:
                self.expires = datetime.fromisoformat(values["expirationTimestamp"].replace("Z", "+00:00")).timestamp()
            except ValueError:
                raise self._plugin_error(plugin, "printed an expirationTimestamp that is no time") from None

    async def _output_of(self, plugin: ExecPlugin) -> bytes:
        interactive = plugin.interactive_mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if plugin.interactive_mode == "Always" and not interactive:
            raise self._plugin_error(plugin, "wants to ask questions, and there is no terminal to ask them on")
        spec: dict[str, Any] = {"interactive": interactive}
        if plugin.provide_cluster_info:
            spec["cluster"] = self._cluster_info()
        info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
        environment = {**self._environment, **dict(plugin.environment)}
        environment["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(info).decode()
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.arguments,
                env=environment,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except (OSError, ValueError) as error:
            raise self._plugin_error(plugin, f"cannot be run: {getattr(error, 'strerror', None) or error}") from None
        try:
            async with asyncio.timeout(_PLUGIN_SECONDS):
                assert process.stdout is not None
                output = b""
                while piece := await process.stdout.read(_MAX_OUTPUT):
                    output += piece
                    if len(output) > _MAX_OUTPUT:
                        raise self._plugin_error(plugin, f"printed more than {_MAX_OUTPUT} bytes")
                code = await process.wait()
        except TimeoutError:
            raise self._plugin_error(plugin, f"took longer than {_PLUGIN_SECONDS:.0f} seconds") from None
        finally:
            if process.returncode is None:
                process.kill()
            # Before waiting: asyncio also waits for the end of the pipe, and never sees it where it no longer reads.
            process._transport.close()  # type: ignore[attr-defined]
            await process.wait()
        if code != 0:
            raise self._plugin_error(plugin, f"failed with exit code {code}")
        return output

    def _cluster_info(self) -> dict[str, Any]:
        access = self._access
        info = {
            "server": access.server,
            "tls-server-name": access.server_name,
            "insecure-skip-tls-verify": access.insecure,
            "certificate-authority-data": b64encode(access.certificate_authority).decode(),
        }
        return {field: value for field, value in info.items() if value}

    def _plugin_error(self, plugin: ExecPlugin, why: str) -> KubeconfigError:
        hint = f"\n{plugin.install_hint}" if plugin.install_hint else ""
        return KubeconfigError(f"{self._access.origin}: exec: {plugin.command} {why}{hint}")
