"""The manifests of an installation: accepted by our API server, startable, with few rights, the same in every form."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import Context, Group
from tests.controller_context import controller_context
from tests.e2e.kubectl import kubectl_program
from tests.unit.serve.access.test_rbac_requests import ask, new_handler

from moorage.attach.policies.additions import Addition, addition_policy
from moorage.attached import names
from moorage.attached.certificates.configurations import CERT_MANAGER
from moorage.attached.controller.registry import CONTROLLERS, AttachedContext
from moorage.attached.install.access import accounts
from moorage.attached.install.additions import read_additions
from moorage.attached.install.chart import chart, kustomization
from moorage.attached.install.directory import NotEmpty, write_new_directory
from moorage.attached.install.parts import WHY_ANNOTATION, manifests, parts
from moorage.attached.install.settings import REFUSE, Installation, Workload
from moorage.cli.main import moorage
from moorage.model.gates import all_gates
from moorage.model.kinds import kind_of

Raw = dict[str, Any]

INSTALLATIONS = {
    "policies mirror": Installation("r/m:1"),
    "older cluster": Installation("r/m:1", minor=33),
    "policies only": Installation("r/m:1", policies_only=True),
    "cert-manager": Installation("r/m:1", minor=34, cert_manager=True, namespace="elsewhere"),
    "refusing": Installation("r/m:1", new_comparisons=REFUSE),
    "policies only, refusing": Installation("r/m:1", policies_only=True, new_comparisons=REFUSE),
}
ADDITIONS = (
    Addition("rollouts", {"matchLabels": {"team": "shop"}}, match_label_keys=["pod-template-hash", "app"]),
    Addition(
        "spot",
        {"matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]},
        {"matchLabels": {"tier": "batch"}},
        tolerations=[
            {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},
            {"key": "leaves", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1_000_000},
            {"key": "sla", "operator": "CEL", "value": 'taint.value != "<&>" && true', "effect": "NoSchedule"},
        ],
    ),
)
HELM = Path(sys.executable).with_name("helm")


def of_kind(installation: Installation, kind: str) -> list[Raw]:
    return [each for each in manifests(installation) if each["kind"] == kind]


def pods(installation: Installation) -> list[Raw]:
    return [each["spec"]["template"]["spec"] for each in of_kind(installation, "Deployment")]


@pytest.mark.real_time  # expensive expressions are evaluated in a thread
@pytest.mark.parametrize("name", INSTALLATIONS)
async def test_our_api_server_accepts_everything_in_its_order(name: str) -> None:
    async with new_handler() as handler:
        for document in manifests(INSTALLATIONS[name]):
            kind = kind_of(document)
            if kind is None:
                assert document["apiVersion"] == "cert-manager.io/v1"
                continue
            prefix = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
            where = f"/namespaces/{document['metadata']['namespace']}" if kind.namespaced else ""
            made = await ask(handler, "POST", f"{prefix}{where}/{kind.plural}?fieldValidation=Strict", document)
            assert made["code"] == 201, made


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_command_lines_and_ports_are_those_of_the_commands(name: str) -> None:
    group = moorage.get_command(Context(moorage), "attach")
    assert isinstance(group, Group)
    for pod in pods(INSTALLATIONS[name]):
        (container,) = pod["containers"]
        first, command_name, *arguments = container["args"]
        command = group.get_command(Context(group), command_name)
        assert first == "attach"
        assert command is not None
        options, left, _ = command.make_parser(Context(command)).parse_args(list(arguments))
        assert left == []
        (port,) = container["ports"]
        assert str(port["containerPort"]) in (options.get("port"), options.get("metrics_port"))
        assert {container[probe]["httpGet"]["port"] for probe in container if "Probe" in probe} == {port["name"]}
        mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert options.get("certificates") == mounted.get("certificates")
        assert {volume["name"] for volume in pod["volumes"]} == set(mounted)


def test_pods_are_as_restricted_as_pod_security_demands() -> None:
    for pod in pods(Installation("r/m:1")):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = pod["containers"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert all({"secret", "emptyDir"} & volume.keys() for volume in pod["volumes"])


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_rights_are_the_least(name: str) -> None:
    installation = INSTALLATIONS[name]
    roles = [*of_kind(installation, "ClusterRole"), *of_kind(installation, "Role")]
    for role in roles:
        for rule in role["rules"]:
            assert "*" not in (*rule["verbs"], *rule.get("resources", ()), *rule.get("apiGroups", ()))
            if "secrets" in rule.get("resources", ()) and rule["verbs"] != ["create"]:
                assert (role["kind"], rule["resourceNames"]) == ("Role", [names.CERTIFICATES])
    makes_certificates = any(role["metadata"]["name"] == names.CERTIFICATES for role in roles)
    assert makes_certificates is (installation.has_webhook and not installation.cert_manager)
    bound = {
        (subject["namespace"], subject["name"])
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for binding in of_kind(installation, kind)
        for subject in binding["subjects"]
    }
    made = {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in accounts(installation)}
    assert bound == made
    assert accounts(installation) == of_kind(installation, "ServiceAccount")


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_the_controller_may_watch_what_it_waits_for(name: str) -> None:
    """One watch that is refused would keep all of them from starting."""
    rules = [
        rule
        for role in of_kind(INSTALLATIONS[name], "ClusterRole")
        if role["metadata"]["name"] == names.CONTROLLER
        for rule in role["rules"]
        if {"list", "watch"} <= set(rule["verbs"])
    ]
    may = {(group, each) for rule in rules for group in rule.get("apiGroups", ()) for each in rule["resources"]}
    context = AttachedContext(controller_context(all_gates()))
    needed = {(kind.group, kind.plural) for row in CONTROLLERS for kind in row.make(context).watches}
    assert needed <= may


def test_what_lowers_and_mirrors_depends_on_the_version() -> None:
    kinds = {name: Counter(each["kind"] for each in manifests(given)) for name, given in INSTALLATIONS.items()}
    shown = ("MutatingAdmissionPolicy", "MutatingWebhookConfiguration", "Deployment", "Service")
    assert {name: [counted[kind] for kind in shown] for name, counted in kinds.items()} == {
        "policies mirror": [1, 1, 2, 1],
        "older cluster": [0, 2, 2, 1],
        "policies only": [2, 0, 1, 0],
        "cert-manager": [0, 2, 2, 1],
        "refusing": [1, 1, 2, 1],
        "policies only, refusing": [2, 0, 1, 0],
    }
    order = [each["metadata"]["name"] for each in manifests(Installation("r/m:1"))]
    assert order.index(names.MIRRORING) < order.index(names.LOWERING)


def test_configurations_have_the_reason_of_their_failure_policy_and_no_trust_of_their_own() -> None:
    for name, installation in INSTALLATIONS.items():
        for document in of_kind(installation, "MutatingWebhookConfiguration"):
            annotations = document["metadata"]["annotations"]
            assert annotations[WHY_ANNOTATION].startswith(("Ignore: ", "Fail where a taint is added"))
            assert (CERT_MANAGER in annotations) is (name == "cert-manager")
            assert all("caBundle" not in webhook["clientConfig"] for webhook in document["webhooks"])
            assert {webhook["clientConfig"]["service"]["namespace"] for webhook in document["webhooks"]} == {
                installation.namespace
            }


# -- Kustomize and Helm ------------------------------------------------------------------------------------------------


def by_name(documents: list[Raw]) -> dict[tuple[str, str], Raw]:
    return {(each["kind"], each["metadata"]["name"]): each for each in documents}


def test_kustomize_builds_the_same_objects(tmp_path: Path) -> None:
    installation = INSTALLATIONS["older cluster"]
    write_new_directory(tmp_path / "base", kustomization(installation))
    built = subprocess.run(
        [kubectl_program(), "kustomize", str(tmp_path / "base")], capture_output=True, text=True, check=True
    )
    assert by_name(list(yaml.safe_load_all(built.stdout))) == by_name(manifests(installation))


def test_every_object_that_any_installation_has_is_in_the_chart() -> None:
    text = "\n".join(chart(Installation("r/m:1")).values())
    for part in parts(Installation("r/m:1")):
        assert part.document["kind"] == "Namespace" or f"name: {part.document['metadata']['name']}\n" in text
    assert "@@" not in text


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not HELM.exists():
        pytest.skip(f"no helm: python3 tests/e2e/install_helm.py {HELM}")
    folder = tmp_path_factory.mktemp("chart") / "moorage-attach"
    write_new_directory(folder, chart(Installation("r/m:1")))
    return folder


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(HELM), *arguments], capture_output=True, text=True, check=False)


def rendered(folder: Path, installation: Installation, *options: str) -> list[Raw]:
    version = f"--kube-version=1.{installation.minor}.0"
    done = helm("template", "attach", str(folder), "--namespace", installation.namespace, version, *options)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each is not None]


def test_helm_finds_nothing_wrong(written: Path) -> None:
    done = helm("lint", "--strict", str(written))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 chart(s) failed" in done.stdout


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_helm_renders_the_same_objects(written: Path, name: str) -> None:
    installation = INSTALLATIONS[name]
    chosen = [
        *(["--set", "policiesOnly=true"] if installation.policies_only else []),
        *(["--set", "certManager=true"] if installation.cert_manager else []),
        *(["--set", f"newComparisons={installation.new_comparisons}"]),
    ]
    wanted = by_name(manifests(installation))
    del wanted["Namespace", installation.namespace]
    found = by_name(rendered(written, installation, *chosen))
    for deployment in (each for each in found.values() if each["kind"] == "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        assert [pod.pop(empty) for empty in ("imagePullSecrets", "nodeSelector", "tolerations")] == [[], {}, []]
    assert found == wanted


def test_values_of_the_chart_are_those_of_the_installation(written: Path) -> None:
    installation = Installation(
        "other/image:2",
        evict_by="eviction",
        native="Lt,Gt",
        node_selector={"pool": "system"},
        tolerations=[{"key": "system", "operator": "Exists"}],
        pull_secrets=[{"name": "registry"}],
        webhook=Workload(3, {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}),
    )
    values = yaml.safe_dump(
        {
            "image": "other/image:2",
            "evictBy": "eviction",
            "native": "Lt,Gt",
            "nodeSelector": installation.node_selector,
            "tolerations": installation.tolerations,
            "imagePullSecrets": installation.pull_secrets,
            "webhook": installation.webhook._asdict(),
        }
    )
    file = written.parent / "values.yaml"
    file.write_text(values, encoding="utf-8")
    found = by_name(rendered(written, installation, "--values", str(file)))
    wanted = by_name(manifests(installation))
    assert found["Deployment", names.WEBHOOK] == wanted["Deployment", names.WEBHOOK]


def test_additions_of_the_chart_are_those_of_the_installation(written: Path, tmp_path: Path) -> None:
    installation = Installation("r/m:1", additions=ADDITIONS)
    values = chart(installation)["values.yaml"]
    file = tmp_path / "values.yaml"
    file.write_text(values, encoding="utf-8")
    found = by_name(rendered(written, installation, "--values", str(file)))
    wanted = {key: each for key, each in by_name(manifests(installation)).items() if ".add." in key[1]}
    assert len(wanted) == 4
    assert {key: each for key, each in found.items() if ".add." in key[1]} == wanted
    names_of = {entry["name"]: entry for entry in yaml.safe_load(values)["additions"]}
    again = read_additions(yaml.safe_dump(list(names_of.values())).encode(), "values.yaml")
    assert [addition_policy(each) for each in again] == [addition_policy(each) for each in ADDITIONS]


@pytest.mark.real_time
async def test_our_api_server_accepts_additions() -> None:
    async with new_handler() as handler:
        for document in (each for addition in ADDITIONS for each in addition_policy(addition)):
            kind = kind_of(document)
            assert kind is not None
            made = await ask(
                handler, "POST", f"/apis/{kind.api_version}/{kind.plural}?fieldValidation=Strict", document
            )
            assert made["code"] == 201, made["message"]


@pytest.mark.parametrize(
    ("values", "version", "words"),
    [
        ("additions: [{name: a, podSelector: {matchLabels: {a: b}}}]", "1.35.0", "additions need Kubernetes 1.36"),
        ("additions: [{name: a, matchLabelKeys: [a]}]", "1.36.0", "each needs a namespaceSelector or a podSelector"),
        ("additions: [{podSelector: {matchLabels: {a: b}}}]", "1.36.0", "each needs a name"),
        (
            "{policiesOnly: true, additions: [{name: a, podSelector: {matchLabels: {a: b}}, tolerations: "
            "[{key: a, operator: Gt, value: '1'}]}]}",
            "1.36.0",
            "tolerations that compare need the webhook",
        ),
    ],
)
def test_the_chart_refuses_additions_that_cannot_be(
    written: Path, tmp_path: Path, values: str, version: str, words: str
) -> None:
    (tmp_path / "values.yaml").write_text(values)
    done = helm("template", "a", str(written), f"--kube-version={version}", "-f", str(tmp_path / "values.yaml"))
    assert words in done.stderr


def test_the_chart_refuses_what_a_cluster_lacks(written: Path) -> None:
    done = helm("template", "attach", str(written), "--kube-version=1.35.0", "--set", "policiesOnly=true")
    assert "policiesOnly needs Kubernetes 1.36" in done.stderr
    done = helm("template", "attach", str(written), "--kube-version=1.36.0", "--set", "image=")
    assert "image: name the image" in done.stderr


def test_a_directory_with_something_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_new_directory(tmp_path / "empty", {"a/b": "1"})
    assert (tmp_path / "empty/a/b").read_text() == "1"
    (tmp_path / "file").write_text("mine")
    for taken in ("empty", "file"):
        with pytest.raises(NotEmpty, match="left as it is"):
            write_new_directory(tmp_path / taken, {"a/b": "2"})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["empty", "file"]
    assert (tmp_path / "empty/a/b").read_text() == "1"
