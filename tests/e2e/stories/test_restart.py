"""A gate is switched on, off and on again: one data directory, several lives of the process."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import moorage_up
from tests.e2e.stories.stage import NOT_HELPFUL, Raw, Stage, documents_of, node, pod
from tests.e2e.stories.test_skew import GATES

TERM = "requiredDuringSchedulingIgnoredDuringExecution"
OPERATORS: dict[str, Raw] = {
    "number": {"key": "version", "operator": "Gt", "value": "4", "effect": "NoSchedule"},
    "version": {"key": "version", "operator": "SemverGt", "value": "4", "effect": "NoSchedule"},
    "expression": {"expression": "int(taint.value) > 4"},
}


@contextmanager
def life(directory: Path, gates: str, *options: str) -> Iterator[Stage]:
    """The cluster in a directory, with these gates, until the end of the block."""
    kept = ("--nodes", "0", "--data-dir", str(directory / "data"), f"--feature-gates={gates}")
    with moorage_up(directory, *kept, *options) as running:
        yield Stage(Kubectl(running.kubeconfig, running.home))


def test_gates_off_after_use_and_on_again(tmp_path: Path) -> None:
    with life(tmp_path, "AllAlpha=true") as stage:
        stage.create(node("five", "version=5:NoSchedule"))
        stage.create(*[pod(f"runs-{name}", toleration) for name, toleration in OPERATORS.items()])
        # These want another node as well, which is not there yet.
        stage.create(
            *[pod(f"waits-{name}", it, nodeSelector={"size": "big"}) for name, it in OPERATORS.items()], pod("plain")
        )
        assert stage.lands(*[f"runs-{name}" for name in OPERATORS]) == ["five"] * 3
        stage.why_pending("waits-expression")
        stage.create(documents_of("pv-by-kernel-version", "storage.yaml")[1])
        [deployment] = documents_of("zones-by-regex", "my-app.yaml")
        deployment["spec"]["replicas"] = 0
        stage.create(deployment)
    with life(tmp_path, "AllAlpha=false") as stage:
        _, *lines = stage.kubectl("get pods").lines
        assert {line.split()[0]: line.split()[2] for line in lines} == {
            **{f"runs-{name}": "Running" for name in OPERATORS},
            **{f"waits-{name}": "Pending" for name in OPERATORS},
            "plain": "Pending",
        }
        refused = stage.refused(*[pod(f"new-{name}", toleration) for name, toleration in OPERATORS.items()])
        assert [line.split('Pod "')[1].split('"')[0] for line in refused.splitlines()] == [
            f"new-{name}" for name in OPERATORS
        ]
        updates_are_ratcheted(stage)
        # Pods that are pending stay so, and say why; a node that would suit them changes nothing.
        stage.create(node("six", "version=6:NoSchedule", size="big"))
        message = "jsonpath='{.status.conditions[?(@.type==\"PodScheduled\")].message}'"
        for name, gate in GATES.items():
            what = f"operator {OPERATORS[name]['operator']}" if "operator" in OPERATORS[name] else "an expression"
            why = f"had untolerated taint {{version: 5}} ({what} needs the feature gate {gate} in the scheduler). "
            why = f"0/1 nodes are available: 1 node(s) {why}{NOT_HELPFUL.format(1)}"
            stage.kubectl(f'wait --for={message}="{why}" pod/waits-{name} --timeout=120s')
        stage.create(pod("late", {"operator": "Exists"}, nodeSelector={"size": "big"}))
        assert stage.lands("late") == ["six"]
        assert stage.read("pods --field-selector spec.nodeName=", "{.items[*].metadata.name}").split() == [
            "plain",
            *[f"waits-{name}" for name in sorted(OPERATORS)],
        ]
    with life(tmp_path, "AllAlpha=true") as stage:
        assert stage.lands(*[f"waits-{name}" for name in OPERATORS]) == ["six"] * 3
        assert stage.lands(*[f"runs-{name}" for name in OPERATORS]) == ["five"] * 3


def test_pods_that_an_api_server_would_refuse_today_are_still_scheduled(tmp_path: Path) -> None:
    """KEP-5500, "Version Skew Strategy", 2: the API server was rolled back, the others were not."""
    with life(tmp_path, "AllAlpha=true") as stage:
        stage.create(*[pod(f"waits-{name}", toleration) for name, toleration in OPERATORS.items()])
        for name in OPERATORS:
            stage.kubectl(f"wait --for=condition=PodScheduled=False pod/waits-{name} --timeout=120s")
    with life(tmp_path, "AllAlpha=true", "--apiserver-feature-gates=AllAlpha=false") as stage:
        assert "is invalid" in stage.refused(pod("new", OPERATORS["expression"]))
        stage.create(node("five", "version=5:NoSchedule"))
        assert stage.lands(*[f"waits-{name}" for name in OPERATORS]) == ["five"] * 3


def updates_are_ratcheted(stage: Stage) -> None:
    """What a pod uses already it may go on using, and more of it; what it does not use it may not start to."""
    for name, toleration in OPERATORS.items():
        stage.kubectl(f"label pod runs-{name} seen=yes")
        more = {**toleration, "key": "other"} if "key" in toleration else {"expression": "taint.key == 'other'"}
        stage.kubectl(patch(stage, f"runs-{name}", more))
        assert len(stage.object(f"pod runs-{name}")["spec"]["tolerations"]) == 4
        said = stage.kubectl.fails(patch(stage, "plain", toleration))
        assert said.startswith('The Pod "plain" is invalid: spec.tolerations[2].'), said
    stage.kubectl("label pv advanced-storage-pv seen=yes")
    second = {"expression": "taint.key == 'other'"}
    stage.kubectl(patch(stage, "my-app", second, what="deployment", at="/spec/template/spec"))
    assert stage.read("deployment my-app", "{.spec.template.spec.tolerations[1].expression}") == second["expression"]


def patch(stage: Stage, name: str, toleration: Raw, what: str = "pod", at: str = "/spec") -> str:
    operations = [{"op": "add", "path": f"{at}/tolerations/-", "value": toleration}]
    # A shell's quotes: an expression may have some of its own.
    path = stage.kubectl.home / "patch.json"
    path.write_text(json.dumps(operations), encoding="utf-8")
    return f"patch {what} {name} --type=json --patch-file {path}"


def test_the_fifteen_steps(tmp_path: Path) -> None:
    """KEP-3633, "Were upgrade and rollback tested?"."""
    gate = "MatchLabelKeysInPodAffinity"
    merged: list[Raw] = [{"key": "app", "operator": "Exists"}, {"key": "revision", "operator": "In", "values": ["one"]}]
    plain = merged[:1]
    created: dict[str, list[Raw]] = {}
    for phase, is_on in enumerate((False, True, False, True), 1):
        with life(tmp_path, f"{gate}={str(is_on).lower()}") as stage:
            for name, selector in created.items():
                assert term_of(stage, name)["labelSelector"]["matchExpressions"] == selector
            name = f"phase-{phase}"
            term = {
                "labelSelector": {"matchExpressions": plain},
                "matchLabelKeys": ["revision"],
                "topologyKey": "kubernetes.io/hostname",
            }
            stage.create(pod(name, labels={"app": "a", "revision": "one"}, affinity={"podAffinity": {TERM: [term]}}))
            created[name] = merged if is_on else plain
            stored = term_of(stage, name)
            assert stored["labelSelector"]["matchExpressions"] == created[name]
            assert stored.get("matchLabelKeys") == (["revision"] if is_on else None)


def term_of(stage: Stage, name: str) -> Raw:
    term: Raw = stage.object(f"pod {name}")["spec"]["affinity"]["podAffinity"][TERM][0]
    return term
