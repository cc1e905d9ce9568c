"""Explanations of lowered pods: in the terms of their users, with suggestions that the cluster can be sent."""

from __future__ import annotations

from typing import Any

from tests.unit.attach.workloads import requirement, term, toleration
from tests.unit.plan.attached_worlds import ABOVE_950, EXPRESSION, deployment, existing, spot, webhook
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, pod

from moorage.attach.objects import lowered
from moorage.model.patch.json_patch import apply_json_patch
from moorage.model.types.view import ATTACHED
from moorage.plan.explain.explanation import Explanation
from moorage.plan.explain.text import ExplanationText

OFF = {"AllAlpha": False}


def text_of(told: Explanation) -> str:
    return "\n".join(ExplanationText(width=400).lines(told))


def test_the_inequality_is_named_and_affinity_is_not() -> None:
    told = explained(spot("low", "900"), deployment("train", ABOVE_950), pod="deployment/train", gates=OFF)
    assert told.sentence == "Tolerates spot > 950; the only node has 900"
    text = text_of(told)
    assert "900 > 950 is false (toleration Gt 950)" in text
    for word in ("ffinity", "moorage.dev", "match label", "gate"):
        assert word not in text, word


def test_an_expression_is_the_one_that_was_written() -> None:
    told = explained(spot("low", "800"), deployment("train", EXPRESSION), pod="deployment/train", gates=OFF)
    assert "toleration CEL \"taint.value.startsWith('9')\"" in text_of(told)
    assert "affinity" not in text_of(told)


def test_versions_of_labels_are_compared_as_written() -> None:
    terms = {"nodeSelectorTerms": [term(requirement("driver", "SemverGt", "535.104.5"))]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    document = deployment("train", toleration("Exists"), affinity={"nodeAffinity": affinity})
    told = explained(spot("old", "1", driver="470.1.0"), document, pod="deployment/train", gates=OFF)
    assert "470.1.0 > 535.104.5 is false" in text_of(told)
    assert "label.moorage.dev" not in text_of(told)


def suggestion(told: Explanation, begins: str) -> Any:
    return next(one for one in told.suggestions if one.change.summary.startswith(begins))


def changed_by(patch: Any, document: Raw) -> Raw:
    """Return an object as the webhook of attach stores it after a patch."""
    patched = apply_json_patch(document, [dict(operation) for operation in patch])
    return lowered(patched)


def test_a_moved_threshold_is_sent_as_the_whole_list_that_the_user_writes() -> None:
    document = deployment("train", ABOVE_950, EXPRESSION | {"key": "gpu"})
    told = explained(spot("low", "900"), document, pod="deployment/train", gates=OFF)
    found = suggestion(told, "toleration for spot: Gt 950 → Gt 899")
    assert ATTACHED not in found.change.yaml
    replaced = [each for each in found.remedy.patch if each["op"] == "replace"]
    assert [each["path"] for each in replaced] == ["/spec/template/spec/tolerations"]
    assert replaced[0]["value"] == [ABOVE_950 | {"value": "899"}, EXPRESSION | {"key": "gpu"}]
    assert ATTACHED not in found.remedy.command + found.remedy.manifest
    wanted = deployment("train", ABOVE_950 | {"value": "899"}, EXPRESSION | {"key": "gpu"})
    assert changed_by(found.remedy.patch, document)["spec"]["template"] == wanted["spec"]["template"]


def test_changes_of_other_things_leave_what_is_lowered_as_it_is() -> None:
    document = existing(deployment("train", ABOVE_950))
    document["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "blue"}
    told = explained(spot("high", "960", pool="green"), document, pod="deployment/train", gates=OFF)
    found = suggestion(told, "nodeSelector pool: blue")
    paths = [each["path"] for each in found.remedy.patch]
    assert not any("tolerations" in path or "affinity" in path or "annotations" in path for path in paths), paths
    made = changed_by(found.remedy.patch, document)
    assert made["spec"]["template"]["spec"]["tolerations"] == document["spec"]["template"]["spec"]["tolerations"]
    assert made["spec"]["template"]["spec"]["affinity"] == document["spec"]["template"]["spec"]["affinity"]


def test_a_lowered_pod_is_recreated_because_its_affinity_cannot_follow() -> None:
    document = lowered(pod("p", tolerations=[ABOVE_950]))
    document["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    told = explained(spot("low", "900"), document, gates=OFF)
    found = suggestion(told, "toleration for spot: Gt 950 → Gt 899")
    assert found.remedy.command.startswith("kubectl replace --force")
    assert 'value: "899"' in found.remedy.manifest
    assert "attach.moorage.dev" not in found.remedy.manifest


def test_new_pods_of_an_attached_cluster_are_explained_alike() -> None:
    told = explained(spot("low", "900"), *webhook(), pod("p", tolerations=[ABOVE_950]), gates=OFF)
    assert told.sentence == "Tolerates spot > 950; the only node has 900"
