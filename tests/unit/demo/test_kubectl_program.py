"""Which kubectl will do."""

import shlex
from pathlib import Path

import pytest

from moorage.demo.cluster import Kubectl, NoKubectl, find_kubectl


def program(directory: Path, script: str) -> str:
    file = directory / "kubectl"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


def version(major: str, minor: str) -> str:
    return "echo " + shlex.quote(f'{{"clientVersion": {{"major": "{major}", "minor": "{minor}"}}}}')


@pytest.mark.parametrize(("major", "minor"), [("1", "27"), ("1", "36+"), ("2", "0")])
def test_a_new_enough_kubectl_is_found(major: str, minor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = program(tmp_path, version(major, minor))
    assert find_kubectl(found) == found
    monkeypatch.setenv("KUBECTL", found)
    assert find_kubectl() == found
    monkeypatch.delenv("KUBECTL")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert find_kubectl() == found


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (version("1", "26+"), "is version 1.26, and 1.27 or newer is needed"),
        ("echo Client Version: v1.36.0", "does not say which version it is"),
        ("echo '{}'", "does not say which version it is"),
        ("echo '[]'", "does not say which version it is"),
        ("exit 1", "does not say which version it is"),
    ],
)
def test_an_old_or_unknown_program_is_refused(script: str, why: str, tmp_path: Path) -> None:
    found = program(tmp_path, script)
    with pytest.raises(NoKubectl) as caught:
        find_kubectl(found)
    assert str(caught.value) == f"{found} {why}"


def test_a_missing_kubectl_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECTL", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoKubectl, match=r"^there is no kubectl in the PATH: install kubectl 1.27 or newer"):
        find_kubectl()
    with pytest.raises(NoKubectl, match=r"^there is no other-kubectl: "):
        find_kubectl("other-kubectl")


def test_kubectl_runs_in_the_folder_and_reaches_no_other_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "another")
    monkeypatch.setenv("KUBE_EDITOR", "another")
    folder = tmp_path / "folder"
    folder.mkdir()
    script = program(tmp_path, 'echo "$KUBECONFIG $HOME $KUBE_EDITOR" && pwd && echo "$@" >&2 && exit 3')
    ran = Kubectl(script, tmp_path / "kubeconfig", tmp_path, folder).run(["get", "a b"])
    assert ran == (3, f"{tmp_path}/kubeconfig {tmp_path} \n{folder}\n", "get a b\n")


def test_a_kubectl_that_was_removed_fails_the_command(tmp_path: Path) -> None:
    ran = Kubectl(str(tmp_path / "gone"), tmp_path / "kubeconfig", tmp_path, tmp_path).run(["get"])
    assert ran == (1, "", "kubectl cannot be run: No such file or directory\n")
