"""Revisions and their history."""

import pytest
from tests.unit.control.workloads import replica_set, seen

from moorage.control.deployment.rollout import (
    DESIRED_REPLICAS,
    REVISION_HISTORY,
    copied_annotations,
    new_annotations,
    next_revision,
    number_in,
)
from moorage.model.well_known.annotations import DEPLOYMENT_REVISION


def test_a_new_replica_set_gets_the_next_revision() -> None:
    old = []
    for revision in ("3", "7", "x", ""):
        found = replica_set(f"r{revision}", 0)
        found["metadata"]["annotations"] = {DEPLOYMENT_REVISION: revision}
        old.append(seen(found))
    assert next_revision(old) == 8
    assert next_revision([]) == 1
    assert new_annotations({}, {"note": "n"}, 8) == {"note": "n", DEPLOYMENT_REVISION: "8"}


def test_an_old_one_that_is_used_again_remembers_its_revisions() -> None:
    once = new_annotations({DEPLOYMENT_REVISION: "1"}, {}, 3)
    assert once == {DEPLOYMENT_REVISION: "3", REVISION_HISTORY: "1"}
    assert new_annotations(once, {}, 5) == {DEPLOYMENT_REVISION: "5", REVISION_HISTORY: "1,3"}
    assert new_annotations(once, {}, 2) == once
    assert new_annotations({DEPLOYMENT_REVISION: "mine"}, {}, 2) == {DEPLOYMENT_REVISION: "mine"}


def test_the_history_does_not_grow_for_ever() -> None:
    annotations: dict[str, str] = {}
    for revision in range(1, 2000):
        annotations = new_annotations(annotations, {}, revision)
    history = annotations[REVISION_HISTORY]
    assert len(history) <= 2000
    assert history.endswith(",1997,1998")


@pytest.mark.parametrize(("text", "number"), [("5", 5), ("", None), ("-1", None), ("x", None), ("9" * 12, None)])
def test_sizes_that_cannot_be_read_were_never_written(text: str, number: int | None) -> None:
    found = replica_set("r", 0)
    found["metadata"]["annotations"] = {DESIRED_REPLICAS: text}
    assert number_in(seen(found), DESIRED_REPLICAS) == number


def test_what_kubectl_applied_is_not_the_replica_sets_business() -> None:
    found = replica_set("r", 0)
    found["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        DEPLOYMENT_REVISION: "1",
        "a": "b",
    }
    assert copied_annotations(seen(found)) == {"a": "b"}
