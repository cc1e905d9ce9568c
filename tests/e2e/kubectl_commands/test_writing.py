"""Changing things: create, apply (both ways), edit, patch, label, annotate, replace, diff, delete, dry runs."""

import json
import sys
from pathlib import Path

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.kubectl_commands.manifests import DEPLOYMENT, SETTINGS, pod

UP_OPTIONS = ("--nodes", "2")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def data_of(kubectl: Kubectl, name: str = "settings") -> dict[str, str]:
    data: dict[str, str] = json.loads(kubectl(f"get cm {name} -o json").out).get("data", {})
    return data


def test_create(kubectl: Kubectl) -> None:
    assert kubectl("create -f -", SETTINGS).out == "configmap/settings created\n"
    said = kubectl.fails("create -f -", SETTINGS)
    assert "Error from server (AlreadyExists)" in said
    assert 'configmaps "settings" already exists' in said
    kubectl("create configmap more --from-literal=a=1")
    kubectl("create secret generic keys --from-literal=k=v")
    assert kubectl("get secret keys -o jsonpath={.data.k}").out == "dg=="
    kubectl("create deployment api --image=registry.example/api:1 --replicas=2")
    kubectl("create serviceaccount robot")
    kubectl("create job once --image=registry.example/job:1")
    kubectl("create cronjob hourly --image=registry.example/job:1 --schedule='0 * * * *'")
    kubectl("create poddisruptionbudget keep --selector=app=api --min-available=1")
    kubectl(f"create priorityclass high-{kubectl.namespace} --value=1000")
    kubectl("run single --image=registry.example/app:1")
    kubectl("expose pod single --port=80")
    assert kubectl("get deploy,sa,job,cronjob,pdb,svc -o name").lines[0] == "deployment.apps/api"


def test_create_with_a_generated_name(kubectl: Kubectl) -> None:
    made = kubectl("create -f - -o name", SETTINGS.replace("name: settings", "generateName: settings-")).out.strip()
    assert made.startswith("configmap/settings-")
    kubectl(f"get {made}")


def test_create_what_is_refused(kubectl: Kubectl) -> None:
    said = kubectl.fails("create -f -", pod("one").replace("image: registry.example/app:1", "image: ''"))
    assert 'The Pod "one" is invalid: spec.containers[0].image: Required value' in said
    said = kubectl.fails("create -f -", pod("one").replace("containers:", "contaners:"))
    assert 'unknown field "spec.contaners"' in said
    ran = kubectl("create --validate=warn -f -", pod("one").replace("labels:", "lables:"))
    assert 'Warning: unknown field "metadata.lables"' in ran.err
    assert "not found" in kubectl.fails("create -n nowhere -f -", SETTINGS)


def test_apply(kubectl: Kubectl) -> None:
    assert kubectl("apply -f -", SETTINGS).out == "configmap/settings created\n"
    assert kubectl("apply -f -", SETTINGS).out == "configmap/settings unchanged\n"
    without = SETTINGS.replace("  size: large\n", "  shape: round\n")
    assert kubectl("apply -f -", without).out == "configmap/settings configured\n"
    assert data_of(kubectl) == {"color": "blue", "shape": "round"}
    annotation = kubectl(
        f"get cm settings -o jsonpath={{.metadata.annotations.{LAST_APPLIED.replace('.', chr(92) * 2 + '.')}}}"
    )
    assert json.loads(annotation.out)["data"] == {"color": "blue", "shape": "round"}


def test_a_kind_that_is_not_there_does_not_stop_the_rest_of_a_file(kubectl: Kubectl) -> None:
    stranger = "apiVersion: example.com/v1\nkind: Stranger\nmetadata:\n  name: one\n"
    ran = kubectl.run("apply -f -", f"{stranger}---\n{SETTINGS}")
    assert ran.status == 1
    assert ran.out == "configmap/settings created\n"
    assert 'no matches for kind "Stranger" in version "example.com/v1"' in ran.err


def test_apply_leaves_what_others_set(kubectl: Kubectl) -> None:
    kubectl("apply -f -", DEPLOYMENT)
    kubectl("annotate deployment web owner=me")
    kubectl("scale deployment web --replicas=5")
    kubectl("apply -f -", DEPLOYMENT.replace("web:1", "web:2").replace("  replicas: 3\n", ""))
    document = json.loads(kubectl("get deployment web -o json").out)
    assert document["metadata"]["annotations"]["owner"] == "me"
    assert document["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/web:2"


def test_apply_merges_lists_by_their_keys(kubectl: Kubectl) -> None:
    kubectl("apply -f -", DEPLOYMENT)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "registry.example/side:1"}]}}}}
    kubectl(f"patch deployment web -p '{json.dumps(patch)}'")
    assert kubectl("get deployment web -o jsonpath={.spec.template.spec.containers[*].name}").out == "side main"
    kubectl("apply -f -", DEPLOYMENT.replace("web:1", "web:2"))
    images = kubectl("get deployment web -o jsonpath={.spec.template.spec.containers[*].image}").out
    assert set(images.split()) == {"registry.example/side:1", "registry.example/web:2"}


