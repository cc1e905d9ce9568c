"""Looking at things: get in all its forms, describe, events, explain, api-resources, who one is."""

import json
import re

from tests.e2e.kubectl import Kubectl
from tests.e2e.kubectl_commands.manifests import DEPLOYMENT, SETTINGS, pod

UP_OPTIONS = ("--nodes", "2")


def test_get_looks_as_people_know_it(kubectl: Kubectl) -> None:
    kubectl("apply -f -", pod("one"))
    kubectl("wait --for=condition=Ready pod/one --timeout=120s")
    ran = kubectl("get pods")
    assert ran.lines[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert re.fullmatch(r"one +1/1 +Running +0 +\d+s", ran.lines[1])
    head = kubectl("get pods -o wide").lines[0]
    for column in ("IP", "NODE", "NOMINATED NODE", "READINESS GATES"):
        assert column in head
    assert kubectl("get pods --no-headers").lines[0].startswith("one ")
    assert kubectl("get pods -o name").out == "pod/one\n"
    assert "back" in kubectl("get pods -L tier").lines[1]
    assert "app=one,tier=back" in kubectl("get po --show-labels").lines[1]


def test_get_nodes(kubectl: Kubectl) -> None:
    ran = kubectl("get nodes")
    assert ran.lines[0].split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert len(ran.lines) == 3
    assert "Ready" in ran.lines[1]
    for column in ("INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"):
        assert column in kubectl("get nodes -o wide").lines[0]


def test_get_what_is_not_there(kubectl: Kubectl) -> None:
    assert kubectl.fails("get pod nobody") == 'Error from server (NotFound): pods "nobody" not found\n'
    assert f"No resources found in {kubectl.namespace} namespace." in kubectl("get pods").err
    assert "the server doesn't have a resource type" in kubectl.fails("get unicorns")


def test_get_all_and_several(kubectl: Kubectl) -> None:
    kubectl("apply -f -", DEPLOYMENT)
    kubectl("apply -f -", pod("one"))
    kubectl("create service clusterip web --tcp=80:80")
    names = kubectl("get all -o name").lines
    assert {"deployment.apps/web", "pod/one", "service/web"} <= set(names)
    assert kubectl("get deploy,cm -o name").out.startswith("deployment.apps/web\n")
    assert kubectl("get deploy/web pod/one -o name").lines == ["deployment.apps/web", "pod/one"]
    assert f"{kubectl.namespace} " in kubectl("get pods -A").out


def test_selectors(kubectl: Kubectl) -> None:
    for name in ("one", "two"):
        kubectl("apply -f -", pod(name))
    kubectl("wait --for=condition=Ready pod --all --timeout=120s")
    assert kubectl("get pods -l app=one -o name").lines == ["pod/one"]
    assert kubectl("get pods -l 'app notin (one),tier' -o name").lines == ["pod/two"]
    assert kubectl("get pods --field-selector metadata.name!=one -o name").lines == ["pod/two"]
    node = kubectl("get pod one -o jsonpath={.spec.nodeName}").out
    assert "pod/one" in kubectl(f"get pods --field-selector spec.nodeName={node},status.phase=Running -o name").lines
    assert kubectl("get pods --field-selector status.phase=Failed -o name").out == ""
    assert "field label not supported: spec.image" in kubectl.fails("get pods --field-selector spec.image=x")
    assert "unable to parse requirement" in kubectl.fails("get pods -l 'a in b'")


def test_chunks_come_together(kubectl: Kubectl) -> None:
    documents = "---\n".join(SETTINGS.replace("settings", f"settings-{i:02}") for i in range(25))
    kubectl("apply -f -", documents)
    expected = [f"configmap/settings-{i:02}" for i in range(25)]
    for size in (1, 7, 25, 0):
        assert kubectl(f"get configmaps -l kind-of=example --chunk-size={size} -o name").lines == expected
    assert len(kubectl("get cm -l kind-of=example --chunk-size=4").lines) == 26


def test_other_outputs(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SETTINGS)
    assert kubectl("get cm settings -o jsonpath={.data.color}").out == "blue"
    assert kubectl("get cm settings -o go-template={{.data.size}}").out == "large"
    assert kubectl("get cm settings -o custom-columns=N:.metadata.name,C:.data.color").lines[1].split() == [
        "settings",
        "blue",
    ]
    document = json.loads(kubectl("get cm settings -o json").out)
    assert document["data"] == {"color": "blue", "size": "large"}
    assert "managedFields" not in document["metadata"]
    assert "managedFields" in kubectl("get cm settings -o yaml --show-managed-fields").out
    listed = json.loads(kubectl("get cm -o json").out)
    assert listed["kind"] == "List"
    assert kubectl("get pods -A --sort-by=.metadata.name").status == 0
    raw = json.loads(kubectl(f"get --raw /api/v1/namespaces/{kubectl.namespace}/configmaps/settings").out)
    assert raw["kind"] == "ConfigMap"


def test_describe(kubectl: Kubectl) -> None:
    kubectl("apply -f -", pod("one"))
    kubectl("wait --for=condition=Ready pod/one --timeout=120s")
    said = kubectl("describe pod one").out
    assert re.search(r"^Name: +one$", said, re.MULTILINE)
    assert re.search(r"^Status: +Running$", said, re.MULTILINE)
    assert re.search(r"Normal +Scheduled .*default-scheduler +Successfully assigned test-\d+/one to ", said)
    node = kubectl("get pod one -o jsonpath={.spec.nodeName}").out
    said = kubectl(f"describe node {node}").out
    assert re.search(r"^ +Ready +True", said, re.MULTILINE)
    assert "Allocated resources:" in said
    kubectl("apply -f -", DEPLOYMENT)
    assert re.search(r"^Replicas: +3 desired", kubectl("describe deployment web").out, re.MULTILINE)
    kubectl("apply -f -", SETTINGS)
    assert "color:\n----\nblue" in kubectl("describe cm settings").out
    assert f"Name:         {kubectl.namespace}" in kubectl(f"describe namespace {kubectl.namespace}").out


def test_events(kubectl: Kubectl) -> None:
    kubectl("apply -f -", pod("one"))
    kubectl("wait --for=condition=Ready pod/one --timeout=120s")
    said = kubectl("events --for pod/one").out
    assert re.search(r"Normal +Scheduled +Pod/one +Successfully assigned", said)
    ran = kubectl("get events --field-selector involvedObject.name=one,reason=Scheduled")
    assert ran.lines[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert re.search(r"Normal +Scheduled +pod/one +Successfully assigned", ran.lines[1])
    # The same events, seen through the newer API.
    assert "pod/one" in kubectl("get events.events.k8s.io --field-selector regarding.name=one").out


def test_explain(kubectl: Kubectl) -> None:
    said = kubectl("explain pod.spec.tolerations").out
    assert re.search(r"KIND: +Pod", said)
    assert "tolerationSeconds" in said
    assert re.search(r"FIELD: replicas <integer>", kubectl("explain deployment.spec.replicas").out)
    assert "nodeSelectorTerms" in kubectl("explain pods.spec.affinity --recursive").out
    assert "does not exist" in kubectl.fails("explain pod.spec.unicorn")


def test_api_resources_and_versions(kubectl: Kubectl) -> None:
    lines = kubectl("api-resources").lines
    assert lines[0].split() == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    rows = [line.split() for line in lines[1:]]
    assert ["pods", "po", "v1", "true", "Pod"] in rows
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in rows
    assert "deployments.apps" in kubectl("api-resources --api-group=apps -o name").lines
    assert "nodes" not in kubectl("api-resources --namespaced=true -o name").lines
    assert {"v1", "apps/v1", "events.k8s.io/v1"} <= set(kubectl("api-versions").lines)
    version = json.loads(kubectl("version -o json").out)["serverVersion"]
    assert (version["major"], version["minor"]) == ("1", "36")
    assert "is running at" in kubectl("cluster-info").out


def test_events_are_sorted_by_any_of_their_times(kubectl: Kubectl) -> None:
    kubectl("apply -f -", pod("one"))
    kubectl("wait --for=condition=Ready pod/one --timeout=120s")
    scheduled = "--field-selector=reason=Scheduled"  # which have no lastTimestamp
    for times in ("lastTimestamp", "firstTimestamp", "eventTime", "metadata.creationTimestamp"):
        assert "Scheduled" in kubectl(f"get events {scheduled} --sort-by=.{times}").out
        assert "Scheduled" in kubectl(f"get events --sort-by=.{times}").out


def test_who_one_is_and_what_one_may(kubectl: Kubectl) -> None:
    said = kubectl("auth whoami").out
    assert "authentication.kubernetes.io/credential-id" in said
    assert "X509SHA256=" in said
    assert re.search(r"^Username +\S+", said, re.MULTILINE)
    assert "system:authenticated" in said
    assert kubectl("auth can-i delete pods").out.strip() == "yes"
    listed = [line.split() for line in kubectl("auth can-i --list").lines]
    assert ["*.*", "[]", "[]", "[*]"] in listed
    assert ["[*]", "[]", "[*]"] in listed


def test_another_user_may_do_what_it_really_may(kubectl: Kubectl) -> None:
    ran = kubectl.run("auth can-i list pods --as=jane")
    assert (ran.status, ran.out.strip()) == (1, "no")
    assert kubectl("auth can-i list pods --as=jane --as-group=system:masters").out.strip() == "yes"
    said = kubectl("auth whoami --as=jane --as-group=dev --as-group=ops").out
    assert "[dev ops system:authenticated]" in said
    refused = kubectl.fails("get pods --as=jane")
    assert 'User "jane" cannot list resource "pods" in API group "" in the namespace' in refused


def test_logs_say_honestly_that_there_are_none(kubectl: Kubectl) -> None:
    kubectl("apply -f -", pod("one"))
    kubectl("wait --for=condition=Ready pod/one --timeout=120s")
    ran = kubectl.run("logs one")
    assert "log" in (ran.out + ran.err).lower()
    assert "not found" in kubectl.fails("logs nobody")
    for command in ("exec one -- ls", "attach one", "port-forward one :80", "cp one:/etc/hosts /tmp/nothing"):
        assert "Moorage simulates nodes, so containers are never run" in kubectl.fails(command), command


def test_debug_adds_an_ephemeral_container(kubectl: Kubectl) -> None:
    kubectl("apply -f -", pod("one"))
    kubectl("debug one --image=registry.example/tools:1 --profile=general")
    assert kubectl("get pod one -o jsonpath={.spec.ephemeralContainers[*].image}").out == "registry.example/tools:1"


def test_scale_as_a_table(kubectl: Kubectl) -> None:
    kubectl("apply -f -", DEPLOYMENT)
    kubectl("rollout status deployment web --timeout=120s")
    ran = kubectl("get deployment web --subresource=scale")
    assert ran.lines[0].split() == ["NAME", "DESIRED", "AVAILABLE", "AGE"]
    assert ran.lines[1].split()[:3] == ["web", "3", "3"]
