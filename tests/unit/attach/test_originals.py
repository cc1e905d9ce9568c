"""What lowered pods were: read back, marked, and put back into what a cluster has."""

from copy import deepcopy
from typing import Any

import pytest
from tests.unit.attach.workloads import KINDS, PREFERRED, REQUIRED, pod, requirement, term, toleration, workload

from moorage.attach import formats
from moorage.attach.objects import POD_PATHS, lowered
from moorage.attach.originals.marks import as_written, compares_unmarked, without_marks
from moorage.attach.originals.reading_back import OTHER_AFFINITY, original_object, put_back, read_back
from moorage.model.kinds import kind_of
from moorage.model.types.view import ATTACHED

Raw = dict[str, Any]
ABOVE = toleration("Gt", "950", effect="NoSchedule")
EXPRESSION = toleration("CEL", "taint.value == '7'", key="gpu", effect="NoExecute", seconds=5)
UNREADY = toleration("Exists", key="node.kubernetes.io/not-ready", effect="NoExecute", seconds=300)
NEWER = term(requirement("driver", "SemverGt", "535.104.5"))
PODS = [
    pod(ABOVE),
    pod(ABOVE, EXPRESSION, toleration("Equal", "900")),
    pod(required=[NEWER], preferred=[{"weight": 5, "preference": NEWER}]),
    pod(ABOVE, required=[term(requirement("zone", "In", "a")), NEWER]),
    pod(toleration("Gt", "5", effect="PreferNoSchedule")),
    pod(toleration("Exists"), ABOVE),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(len(PODS)))
def test_every_kind_is_read_back(kind: str, number: int) -> None:
    document = workload(kind, PODS[number])
    row = kind_of(document)
    assert row is not None
    found = original_object(lowered(document), POD_PATHS[row])
    assert (found.was_lowered, found.problem) == (True, "")
    assert not compares_unmarked(deepcopy(found.pod))
    assert without_marks(found.pod) == document


def test_what_was_not_lowered_is_the_very_same() -> None:
    document = pod(toleration("Exists"))
    assert original_object(document, ()).pod is document
    native = pod(ABOVE)
    assert original_object(native, ()).pod is native


def test_what_others_added_comes_after() -> None:
    document = lowered(pod(ABOVE))
    document["spec"]["tolerations"].append(UNREADY)
    assert without_marks(read_back(document).pod)["spec"]["tolerations"] == [ABOVE, UNREADY]


def test_the_order_of_terms_means_nothing() -> None:
    document = lowered(pod(ABOVE, toleration("Equal", "900")))
    document["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"].reverse()
    assert read_back(document).was_lowered


def without_a_term(document: Raw) -> None:
    document["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"].pop()


def without_affinity(document: Raw) -> None:
    del document["spec"]["affinity"]


def other_value(document: Raw) -> None:
    annotations = document["metadata"]["annotations"]
    annotations[formats.TOLERATIONS] = annotations[formats.TOLERATIONS].replace("950", "1")


def with_exists(document: Raw) -> None:
    document["spec"]["tolerations"].append(toleration("Exists"))


@pytest.mark.parametrize("change", [without_a_term, without_affinity, other_value, with_exists])
def test_what_would_be_lowered_to_something_else_is_as_written(change: Any) -> None:
    document = lowered(pod(ABOVE))
    change(document)
    found = read_back(document)
    assert (found.pod is document, found.was_lowered, found.problem) == (True, False, OTHER_AFFINITY)


@pytest.mark.parametrize(
    "text", ["", "null", "{}", "[1]", '[{"key":"a","operator":"Gt","value":"x"}]', "[" * 5000, '[{"operator":null}]']
)
def test_annotations_of_any_text_are_not_believed(text: str) -> None:
    document = lowered(pod(ABOVE))
    document["metadata"]["annotations"][formats.TOLERATIONS] = text
    found = read_back(document)
    assert found.pod is document
    assert formats.TOLERATIONS in found.problem
    only = pod(required=[NEWER])
    made = lowered(only)
    made["metadata"]["annotations"][formats.NODE_AFFINITY] = text
    assert read_back(made).problem


@pytest.mark.parametrize("spec", [None, 5, [], {"tolerations": 5}, {"tolerations": [5, None]}, {"affinity": []}])
def test_documents_of_any_type_are_left_to_admission(spec: Any) -> None:
    document = {"metadata": {"annotations": {formats.TOLERATIONS: "[]"}}, "spec": spec}
    assert read_back(document).pod is document


def test_a_daemon_pod_has_the_affinity_of_its_controller() -> None:
    document = lowered(pod(ABOVE, required=[NEWER]))
    pinned = {"nodeSelectorTerms": [{"matchFields": [requirement("metadata.name", "In", "n")]}]}
    document["spec"]["affinity"]["nodeAffinity"][REQUIRED] = pinned
    assert read_back(document).problem
    found = read_back(document, is_daemon=True)
    assert without_marks(found.pod)["spec"]["tolerations"] == [ABOVE]
    assert found.pod["spec"]["affinity"]["nodeAffinity"] == {REQUIRED: pinned}


def test_only_comparisons_that_were_lowered_are_marked() -> None:
    native = toleration("Gt", "5", key="native")
    document = lowered(pod(native, ABOVE), native={"Gt"})
    assert document == pod(native, ABOVE), "all are the cluster's"
    document = lowered(pod(native, toleration("SemverGt", "1.2")), native={"Gt"})
    found = read_back(document).pod["spec"]["tolerations"]
    assert {each["key"]: ATTACHED in each for each in found} == {"native": False, "spot": True}


def test_expressions_are_written_as_users_write_them() -> None:
    (marked,) = read_back(lowered(pod(EXPRESSION))).pod["spec"]["tolerations"]
    assert marked["expression"] == "taint.value == '7'"
    assert as_written(marked) == EXPRESSION


def test_what_did_not_change_is_put_back_as_it_is_lowered() -> None:
    stored = lowered(pod(ABOVE, preferred=[{"weight": 1, "preference": NEWER}]))
    before = read_back(stored).pod
    assert put_back(before, before, stored) == stored
    changed = deepcopy(before)
    changed["spec"]["tolerations"][0]["value"] = "900"
    sent = put_back(changed, before, stored)
    assert sent["spec"]["tolerations"] == [ABOVE | {"value": "900"}]
    assert sent["spec"]["affinity"] == stored["spec"]["affinity"]
    assert lowered(sent) == lowered(pod(ABOVE | {"value": "900"}, preferred=[{"weight": 1, "preference": NEWER}]))
    assert PREFERRED in sent["spec"]["affinity"]["nodeAffinity"]