def test_apply_and_prune(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETTINGS + "---\n" + SETTINGS.replace("settings", "others"))
    kubectl("apply --prune -l kind-of=example --prune-allowlist=core/v1/ConfigMap -f -", SETTINGS)
    assert kubectl("get cm -l kind-of=example -o name").lines == ["configmap/settings"]


def test_server_side_apply(kubectl: Kubectl) -> None:
    said = kubectl("apply --server-side -f -", SETTINGS).out
    assert said == "configmap/settings serverside-applied\n"
    kubectl("apply --server-side -f -", SETTINGS.replace("  size: large\n", ""))
    assert data_of(kubectl) == {"color": "blue"}
    other = SETTINGS.replace("blue", "red")
    said = kubectl.fails("apply --server-side --field-manager=other -f -", other)
    assert 'conflict with "kubectl"' in said
    assert ".data.color" in said
    kubectl("apply --server-side --field-manager=other --force-conflicts -f -", other)
    assert data_of(kubectl) == {"color": "red", "size": "large"}
    managed = json.loads(kubectl("get cm settings -o json --show-managed-fields").out)["metadata"]["managedFields"]
    assert {(entry["manager"], entry["operation"]) for entry in managed} >= {("other", "Apply")}


def test_client_side_applied_objects_can_go_over_to_the_server(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETTINGS)
    kubectl("apply --server-side -f -", SETTINGS.replace("blue", "green"))
    assert data_of(kubectl)["color"] == "green"


@pytest.mark.parametrize("side", ["--server-side", ""])
def test_dry_runs_change_nothing(kubectl: Kubectl, side: str) -> None:
    said = kubectl(f"apply {side} --dry-run=server -f -", SETTINGS).out
    assert said.endswith("(server dry run)\n")
    assert "not found" in kubectl.fails("get cm settings")
    kubectl("apply -f -", SETTINGS)
    changed = kubectl("apply --dry-run=server -o jsonpath={.data.color} -f -", SETTINGS.replace("blue", "red")).out
    assert changed == "red"
    kubectl("delete cm settings --dry-run=server")
    kubectl("label cm settings a=b --dry-run=server")
    assert data_of(kubectl)["color"] == "blue"
    said = kubectl.fails("create --dry-run=server -f -", pod("UPPER"))
    assert "Invalid value" in said


def test_diff(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETTINGS)
    assert kubectl("diff -f -", SETTINGS).out == ""
    for side in ("", "--server-side --force-conflicts"):
        ran = kubectl.run(f"diff {side} -f -", SETTINGS.replace("blue", "red"))
        assert ran.status == 1, ran.err
        assert "-  color: blue\n+  color: red\n" in ran.out
    assert data_of(kubectl)["color"] == "blue"


def test_patches(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETTINGS)
    kubectl("""patch cm settings --type=merge -p '{"data":{"color":null,"a":"1"}}'""")
    assert data_of(kubectl) == {"size": "large", "a": "1"}
    kubectl("""patch cm settings --type=json -p '[{"op":"replace","path":"/data/a","value":"2"}]'""")
    assert data_of(kubectl) == {"size": "large", "a": "2"}
    kubectl("""patch cm settings -p '{"data":{"b":"3"}}'""")
    assert data_of(kubectl)["b"] == "3"
    assert kubectl("""patch cm settings -p '{"data":{"b":"3"}}'""").out == "configmap/settings patched (no change)\n"
    said = kubectl.fails("""patch cm settings --type=json -p '[{"op":"test","path":"/data/a","value":"9"}]'""")
    assert "the server rejected our request" in said or "test" in said
    kubectl("apply -f -", pod("one"))
    mine = '{"status":{"conditions":[{"type":"example.com/mine","status":"True","reason":"Because"}]}}'
    kubectl(f"patch pod one --subresource=status -p '{mine}'")
    assert kubectl("""get pod one -o jsonpath='{.status.conditions[?(@.reason=="Because")].status}'""").out == "True"


def test_patch_what_cannot_change(kubectl: Kubectl) -> None:
    kubectl("apply -f -", pod("one"))
    said = kubectl.fails("""patch pod one -p '{"spec":{"hostname":"other"}}'""")
    assert "Forbidden: pod updates may not change fields other than" in said


