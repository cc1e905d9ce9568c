"""What the stand-in for kubectl says when something is not as it should be; what it does right is played by stories."""

from pathlib import Path

import pytest

from moorage.demo.kubectl_stand_in import StandIn, merge_patch_to

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: one, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: one, context: {cluster: one}}]
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    """Nobody listens where it wants to connect to."""
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    return StandIn(tmp_path / "kubeconfig", tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("drain node-1", "error: without kubectl there is no `kubectl drain`\n"),
        ("get pods --watch", "error: without kubectl there is no option --watch\n"),
        ("get pods -o yaml", "error: without kubectl there is no output yaml\n"),
        ("get", 'error: the server doesn\'t have a resource type ""\n'),
        ("get unicorns", 'error: the server doesn\'t have a resource type "unicorns"\n'),
        ("taint nodes", "error: you must name one of nodes\n"),
        ("scale deploy", "error: you must name one of deployments\n"),
        ("scale deploy/web --replicas=many", "error: not a number: 'many'\n"),
        ("create job now", 'error: the server doesn\'t have a resource type ""\n'),
        ("create namespace red", "error: without kubectl only jobs are created, and from a CronJob\n"),
        ("set env deploy/web A=b", "error: without kubectl only images are set\n"),
        ("set image deploy/web nginx", "error: an image is set as container=image, not 'nginx'\n"),
        ("apply -f nowhere.yaml", 'error: the path "nowhere.yaml" does not exist\n'),
        ("apply -f unicorn.yaml", 'error: no matches for kind "Unicorn"\n'),
        ("apply -f nameless.yaml", "error: nameless.yaml: an object has no name\n"),
    ],
)
def test_what_is_not_understood(words: str, said: str, stand_in: StandIn, tmp_path: Path) -> None:
    (tmp_path / "unicorn.yaml").write_text("apiVersion: v1\nkind: Unicorn\nmetadata: {name: one}\n")
    (tmp_path / "nameless.yaml").write_text("apiVersion: v1\nkind: Pod\n")
    assert stand_in.run(words.split()) == (1, "", said)


def test_a_file_that_is_no_yaml(stand_in: StandIn, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [\n")
    ran = stand_in.run(["apply", "-f", "bad.yaml"])
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("bad.yaml:")


def test_a_server_that_is_not_there(stand_in: StandIn) -> None:
    ran = stand_in.run(["get", "pods"])
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("Unable to connect to the server: the server does not answer: ")


def test_what_was_applied_before_and_is_not_now_is_taken_away() -> None:
    before = {
        "metadata": {"name": "a", "labels": {"old": "1", "same": "2"}},
        "spec": {"list": [1, 2], "gone": {"a": 1}},
    }
    after = {"metadata": {"name": "a", "labels": {"same": "2", "new": "3"}}, "spec": {"list": [2], "more": {"b": 1}}}
    assert merge_patch_to(before, after) == {
        "metadata": {"name": "a", "labels": {"old": None, "same": "2", "new": "3"}},
        "spec": {"list": [2], "gone": None, "more": {"b": 1}},
    }
