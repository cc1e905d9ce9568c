import base64
import os
import stat
from pathlib import Path

import pytest
import yaml

from moorage.client.kubeconfig.context_file import Login, kubeconfig_of, render_yaml
from moorage.client.kubeconfig.private_file import write_private
from moorage.serve.pki.credentials import server_url


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1", "https://127.0.0.1:6443"),
        ("0.0.0.0", "https://127.0.0.1:6443"),
        ("", "https://127.0.0.1:6443"),
        ("::", "https://[::1]:6443"),
        ("fe80::1", "https://[fe80::1]:6443"),
        ("cluster.example", "https://cluster.example:6443"),
    ],
)
def test_where_clients_on_this_machine_find_the_server(address: str, url: str) -> None:
    assert server_url(address, 6443) == url


def test_the_file_says_where_whom_to_trust_and_who_one_is() -> None:
    login = Login("https://x:1", b"CA", "t", b"CERT", b"KEY")
    config = yaml.safe_load(render_yaml(kubeconfig_of("dev", login, directory="C: #1")))
    assert (config["kind"], config["apiVersion"], config["current-context"]) == ("Config", "v1", "dev")
    (cluster,), (user,), (context,) = config["clusters"], config["users"], config["contexts"]
    assert context == {"name": "dev", "context": {"cluster": cluster["name"], "user": user["name"]}}
    assert cluster["cluster"]["server"] == "https://x:1"
    assert cluster["cluster"]["extensions"][0]["extension"]["directory"] == "C: #1"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == b"CA"
    assert user["user"]["token"] == "t"
    assert base64.b64decode(user["user"]["client-certificate-data"]) == b"CERT"
    assert base64.b64decode(user["user"]["client-key-data"]) == b"KEY"


def test_token_and_certificate_are_each_enough() -> None:
    by_token = kubeconfig_of("x", Login("https://x", b"CA", "t"))
    assert by_token["users"][0]["user"] == {"token": "t"}
    by_certificate = kubeconfig_of("x", Login("https://x", b"CA", certificate=b"c", key=b"k"))
    assert set(by_certificate["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}


def test_it_is_written_whole_for_its_owner_only_and_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "kubeconfig"
    write_private(path, b"one")
    path.chmod(0o644)
    write_private(path, b"two")
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["kubeconfig"]


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_private(tmp_path / "taken", b"text")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="file"):
        write_private(tmp_path / "file" / "kubeconfig", b"text")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "taken"]


def test_a_link_stays_and_a_device_is_not_replaced(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("real")
    write_private(link, b"text")
    assert link.is_symlink()
    assert (tmp_path / "real").read_text() == "text"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        write_private(tmp_path / "pipe", b"text")
    assert (tmp_path / "pipe").is_fifo()