def test_labels_and_annotations(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETTINGS)
    assert kubectl("label cm settings a=1 b=2").out == "configmap/settings labeled\n"
    assert "already has a value" in kubectl.fails("label cm settings a=2")
    kubectl("label cm settings a=2 b- --overwrite")
    assert json.loads(kubectl("get cm settings -o jsonpath={.metadata.labels}").out) == {"a": "2", "kind-of": "example"}
    assert kubectl("annotate cm settings note='two words'").out == "configmap/settings annotated\n"
    assert kubectl("get cm settings -o jsonpath={.metadata.annotations.note}").out == "two words"
    kubectl("annotate cm settings note-")
    assert sorted(kubectl("label --list cm settings").lines) == ["a=2", "kind-of=example"]


def test_edit(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl("apply -f -", SETTINGS)
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "file.write_text(file.read_text().replace('blue', 'red'))\n"
    )
    editor.chmod(0o755)
    assert kubectl("edit cm settings", KUBE_EDITOR=str(editor)).out == "configmap/settings edited\n"
    assert data_of(kubectl)["color"] == "red"
    assert "Edit cancelled, no changes made." in kubectl("edit cm settings", KUBE_EDITOR="true").err


def test_replace(kubectl: Kubectl) -> None:
    kubectl("create -f -", SETTINGS)
    document = json.loads(kubectl("get cm settings -o json").out)
    document["data"] = {"only": "this"}
    kubectl("replace -f -", json.dumps(document))
    assert data_of(kubectl) == {"only": "this"}
    document["data"] = {"too": "late"}
    assert "the object has been modified" in kubectl.fails("replace -f -", json.dumps(document))
    assert data_of(kubectl) == {"only": "this"}
    kubectl("replace --force -f -", SETTINGS)
    assert data_of(kubectl)["color"] == "blue"


def test_set_image_and_resources(kubectl: Kubectl) -> None:
    kubectl("apply -f -", DEPLOYMENT)
    kubectl("set image deployment/web main=registry.example/web:2")
    kubectl("set resources deployment/web --requests=cpu=100m")
    kubectl("set env deployment/web A=1")
    template = json.loads(kubectl("get deployment web -o jsonpath={.spec.template.spec.containers[0]}").out)
    assert template["image"] == "registry.example/web:2"
    assert template["resources"]["requests"] == {"cpu": "100m"}
    assert template["env"] == [{"name": "A", "value": "1"}]
    assert kubectl("get deployment web -o jsonpath={.metadata.generation}").out == "4"


def test_delete(kubectl: Kubectl) -> None:
    for name in ("one", "two", "three"):
        kubectl("apply -f -", pod(name))
    assert kubectl("delete pod one").out.startswith('pod "one" deleted')
    assert "not found" in kubectl.fails("delete pod one")
    kubectl("delete pod one --ignore-not-found")
    kubectl("delete pod two --force --grace-period=0")
    kubectl("delete pods -l tier=back")
    assert kubectl("get pods -o name").out == ""
    kubectl("apply -f -", SETTINGS)
    kubectl("delete -f -", SETTINGS)
    kubectl("apply -f -", SETTINGS)
    kubectl("delete cm --all")


def test_finalizers_hold_an_object(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETTINGS.replace("  labels:", "  finalizers: [example.com/hold]\n  labels:"))
    kubectl("delete cm settings --wait=false")
    assert kubectl("get cm settings -o jsonpath={.metadata.deletionTimestamp}").out
    kubectl("""patch cm settings --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'""")
    assert "not found" in kubectl.fails("get cm settings")


def test_a_namespace_that_is_going_takes_nothing_new(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETTINGS)
    kubectl("apply -f -", SETTINGS.replace("  name: settings", "  name: held\n  finalizers: [example.com/hold]"))
    said = kubectl(f"delete namespace {kubectl.namespace} --wait=false").out
    assert said == f'namespace "{kubectl.namespace}" deleted\n'
    kubectl(f"wait namespace {kubectl.namespace} --for=condition=NamespaceFinalizersRemaining --timeout=120s")
    said = kubectl.fails("create -f -", pod("one"))
    assert "because it is being terminated" in said or "not found" in said
    assert kubectl("get configmaps -o name").lines == ["configmap/held"]
    kubectl("""patch cm held --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'""")
    kubectl(f"wait namespace {kubectl.namespace} --for=delete --timeout=120s")
    assert "not found" in kubectl.fails(f"get namespace {kubectl.namespace}")
    assert 'namespaces "default" is forbidden: this namespace may not be deleted' in kubectl.fails("delete ns default")
