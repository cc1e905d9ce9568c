"""Lowering and raising objects of all kinds, again and again, with changes between."""

from copy import deepcopy
from typing import Any

import pytest
from tests.unit.attach.workloads import (
    KINDS,
    PREFERRED,
    REQUIRED,
    pod,
    requirement,
    term,
    terms_of,
    toleration,
    workload,
)

from moorage.attach.formats import TOLERATIONS, marker
from moorage.attach.objects import lowered, pod_of, raised
from moorage.attach.refusals import Refused, Unreadable

Raw = dict[str, Any]
SPOT = toleration("Gt", "950", effect="NoSchedule")
NOT_READY = toleration("Exists", key="node.kubernetes.io/not-ready", effect="NoExecute", seconds=300)


def tolerations(document: Raw) -> list[Raw]:
    there: list[Raw] = document["spec"].get("tolerations", [])
    return there


def refusal(document: Raw) -> str:
    with pytest.raises(Refused) as caught:
        lowered(document)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_pod_of_every_kind_is_lowered(kind: str) -> None:
    given = workload(kind, pod(SPOT, required=[term(requirement("kernel", "SemverGt", "6.1"))]))
    changed = lowered(given)
    within = pod_of(changed)
    assert within is not None
    assert within["spec"]["tolerations"][-1] == marker()
    assert TOLERATIONS in within["metadata"]["annotations"]
    assert lowered(changed) is changed
    assert raised(changed) == given


@pytest.mark.parametrize("kind", KINDS)
def test_ordinary_objects_are_the_very_same(kind: str) -> None:
    given = workload(kind, pod(toleration("Equal", "a"), required=[term(requirement("zone", "In", "a"))]))
    assert lowered(given) is given
    assert raised(given) is given


