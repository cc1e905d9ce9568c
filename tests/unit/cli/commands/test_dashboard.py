"""What `moorage dashboard` says to a command line that makes no sense, and to a cluster that is not there."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.commands.dashboard import command


def call(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, [*arguments, "--no-open"], input=stdin, standalone_mode=False)


def said(result: Result) -> str:
    return f"{result.output}{result.exception or ''}"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("cluster/", "--kubeconfig", "k"), "a cluster or files"),
        (("cluster/", "--context", "c"), "a cluster or files"),
        (("cluster/", "--allow-changes"), "nothing to change in files"),
        (("cluster/", "--feature-gates=Nonsense=true"), "Nonsense"),
        (("cluster/", "--port", "70000"), "70000"),
        (("cluster/", "--allow-host", ""), "takes a name such as"),
        (("cluster/", "--allow-host", "https://k8s.example.com"), "without http://"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], text: str) -> None:
    result = call(*arguments)
    assert text in said(result)
    assert result.exit_code or result.exception


def test_files_that_are_not_there(tmp_path: Path) -> None:
    result = call(str(tmp_path / "none.yaml"))
    assert result.return_value == 2
    assert "none.yaml" in said(result)
    assert "Traceback" not in said(result)


def test_an_empty_directory(tmp_path: Path) -> None:
    result = call(str(tmp_path))
    assert result.return_value == 2
    assert "no *.yaml, *.yml or *.json files" in said(result)


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    result = call("--kubeconfig", str(tmp_path / "none"))
    assert result.return_value == 2
    assert "none" in said(result)


def test_a_cluster_that_does_not_answer(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: x
""",
        "utf-8",
    )
    result = call("--kubeconfig", str(kubeconfig))
    assert result.return_value == 2
    assert "http://127.0.0.1:9: the API server cannot be reached" in said(result)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text("{apiVersion: v1, kind: Node, metadata: {name: node-1}}", "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = call(str(nodes), "--port", str(taken.getsockname()[1]))
    assert result.return_value == 2
    assert "cannot listen on 127.0.0.1:" in said(result)
