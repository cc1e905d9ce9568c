"""A kubeconfig with a certificate for any user of a kept cluster."""

import datetime
from base64 import b64decode
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from cryptography import x509

from moorage.cli.commands.kept.clusters import kubeconfig
from moorage.client.kubeconfig.context_file import Login, kubeconfig_of, render_yaml
from moorage.cluster.kept.kept_cluster import KeptCluster, user_kubeconfig
from moorage.serve.pki.certificates import CertificateError
from moorage.serve.pki.credentials import open_credentials


def _cluster(directory: Path, *, keeps: bool) -> KeptCluster:
    directory.mkdir(exist_ok=True)
    pki = directory / "pki" if keeps else None
    credentials = open_credentials(pki, ("localhost",), datetime.datetime.now(datetime.UTC))
    cluster = KeptCluster("dev", directory)
    login = Login("https://127.0.0.1:1", credentials.authority.issued.certificate, credentials.token)
    cluster.kubeconfig.write_text(render_yaml(kubeconfig_of(cluster.context, login)))
    return cluster


def test_a_user_gets_a_certificate_and_no_token(tmp_path: Path) -> None:
    config = yaml.safe_load(user_kubeconfig(_cluster(tmp_path, keeps=True), "system:kube-scheduler", ("a", "b")))
    (user,) = config["users"]
    assert set(user["user"]) == {"client-certificate-data", "client-key-data"}
    made = x509.load_pem_x509_certificate(b64decode(user["user"]["client-certificate-data"]))
    assert [one.value for one in made.subject] == ["a", "b", "system:kube-scheduler"]
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"


def test_an_ephemeral_cluster_is_announced_as_such(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="cluster dev does not keep its authority"):
        user_kubeconfig(_cluster(tmp_path, keeps=False), "jane", ())


@pytest.mark.parametrize("options", [("--user", ""), ("--user", " "), ("--group", "system:masters")])
def test_without_a_name_nothing_is_printed(tmp_path: Path, options: tuple[str, str]) -> None:
    """A variable that is not set must not turn into the administrator's credentials."""
    cluster = _cluster(tmp_path, keeps=True)
    ran = CliRunner().invoke(kubeconfig, ["--data-dir", str(cluster.directory), *options])
    assert ran.exit_code == 2
    assert "--user" in ran.output
    assert "apiVersion" not in ran.output


def test_an_authority_elsewhere_signs_for_an_api_server_on_etcd(tmp_path: Path) -> None:
    shared = _cluster(tmp_path / "first", keeps=True).directory / "pki"
    server = _cluster(tmp_path / "second", keeps=False)
    options = ["--data-dir", str(server.directory), "--cert-dir", str(shared)]
    ran = CliRunner().invoke(kubeconfig, [*options, "--user", "jane"])
    assert ran.exit_code == 0, ran.output
    config = yaml.safe_load(ran.stdout)
    assert ran.stderr == ""
    authority = b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
    assert authority == (shared / "ca.crt").read_bytes()
    assert CliRunner().invoke(kubeconfig, options).exit_code == 2
