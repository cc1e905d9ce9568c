"""Write the kubeconfig of the administrator, with mode 0600, by a rename.

Its appearance can mean that the cluster is ready. Kubernetes: kubeadm's kubeconfig phase.
"""

from base64 import b64encode
from pathlib import Path

import msgspec

from moorage.serve.pki.certificates import Issued
from moorage.serve.pki.private_files import write_private

_NAME = "moorage"
_ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


def server_url(bind_address: str, port: int) -> str:
    """The URL at which a client on this machine reaches a server that listens there."""
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


def write_kubeconfig(path: Path, text: str) -> None:
    """Write the file. Raises OSError with the path in it."""
    write_private(path, text.encode())


def _quote(text: str) -> str:
    return msgspec.json.encode(text).decode()  # a JSON string is a YAML string
