"""MatchLabelKeysInPodAffinity: off, on, off and on again, for pods and for Deployments; what is merged stays so.

The fifteen steps of KEP-3633 with one API server that is restarted alone, where the others go on; each step is
numbered as there. Beyond them: `mismatchLabelKeys`, templates, what controllers make of them, and the audit.
"""

from pathlib import Path

from tests.e2e.component_processes import components
from tests.e2e.gates.features import LABEL_KEYS, TERM
from tests.e2e.gates.lives import WAIT, Life, life
from tests.e2e.kubectl import Kubectl
from tests.e2e.stories.stage import Raw, node, pod

LABELS = {"app": "a", "revision": "one", "tenant": "blue"}
GIVEN: list[Raw] = [{"key": "app", "operator": "Exists"}]
MERGED = [*GIVEN, {"key": "revision", "operator": "In", "values": ["one"]}]
KEPT_OUT = [*GIVEN, {"key": "tenant", "operator": "NotIn", "values": ["blue"]}]
TOPOLOGY = "kubernetes.io/hostname"


def affinity() -> Raw:
    """To be beside pods of the same revision, preferably away from those of other tenants."""
    term = {"labelSelector": {"matchExpressions": GIVEN}, "topologyKey": TOPOLOGY}
    away = [{"weight": 1, "podAffinityTerm": {**term, "mismatchLabelKeys": ["tenant"]}}]
    return {
        "podAffinity": {TERM: [{**term, "matchLabelKeys": ["revision"]}]},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": away},
    }


def keys_of(spec: Raw) -> tuple[Raw, Raw]:
    """Both terms, as they are stored."""
    affinity = spec["affinity"]
    away = affinity["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]
    return affinity["podAffinity"][TERM][0], away


def is_stored(stage: Life, name: str, *, merged: bool) -> None:
    beside, away = keys_of(stage.object(f"pod {name}")["spec"])
    assert beside["labelSelector"]["matchExpressions"] == (MERGED if merged else GIVEN)
    assert away["labelSelector"]["matchExpressions"] == (KEPT_OUT if merged else GIVEN)
    assert beside.get("matchLabelKeys") == (["revision"] if merged else None)
    assert away.get("mismatchLabelKeys") == (["tenant"] if merged else None)


def test_the_fifteen_steps_with_an_api_server_of_its_own(tmp_path: Path) -> None:
    created: dict[str, bool] = {}
    with components(tmp_path) as made:
        for step, enabled in ((1, False), (4, True), (8, False), (12, True)):
            server = made.api_server(f"--feature-gates={LABEL_KEYS}={str(enabled).lower()}")
            stage = Life(Kubectl(made.kubeconfig, tmp_path))
            for name, merged in created.items():  # steps 5, 9, 13: no change in what was created before
                is_stored(stage, name, merged=merged)
                stage.kubectl(f"label pod {name} seen-in-step-{step}=yes")
            name = f"step-{step}"
            stage.create(pod(name, labels=LABELS, affinity=affinity()))  # steps 2, 6, 10, 14
            is_stored(stage, name, merged=enabled)  # steps 3, 7, 11, 15
            created[name] = enabled
            made.stop(server)


def test_deployments_off_on_off_and_on_again(tmp_path: Path) -> None:
    on, off = f"{LABEL_KEYS}=true", f"{LABEL_KEYS}=false"
    with life(tmp_path, off) as stage:
        stage.create(node("only"), deployment("early"))
        # Keys that the gate does not let in are dropped from templates too, without a word.
        [spec] = [stage.object("deployment early")["spec"]["template"]["spec"]]
        assert "matchLabelKeys" not in keys_of(spec)[0]
        stage.kubectl(f"rollout status deployment/early {WAIT}")
        assert merged_pods(stage, "early") == {False}
    with life(tmp_path, on) as stage:
        stage.create(deployment("web"))
        stage.kubectl(f"rollout status deployment/web {WAIT}")
        # A template is not merged, its pods are.
        beside, _ = keys_of(stage.object("deployment web")["spec"]["template"]["spec"])
        assert (beside["matchLabelKeys"], beside["labelSelector"]["matchExpressions"]) == (["revision"], GIVEN)
        assert merged_pods(stage, "web") == {True}
        foretold = stage.audit(LABEL_KEYS)
        before = set(stage.pods("web"))
        keeps = ["- kube-apiserver: keeps its keys and the selector that was made of them"]
        loses = [
            "! kube-apiserver: new pods lose the keys without a word: they are placed as if the keys were not there"
        ]
        assert {name: said for name, said in foretold.items() if name.startswith("Pod")} == {
            f"Pod/{name}": keeps for name in before
        }
        assert foretold["Deployment/web"] == loses
        assert not any("early" in name for name in foretold)
    with life(tmp_path, off) as stage:
        # What runs keeps what it has; what is made of the template from now on has lost it, and nobody is refused.
        assert merged_pods(stage, "web") == {True}
        stage.kubectl("scale deployment web --replicas=3")
        stage.kubectl(f"rollout status deployment/web {WAIT}")
        assert before < set(stage.pods("web"))
        assert merged_pods(stage, "web") == {True, False}
        # The template uses the keys and may go on to, also when it changes.
        stage.kubectl("set image deployment/web main=registry.example/app:2")
        stage.kubectl(f"rollout status deployment/web {WAIT}")
        beside, _ = keys_of(stage.object("deployment web")["spec"]["template"]["spec"])
        assert beside["matchLabelKeys"] == ["revision"]
        assert merged_pods(stage, "web") == {False}
    with life(tmp_path, on) as stage:
        # No pod that is there changes; new ones are merged again.
        assert merged_pods(stage, "web") == {False}
        stage.kubectl("rollout restart deployment/web")
        stage.kubectl(f"rollout status deployment/web {WAIT}")
        assert merged_pods(stage, "web") == {True}
        assert merged_pods(stage, "early") == {False}


def deployment(name: str) -> Raw:
    labels = {**LABELS, "app": name}
    template = {"metadata": {"labels": labels}, "spec": pod("", affinity=affinity())["spec"]}
    template["spec"]["terminationGracePeriodSeconds"] = 0
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def merged_pods(stage: Life, app: str) -> set[bool]:
    """Whether the pods of a workload have what their keys stand for."""
    items = stage.object(f"pods -l app={app}")["items"]
    here = [one for one in items if "deletionTimestamp" not in one["metadata"]]
    return {keys_of(one["spec"])[0]["labelSelector"]["matchExpressions"] == MERGED for one in here}