def test_a_replica_set_of_a_controller_is_left_alone() -> None:
    given = workload("ReplicaSet", pod(SPOT))
    given["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "w", "controller": True}]
    assert lowered(given) is given
    given["metadata"]["ownerReferences"][0]["controller"] = False
    assert lowered(given) is not given


def test_the_marker_and_exists_come_after_plain_tolerations() -> None:
    plain = toleration("Equal", "940", effect="NoExecute", seconds=6)
    given = pod(toleration("Gt", "950", effect="NoExecute"), plain)
    exists = toleration("Exists", effect="NoExecute")
    assert tolerations(lowered(given)) == [plain, exists, marker()]


@pytest.mark.parametrize(("limits", "wanted"), [((8, 60), 60), ((8, None), None), ((8,), 8)])
def test_exists_lasts_as_long_as_the_most_patient_comparison(limits: list[int | None], wanted: int | None) -> None:
    given = pod(
        *(toleration("Gt", str(index), effect="NoExecute", seconds=limit) for index, limit in enumerate(limits))
    )
    assert tolerations(lowered(given))[0].get("tolerationSeconds") == wanted


def test_a_plain_exists_needs_no_affinity() -> None:
    given = pod(SPOT, toleration("Exists"))
    assert "affinity" not in lowered(given)["spec"]
    assert raised(lowered(given)) == given


# -- changes of what is lowered ----------------------------------------------------------------------------------------


def applied(stored: Raw, *manifest: Raw) -> Raw:
    """Return a lowered pod over which a manifest with other tolerations, and without affinity, was applied."""
    changed = deepcopy(stored)
    changed["spec"]["tolerations"] = list(manifest)
    return changed


def test_a_manifest_that_now_accepts_every_value_is_believed() -> None:
    changed = applied(lowered(pod(SPOT)), toleration("Exists", effect="NoSchedule"))
    assert lowered(changed) == pod(toleration("Exists", effect="NoSchedule"))


def test_another_threshold_replaces_the_affinity() -> None:
    other = toleration("Gt", "900", effect="NoSchedule")
    assert lowered(applied(lowered(pod(SPOT)), other)) == lowered(pod(other))


def test_removing_the_toleration_removes_the_affinity() -> None:
    changed = lowered(pod(SPOT))
    del changed["spec"]["tolerations"]
    assert lowered(changed) == pod()


def test_own_terms_that_change_keep_what_tolerations_require() -> None:
    changed = lowered(pod(SPOT, required=[term(requirement("zone", "In", "a"))]))
    changed["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] = [term(requirement("zone", "In", "b"))]
    assert lowered(changed) == lowered(pod(SPOT, required=[term(requirement("zone", "In", "b"))]))


def test_tolerations_that_admission_adds_stay_where_they_are() -> None:
    stored = lowered(pod(SPOT))
    stored["spec"]["tolerations"].append(NOT_READY)
    assert lowered(stored) is stored
    assert raised(stored) == pod(SPOT, NOT_READY)


def test_an_added_toleration_of_the_key_is_lowered_too() -> None:
    stored = lowered(pod(SPOT))
    stored["spec"]["tolerations"].append(toleration("Equal", "7", effect="NoSchedule"))
    assert lowered(stored) == lowered(pod(SPOT, toleration("Equal", "7", effect="NoSchedule")))


def test_versions_in_affinity_that_change_are_lowered_as_they_are_now() -> None:
    stored = lowered(pod(required=[term(requirement("kernel", "SemverGt", "6.1"))]))
    stored["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] = [term(requirement("zone", "In", "b"))]
    assert lowered(stored) == pod(required=[term(requirement("zone", "In", "b"))])


def test_a_version_of_a_preference_comes_back() -> None:
    preferred = [{"weight": 5, "preference": term(requirement("kernel", "SemverGt", "6.1"))}]
    given = pod(toleration("Gt", "1", effect="PreferNoSchedule"), preferred=preferred)
    changed = lowered(given)
    assert [each["weight"] for each in changed["spec"]["affinity"]["nodeAffinity"][PREFERRED]] == [5, 100, 100]
    assert raised(changed) == given


# -- limits ------------------------------------------------------------------------------------------------------------


def test_sixty_four_terms_are_written_and_more_are_a_match_label() -> None:
    six = [toleration("Gt", "1", key=key, effect="NoSchedule") for key in "abcdef"]
    assert len(terms_of(lowered(pod(*six)))) == 64
    own = [term(requirement("zone", "In", zone)) for zone in "xy"]
    terms = terms_of(lowered(pod(*six, required=own)))
    assert [len(each["matchExpressions"]) for each in terms] == [2, 2]
    assert {each["matchExpressions"][1]["key"].partition("/")[0] for each in terms} == {"match.moorage.dev"}


def test_an_empty_term_still_matches_nothing() -> None:
    assert terms_of(lowered(pod(SPOT, required=[{}]))) == [{}]


def test_thresholds_below_zero_are_no_label_values() -> None:
    given = pod(toleration("Gt", "-5", effect="NoSchedule"), toleration("Lt", "-5", effect="NoSchedule"))
    label = "num.noschedule.taint.moorage.dev/spot"
    assert terms_of(lowered(given))[1:] == [term(requirement(label, "Exists"))]


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_refusals_are_those_of_the_api_server() -> None:
    assert refusal(pod(toleration("Gt", "abc"))) == (
        'spec.tolerations[0].value: Invalid value: "abc": must be a valid decimal integer in canonical form; '
        'spec.tolerations[0].value: Invalid value: "abc": strconv.ParseInt: parsing "abc": invalid syntax'
    )
    assert refusal(workload("CronJob", pod(toleration("Equal", "a"), toleration("SemverGt", "x")))) == (
        'spec.jobTemplate.spec.template.spec.tolerations[1].value: Invalid value: "x": '
        'Invalid character(s) found in major number "x"'
    )
    assert refusal(pod(toleration("CEL", "taint.", key=""))).startswith(
        'spec.tolerations[0].operator: Invalid value: "CEL": operator must be Exists when `key` is empty'
    )
    assert refusal(pod(toleration("Like", "a"))) == (
        'spec.tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"'
    )
    assert "must be specified single value" in refusal(pod(required=[term(requirement("k", "SemverGt"))]))


def test_the_field_expression_is_refused_with_what_to_write() -> None:
    assert "write operator CEL" in refusal(pod({"expression": "true"}))


def test_versions_without_a_number_are_refused_in_affinity() -> None:
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
    assert refusal(pod(required=[term(requirement("k", "SemverGt", "1.2.3-rc.1"))])).startswith(f"{path}.values: ")
    assert refusal(pod(required=[term(requirement("moorage.dev/x", "SemverGt", "1"))])).startswith(f"{path}.key: ")


@pytest.mark.parametrize(
    "text", ["", "x", "{}", "[1]", "[null]", '[{"key":"a","operator":"Gt","value":"b"}]', '[{"key":1}]', "[" * 5000]
)
def test_an_annotation_that_is_not_ours_is_refused_where_it_is_needed(text: str) -> None:
    stored = lowered(pod(SPOT))
    stored["metadata"]["annotations"][TOLERATIONS] = text
    assert refusal(stored).endswith("is not what moorage attach has written")


def test_an_annotation_without_the_marker_is_dropped() -> None:
    given = pod(toleration("Equal", "a"))
    given["metadata"]["annotations"] = {TOLERATIONS: "x", "other": "y"}
    assert lowered(given)["metadata"]["annotations"] == {"other": "y"}


def test_a_newer_format_is_refused() -> None:
    stored = lowered(pod(SPOT))
    stored["metadata"]["annotations"]["attach.moorage.dev/format"] = "v2"
    assert "this release does not know" in refusal(stored)


@pytest.mark.parametrize(
    "given",
    [
        {"tolerations": [{"key": "a", "operator": "Gt", "value": 5}]},
        {"tolerations": [{"key": "a", "operator": "Gt"}, "x"]},
        {"tolerations": [{"operator": ["Gt"]}]},
        {"tolerations": [{"operator": "Gt"}], "affinity": []},
    ],
)
def test_what_has_other_types_is_unreadable(given: Raw) -> None:
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": given}
    with pytest.raises(Unreadable):
        lowered(document)


def test_nulls_are_absent() -> None:
    given = pod({**SPOT, "effect": "NoSchedule", "tolerationSeconds": None})
    given["spec"]["affinity"] = {"nodeAffinity": None}
    assert lowered(given) == lowered(pod(SPOT))
