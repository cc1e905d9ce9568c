"""Make a kubeconfig for any user of a kept cluster: a client certificate, signed with the cluster's authority.

For components that run against the cluster under their own names. Kubernetes: `kubeadm kubeconfig user`.
"""

import datetime
from collections.abc import Sequence
from pathlib import Path

from moorage.client.kubeconfig.context_file import Login, kubeconfig_of, render_yaml
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.kept.kept_cluster import KeptCluster
from moorage.serve.pki.certificates import Authority, CertificateError, Issued


def user_kubeconfig(cluster: KeptCluster, user: str, groups: Sequence[str], cert_dir: Path | None = None) -> str:
    """`cert_dir` is where the API server has its authority, if not in its data directory.

    Raises CertificateError, KubeconfigError, OSError.
    """
    server = load_access(str(cluster.kubeconfig)).server
    pki = cert_dir or cluster.directory / "pki"
    try:
        kept = Issued((pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())
    except FileNotFoundError:
        if cert_dir is not None:
            raise
        why = "does not keep its authority: only clusters that keep their data have certificates for other users"
        raise CertificateError(f"{cluster.title} {why}") from None
    authority = Authority(kept, datetime.datetime.now(datetime.UTC))
    try:
        issued = authority.issue_client(user, groups)
    except ValueError as error:
        raise CertificateError(f"no certificate can have this user or these groups: {error}") from None
    login = Login(server, kept.certificate, "", issued.certificate, issued.key)
    return render_yaml(kubeconfig_of(cluster.context, login))
