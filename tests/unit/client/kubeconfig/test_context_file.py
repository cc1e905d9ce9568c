"""A cluster's context in a kubeconfig that has others: nothing that was there is lost."""

import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.context_file import ContextFile, Login, kubeconfig_of, render_yaml
from moorage.client.kubeconfig.loading import load_access

LOGIN = Login("https://127.0.0.1:1", b"CA", "token", b"CERT", b"KEY")
EXISTING = """
# by hand
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- name: prod
  cluster: {server: 'https://prod:6443', unknown-field: [1, {deep: "on"}], proxy-url: "http://p"}
users:
- name: kubernetes-admin
  user: {token: "1e3", exec: {command: aws, args: ["no", "08"], env: null}}
contexts:
- {name: prod, context: {cluster: prod, user: kubernetes-admin, namespace: "0x10"}}
current-context: prod
extensions: [{name: x, extension: {when: "2020-01-01", many: "line one\\nline two: #"}}]
"""


def _content(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def test_a_context_is_added_and_taken_out_and_everything_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(EXISTING)
    path.chmod(0o644)
    file = ContextFile(path, "moorage-dev")
    assert file.write(kubeconfig_of("moorage-dev", LOGIN)) == "prod"
    merged, before = _content(path), yaml.safe_load(EXISTING)
    assert merged["current-context"] == "moorage-dev"
    assert [context["name"] for context in merged["contexts"]] == ["prod", "moorage-dev"]
    for plural in ("clusters", "users", "contexts"):
        assert merged[plural][:-1] == before[plural]
    assert (merged["preferences"], merged["extensions"]) == (before["preferences"], before["extensions"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_access(str(path)).server == "https://127.0.0.1:1"
    assert not file.is_ours

    assert file.write(kubeconfig_of("moorage-dev", LOGIN)) == ""  # again: the same
    assert _content(path) == merged
    assert file.remove()
    assert _content(path) == {**before, "current-context": ""}
    assert not file.remove()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["config"]


def test_a_context_that_is_not_current_goes_and_the_current_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "config"
    for name in ("moorage-a", "moorage-b"):
        ContextFile(path, name).write(kubeconfig_of(name, LOGIN))
    ContextFile(path, "moorage-a").remove()
    assert _content(path)["current-context"] == "moorage-b"
    ContextFile(path, "moorage-b").remove()
    assert not path.exists()


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text(EXISTING)
    link.symlink_to(real)
    ContextFile(link, "dev").write(kubeconfig_of("dev", LOGIN))
    assert link.is_symlink()
    assert len(_content(real)["contexts"]) == 2


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n",
        "kind: Config\n---\nkind: Config\n",
        "just words\n",
        "replicas: 3\n",
        "kind: Config\nclusters: {a: b}\n",
        "a: [\n",
    ],
)
def test_a_file_that_is_not_a_kubeconfig_is_replaced_by_force_only(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    file = ContextFile(path, "moorage")
    for refused in (file.check, lambda: file.write(kubeconfig_of("moorage", LOGIN)), file.remove):
        with pytest.raises(KubeconfigError, match=r"cluster.yaml is not a kubeconfig \(.*--force"):
            refused()
    assert path.read_text() == text
    file.write(kubeconfig_of("moorage", LOGIN), force=True)
    assert load_access(str(path)).token == "token"


def test_entries_of_the_same_name_that_another_program_wrote_are_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(EXISTING)
    with pytest.raises(KubeconfigError, match="entry 'prod' in clusters that moorage has not written"):
        ContextFile(path, "prod").write(kubeconfig_of("prod", LOGIN))
    assert path.read_text() == EXISTING
    assert not ContextFile(path, "prod").remove()


def test_an_empty_file_and_that_of_release_0_1_are_written(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("\n")
    ContextFile(path, "moorage").write(kubeconfig_of("moorage", LOGIN))
    old = kubeconfig_of("moorage", LOGIN)
    del old["clusters"][0]["cluster"]["extensions"]
    old["users"][0]["name"] = old["contexts"][0]["context"]["user"] = "kubernetes-admin"
    path.write_text(render_yaml(old))
    file = ContextFile(path, "moorage")
    assert file.is_ours
    file.write(kubeconfig_of("moorage", LOGIN))
    assert load_access(str(path)).token == "token"


def test_another_program_that_changes_the_file_is_waited_for(tmp_path: Path) -> None:
    path, lock = tmp_path / "config", tmp_path / "config.lock"
    lock.touch()

    def finish() -> None:
        time.sleep(0.2)
        path.write_text(EXISTING)
        lock.unlink()

    other = threading.Thread(target=finish)
    other.start()
    ContextFile(path, "dev").write(kubeconfig_of("dev", LOGIN))
    other.join()
    assert len(_content(path)["contexts"]) == 2
    assert not lock.exists()


@pytest.mark.parametrize(
    "text", ["yes", "n", "1e3", "012", "0x1", "~", "", "a: b", "a #b", "- x", "2020-01-01", ".inf"]
)
def test_strings_stay_strings(text: str) -> None:
    assert yaml.safe_load(render_yaml({text or "k": [text, {text: {text: [[text]]}}]})) == {
        text or "k": [text, {text: {text: [[text]]}}]
    }
