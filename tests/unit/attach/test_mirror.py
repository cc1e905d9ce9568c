"""The labels that mirror a node, when its taints and labels change, and when somebody writes them by hand."""

from typing import Any

import pytest
from tests.unit.attach.workloads import node

from moorage.attach.formats import MIRRORED, is_match_label, is_mirror_label, taint_label, version_label
from moorage.attach.mirror import mirror_labels, mirrored
from moorage.attach.versions import ordered_integer, threshold

Raw = dict[str, Any]
SPOT = {"key": "spot", "value": "950", "effect": "NoSchedule"}
MATCH = "match.moorage.dev/0123456789abcdef0123"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.2.3", 2000004000007),
        ("v1.2.3", 2000004000007),
        ("1.2.3-rc.1", 2000004000006),
        ("1.2", 2000004000001),
        ("01.02", 2000004000001),
        ("7", 14000000000001),
        ("999999.999999.999999", 1999999999999999999),
        ("1000000", None),
        ("2026.1000000.1", None),
        ("word", None),
        ("", None),
        ("1.2.3-01", None),
    ],
)
def test_versions_have_numbers_that_compare_as_they_do(text: str, number: int | None) -> None:
    assert ordered_integer(text) == number


def test_a_threshold_is_a_release() -> None:
    assert threshold("1.2.3+build") == ordered_integer("1.2.3")
    assert threshold("1.2.3-rc.1") is None


def test_keys_of_different_taints_have_different_labels() -> None:
    keys = ["a", "a/a", "num.noschedule.taint.moorage.dev/a", "a.num.noschedule.taint.moorage.dev/a"]
    labels = {taint_label(content, "NoSchedule", key) for key in keys for content in ("raw", "num", "ver")}
    assert len(labels) == 12


@pytest.mark.parametrize(("length", "has_room"), [(220, True), (221, False)])
def test_a_long_prefix_leaves_no_room(length: int, has_room: bool) -> None:
    key = "a" * length + "/k"
    assert (taint_label("raw", "NoSchedule", key) is not None) is has_room
    assert len(mirror_labels(node([{"key": key, "effect": "NoSchedule"}]))) == (2 if has_room else 1)


def test_labels_below_our_domain_are_not_mirrored() -> None:
    assert version_label("simulate.moorage.dev/x") is None
    assert version_label("notmoorage.dev/x") == "notmoorage.dev.ver.label.moorage.dev/x"


def test_forged_and_stale_labels_go() -> None:
    forged = {
        "num.noschedule.taint.moorage.dev/spot": "9999",
        "ver.label.moorage.dev/x": "1",
        MIRRORED: "v0",
        MATCH: "",
    }
    assert mirrored(node([SPOT], zone="a", **forged), None) == {"zone": "a", **mirror_labels(node([SPOT]))}


def test_match_labels_last_until_the_taints_change() -> None:
    before = node([SPOT], **{MATCH: "true"})
    assert MATCH in mirrored(before, before)
    unready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert MATCH in mirrored(node([SPOT, unready], **{MATCH: "true"}), before)
    assert MATCH not in mirrored(node([SPOT | {"value": "940"}], **{MATCH: "true"}), before)
    sla = SPOT | {"key": "node.kubernetes.io/sla"}
    assert MATCH not in mirrored(node([SPOT, sla], **{MATCH: "true"}), before)
    assert MATCH not in mirrored(node(None, **{MATCH: "true"}), before)


def test_a_kubelet_keeps_answers_and_adds_none() -> None:
    kubelet, plain, answered = ("system:nodes",), node([SPOT]), node([SPOT], **{MATCH: "true"})
    assert MATCH not in mirrored(answered, plain, "", kubelet)
    assert MATCH not in mirrored(answered, node([SPOT], **{MATCH: "false"}), "status", kubelet)
    assert MATCH in mirrored(answered, answered, "status", kubelet)
    assert MATCH not in mirrored(plain, answered, "", kubelet)
    assert MATCH in mirrored(answered, plain, "", ("system:authenticated",))


def test_a_status_cannot_pretend_taints() -> None:
    true, pretended = node([SPOT], zone="a"), node([SPOT | {"value": "9999"}], zone="b")
    assert mirrored(pretended, true, "status") == {"zone": "b", **mirror_labels(true)}


def test_labels_without_a_prefix_are_nobodys() -> None:
    assert not is_mirror_label("x.taint.moorage.dev")
    assert not is_match_label("match.moorage.dev")
