"""`moorage attach install` as a new user calls it: what it prints, writes, and refuses in one line."""

import json
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from moorage.cli.main import moorage

IMAGE = ("--image", "registry.example.com/moorage:1")


def install(*options: str) -> Result:
    result = CliRunner().invoke(moorage, ["attach", "install", *options], standalone_mode=False)
    usage = isinstance(result.exception, click.UsageError)
    result.exit_code = 2 if usage else result.exit_code or result.return_value or 0
    return result


def told(result: Result) -> str:
    """Return what the user is told, on one line."""
    error = result.exception.format_message() if isinstance(result.exception, click.UsageError) else ""
    return " ".join(f"{result.output} {error}".split())


def test_a_stream_or_a_list_is_printed_and_no_cluster_is_asked() -> None:
    printed = install(*IMAGE, "--kubernetes-version", "1.36.4")
    assert printed.exit_code == 0, printed.output
    documents = list(yaml.safe_load_all(printed.stdout))
    listed = json.loads(install(*IMAGE, "--kubernetes-version", "v1.36", "-o", "json").stdout)
    assert listed["items"] == documents
    assert {each["kind"] for each in documents} >= {"Namespace", "Deployment", "MutatingAdmissionPolicy"}
    assert [each["metadata"]["name"] for each in documents if "CustomResource" in each["kind"]] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "image"),
        (("--image", "a b"), "'a b' is not the name of an image"),
        ((*IMAGE, "--kubernetes-version", "1.29"), "Kubernetes 1.29 is too old: attach needs 1.30"),
        ((*IMAGE, "--kubernetes-version", "new"), "'new' is not a version of Kubernetes such as 1.36"),
        ((*IMAGE, "--kubernetes-version", "1.35", "--policies-only"), "--policies-only needs Kubernetes 1.36"),
        ((*IMAGE, "--kubernetes-version", "1.36", "--policies-only", "--cert-manager"), "no webhook"),
        ((*IMAGE, "--kubernetes-version", "1.36", "--namespace", "Upper"), "a lowercase RFC 1123 label"),
        ((*IMAGE, "--kubernetes-version", "1.36", "--native", "Eq"), "'Eq' is not one of"),
        ((*IMAGE, "-o", "helm"), "-o helm needs --directory"),
        ((*IMAGE, "--directory", "x"), "--directory needs -o kustomize or -o helm"),
        ((*IMAGE, "--kubeconfig", "/nowhere/config"), "name the version with --kubernetes-version"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options: tuple[str, ...], words: str) -> None:
    refused = install(*options)
    assert refused.exit_code == 2
    assert words in told(refused)
    assert "Traceback" not in told(refused)


ADDED = "[{name: a, podSelector: {matchLabels: {a: b}}, tolerations: [{key: spot, operator: Gt, value: '1'}]}]"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("{", (), "add.yaml:1"),
        ("3", (), "is not a list of additions"),
        ("[{nam: a}]", (), "[0].nam: there is no such field"),
        ("[{name: 3}]", (), "[0].name"),
        ("[{name: a, matchLabelKeys: [a]}]", (), "would change every pod"),
        (ADDED.replace("operator: Gt, ", "operator: Is, "), (), "tolerations[0].operator"),
        (f"{ADDED[:-1]}, {ADDED[1:]}", (), "two additions have the name a"),
        (ADDED, ("--policies-only",), "need the webhook"),
        (ADDED, ("--kubernetes-version", "1.35"), "--additions needs Kubernetes 1.36"),
    ],
)
def test_additions_that_cannot_be_are_refused_in_one_line(
    tmp_path: Path, text: str, options: tuple[str, ...], words: str
) -> None:
    file = tmp_path / "add.yaml"
    file.write_text(text)
    refused = install(*IMAGE, "--kubernetes-version", "1.36", "--additions", str(file), *options)
    assert refused.exit_code == 2
    assert words in told(refused)


def test_additions_are_printed_with_the_installation_and_alone(tmp_path: Path) -> None:
    file = tmp_path / "add.yaml"
    file.write_text(ADDED)
    printed = install(*IMAGE, "--kubernetes-version", "1.36", "--additions", str(file))
    with_all = [each for each in yaml.safe_load_all(printed.stdout) if each["metadata"]["name"].startswith("a.add.")]
    options = ("--add-toleration", "spot>1", "--pods", "a=b", "--name", "a")
    alone = CliRunner().invoke(moorage, ["attach", "policies", *options], standalone_mode=False)
    assert [each["spec"] for each in yaml.safe_load_all(alone.stdout)] == [each["spec"] for each in with_all]


def test_there_are_no_custom_resources() -> None:
    printed = install("--crs")
    assert (printed.exit_code, printed.stdout) == (0, "")
    assert "defines no custom resources" in printed.stderr


def test_files_are_written_into_a_new_or_empty_directory_only(tmp_path: Path) -> None:
    for form, file in (("helm", "Chart.yaml"), ("kustomize", "kustomization.yaml")):
        options = (*IMAGE, "--kubernetes-version", "1.36", "-o", form, "--directory", str(tmp_path / form))
        assert install(*options).exit_code == 0
        before = (tmp_path / form / file).read_bytes()
        refused = install(*options)
        assert refused.exit_code == 2
        assert "is not empty; it is left as it is" in refused.output
        assert (tmp_path / form / file).read_bytes() == before
    (tmp_path / "file").write_text("mine")
    refused = install(*IMAGE, "--kubernetes-version", "1.36", "-o", "helm", "--directory", str(tmp_path / "file/below"))
    assert refused.exit_code == 2
    assert "cannot be written: File exists" in refused.output
