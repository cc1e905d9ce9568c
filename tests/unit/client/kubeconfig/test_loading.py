"""Kubeconfigs: what is read from them, and what is said about those that cannot be used."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.client.kubeconfig.access import Access, ExecPlugin, KubeconfigError, tls_context
from moorage.client.kubeconfig.loading import load_access

CLUSTER: dict[str, Any] = {"server": "https://example.org:6443/base/"}


def _config(cluster: Any = None, user: Any = None, context: Any = None, **top: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **(context or {})}}],
        "clusters": [{"name": "c", "cluster": CLUSTER if cluster is None else cluster}],
        "users": [{"name": "u", "user": user or {}}],
        **top,
    }


def _write(path: Path, config: Any) -> str:
    path.write_text(config if isinstance(config, str) else yaml.safe_dump(config))
    return str(path)


def _data(text: str) -> str:
    return b64encode(text.encode()).decode()


def test_everything_that_a_kubeconfig_can_say(tmp_path: Path) -> None:
    cluster = {**CLUSTER, "certificate-authority-data": _data("CA"), "tls-server-name": "inside"}
    user = {
        "client-certificate-data": _data("CERT"),
        "client-key-data": _data("KEY"),
        "token": "t",
        "tokenFile": "token",
        "username": "me",
        "password": "secret",
        "as": "somebody",
        "as-groups": ["a", "b"],
    }
    path = _write(tmp_path / "config", _config(cluster, user, {"namespace": "work"}))
    assert load_access(path) == Access(
        server="https://example.org:6443/base",
        certificate_authority=b"CA",
        server_name="inside",
        client_certificate=b"CERT",
        client_key=b"KEY",
        token="t",
        token_file=str(tmp_path / "token"),
        username="me",
        password="secret",
        impersonate=(("Impersonate-User", "somebody"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")),
        namespace="work",
        origin=f"{path}, context here",
        context="here",
    )


def test_files_are_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("CA")
    (tmp_path / "me.crt").write_text("CERT")
    (tmp_path / "me.key").write_text("KEY")
    user = {"client-certificate": "me.crt", "client-key": str(tmp_path / "me.key")}
    access = load_access(_write(tmp_path / "config", _config({**CLUSTER, "certificate-authority": "ca.crt"}, user)))
    assert (access.certificate_authority, access.client_certificate, access.client_key) == (b"CA", b"CERT", b"KEY")


def test_a_plugin(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./get-token",
        "args": ["--now"],
        "env": [{"name": "A", "value": "b"}],
        "installHint": "get it",
        "provideClusterInfo": True,
        "interactiveMode": "Never",
    }
    access = load_access(_write(tmp_path / "config", _config(user={"exec": plugin})))
    assert access.plugin == ExecPlugin(
        str(tmp_path / "get-token"),
        ("--now",),
        (("A", "b"),),
        "client.authentication.k8s.io/v1",
        "get it",
        True,
        "Never",
    )


def test_the_first_kubeconfig_that_has_an_entry_wins(tmp_path: Path) -> None:
    first = {"kind": "Config", "users": [{"name": "u", "user": {"token": "first"}}]}
    second = _config(user={"token": "second"})
    third = _config({"server": "http://third"}, **{"current-context": "nowhere"})
    files = [_write(tmp_path / name, config) for name, config in (("1", first), ("2", second), ("3", third))]
    environment = {"KUBECONFIG": ":".join([str(tmp_path / "missing"), *files, ""])}
    access = load_access(environment=environment)
    assert (access.server, access.token) == ("https://example.org:6443/base", "first")
    assert load_access(files[2], context="here", environment=environment).server == "http://third"


def test_the_one_in_the_home_directory(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    _write(tmp_path / ".kube" / "config", _config())
    assert load_access(environment={}, home=tmp_path).server == "https://example.org:6443/base"


def test_inside_of_a_pod(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(KubeconfigError, match="token: is missing"):
        load_access(environment=environment, home=tmp_path, service_account=tmp_path)
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("CA")
    (tmp_path / "namespace").write_text("work\n")
    access = load_access(environment=environment, home=tmp_path, service_account=tmp_path)
    assert (access.server, access.namespace) == ("https://[fd00::1]:443", "work")
    assert (access.certificate_authority, access.token_file) == (b"CA", str(tmp_path / "token"))


def test_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match=r"looked for .*/\.kube/config"):
        load_access(environment={}, home=tmp_path)
    with pytest.raises(KubeconfigError, match="missing: cannot be read: No such file"):
        load_access(str(tmp_path / "missing"))


_EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ("a: [", "config:1:"),
        ("[]", "is not a kubeconfig"),
        ("", "current-context: is not set"),
        ({"kind": "Pod"}, "kind: must be \"Config\", not 'Pod'"),
        (_config(**{"current-context": 7}), "current-context: must be a string"),
        (
            _config(**{"current-context": "x"}),
            "current-context: there is no such entry in contexts: 'x' (there are: here)",
        ),
        (
            _config(clusters=[]),
            "contexts[here].context.cluster: there is no such entry in clusters: 'c' (there are: none)",
        ),
        (_config(users=[]), "contexts[here].context.user: there is no such entry in users"),
        (_config(users="x"), "users: must be a list"),
        (_config(users=["x"]), "users[0].name: must be a string"),
        (_config(users=[{"name": "u", "user": "x"}]), "users[u].user: must be a mapping"),
        (_config(context={"cluster": ""}), "contexts[here].context.cluster: is not set"),
        (_config({}), "clusters[c].cluster.server: must be an http or https URL, not ''"),
        (_config({"server": "ftp://x"}), "server: must be an http or https URL"),
        (_config({"server": "https://x:99999"}), "server: must be an http or https URL"),
        (_config({"server": "https://me@x"}), "server: must be an http or https URL"),
        (_config({"server": "https://x\r\nEvil: 1"}), "server: must be an http or https URL"),
        (_config({**CLUSTER, "proxy-url": "http://p"}), "clusters[c].cluster.proxy-url: proxies are not supported"),
        (_config({**CLUSTER, "insecure-skip-tls-verify": "yes"}), "insecure-skip-tls-verify: must be true or false"),
        (
            _config({**CLUSTER, "insecure-skip-tls-verify": True, "certificate-authority-data": _data("x")}),
            "exclude each other",
        ),
        (_config({**CLUSTER, "certificate-authority-data": "?"}), "certificate-authority-data: is not base64"),
        (_config({**CLUSTER, "certificate-authority": "nope.crt"}), "certificate-authority: cannot read"),
        (_config(user={"token": 5}), "users[u].user.token: must be a string"),
        (_config(user={"client-key-data": _data("x")}), "users[u].user.client-certificate: is not set"),
        (_config(user={"auth-provider": {"name": "gcp"}}), "users[u].user.auth-provider: authentication providers"),
        (_config(user={"as-groups": "x"}), "as-groups: must be a list of strings"),
        (_config(user={"as": "a\nb"}), "cannot be sent as Impersonate-User"),
        (_config(user={"exec": "x"}), "users[u].user.exec: must be a mapping"),
        (_config(user={"exec": {"command": "x"}}), "users[u].user.exec.apiVersion: must be"),
        (_config(user={"exec": {**_EXEC, "command": ""}}), "users[u].user.exec.command: is not set"),
        (_config(user={"exec": {**_EXEC, "args": [1]}}), "users[u].user.exec.args: must be a list of strings"),
        (_config(user={"exec": {**_EXEC, "env": [{"name": "x"}]}}), "users[u].user.exec.env: must be a list"),
        (_config(user={"exec": {**_EXEC, "env": {"a": "b"}}}), "users[u].user.exec.env: must be a list"),
        (_config(user={"exec": {**_EXEC, "interactiveMode": "x"}}), "interactiveMode: must be"),
        (_config(user={"exec": _EXEC, "token": "t"}), "users[u].user.exec: cannot be combined"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_file_and_field(tmp_path: Path, config: Any, complaint: str) -> None:
    path = _write(tmp_path / "config", config)
    with pytest.raises(KubeconfigError) as error:
        load_access(path)
    assert complaint in str(error.value)
    assert path in str(error.value)


@pytest.mark.parametrize(
    ("access", "complaint"),
    [
        (Access("https://x", certificate_authority=b"nonsense", origin="o"), "o: the certificate authority is not PEM"),
        (Access("https://x", certificate_authority=b"\xff", origin="o"), "o: the certificate authority is not PEM"),
        (
            Access("https://x", client_certificate=b"x", client_key=b"y", origin="o"),
            "o: the client certificate and key",
        ),
    ],
)
def test_invalid_certificates_are_refused(access: Access, complaint: str) -> None:
    with pytest.raises(KubeconfigError, match=complaint):
        tls_context(access)
