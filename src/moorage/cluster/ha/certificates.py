"""Make the certificates of a cluster of several processes: one authority for the API, one for etcd.

A certificate that etcd's authority signed lets its holder read and write everything: so users of the API get theirs
from another authority. Files are those of kubeadm's certs phase, where it has them.
"""

import datetime
from pathlib import Path

from moorage.client.kubeconfig.context_file import Login, kubeconfig_of, render_yaml
from moorage.client.kubeconfig.private_file import write_private
from moorage.serve.access.bootstrap.policy import CONTROLLER_MANAGER, KUBELETS, SCHEDULER
from moorage.serve.pki.certificates import Authority, CertificateError, Issued
from moorage.serve.pki.credentials import Credentials

_MEMBER_NAMES = ("localhost", "127.0.0.1", "::1")
CLIENT = "apiserver-etcd-client"
#: The users of the components, by the names of their commands.
USERS = {"scheduler": SCHEDULER, "controller-manager": CONTROLLER_MANAGER, "kubelet": KUBELETS}


def make_etcd_certificates(directory: Path, members: int, now: datetime.datetime) -> None:
    """Make what is missing or expires soon: those of members, and the one of API servers. Raises OSError."""
    authority = _authority(directory, now)
    names_of = {f"member-{number}": _MEMBER_NAMES for number in range(1, members + 1)}
    for name, names in {**names_of, CLIENT: ()}.items():
        pair = _read(directory, name)
        if pair is None or not authority.still_vouches_for(pair, names):
            issued = authority.issue_member(name, names) if names else authority.issue_client(name)
            _write(directory, name, issued)


def write_component_kubeconfigs(directory: Path, credentials: Credentials, url: str) -> None:
    """Give each component a kubeconfig with its own certificate. Raises OSError."""
    authority = credentials.authority
    for name, user in USERS.items():
        issued = authority.issue_client(user.name)
        login = Login(url, authority.issued.certificate, "", issued.certificate, issued.key)
        write_private(directory / f"{name}.kubeconfig", render_yaml(kubeconfig_of("moorage", login)).encode())


def _authority(directory: Path, now: datetime.datetime) -> Authority:
    pair = _read(directory, "ca")
    if pair is not None:
        try:
            authority = Authority(pair, now)
        except CertificateError as error:
            raise CertificateError(
                f"{directory}: {error}; remove the directory to have new certificates made"
            ) from None
        if authority.is_usable:
            return authority
    authority = Authority.create(now)
    _write(directory, "ca", authority.issued)
    return authority


def _read(directory: Path, name: str) -> Issued | None:
    try:
        return Issued((directory / f"{name}.crt").read_bytes(), (directory / f"{name}.key").read_bytes())
    except FileNotFoundError:
        return None


def _write(directory: Path, name: str, issued: Issued) -> None:
    write_private(directory / f"{name}.key", issued.key)
    write_private(directory / f"{name}.crt", issued.certificate)
