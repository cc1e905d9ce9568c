"""No byte of format v1 changes between releases: a change would roll out every workload that is lowered."""

import json
from hashlib import sha256
from typing import Any

import pytest
from tests.unit.attach.workloads import PREFERRED, REQUIRED, node, pod, requirement, term, toleration

from moorage.attach.mirror import mirror_labels
from moorage.attach.objects import lowered

Raw = dict[str, Any]
_LONG_CEL = "taint.value.startsWith(\"é<'\") && taint.key != 'other-key-that-is-long-enough-for-64-bytes'"


def parts(document: Raw) -> Raw:
    spec = document["spec"]
    return {
        "annotations": document["metadata"].get("annotations"),
        "tolerations": spec.get("tolerations"),
        "affinity": spec.get("affinity"),
    }


def test_one_threshold_is_written_in_these_bytes() -> None:
    given = pod(toleration("Gt", "950", effect="NoSchedule"), toleration("Equal", "900"))
    assert json.dumps(parts(lowered(given))) == (
        '{"annotations": {"attach.moorage.dev/tolerations": "[{\\"effect\\":\\"NoSchedule\\",\\"key\\":\\"spot\\",'
        '\\"operator\\":\\"Gt\\",\\"value\\":\\"950\\"},{\\"key\\":\\"spot\\",\\"operator\\":\\"Equal\\",'
        '\\"value\\":\\"900\\"}]"}, "tolerations": [{"key": "spot", "operator": "Equal", "value": "900"}, '
        '{"effect": "NoSchedule", "key": "spot", "operator": "Exists"}, {"effect": "PreferNoSchedule", '
        '"key": "attach.moorage.dev/lowered", "operator": "Exists"}], "affinity": {"nodeAffinity": '
        '{"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": '
        '[{"key": "raw.noschedule.taint.moorage.dev/spot", "operator": "DoesNotExist"}]}, {"matchExpressions": '
        '[{"key": "num.noschedule.taint.moorage.dev/spot", "operator": "Gt", "values": ["950"]}]}, '
        '{"matchExpressions": [{"key": "raw.noschedule.taint.moorage.dev/spot", "operator": "In", '
        '"values": ["900"]}]}]}}}}'
    )


#: The SHA-256 of the lowered parts, in JSON with sorted keys.
GOLDEN: dict[str, tuple[Raw, str]] = {
    "without effect": (pod(toleration("Lt", "5", key="a.example.com/b")), "12b4f9fdfa691d99"),
    "versions": (pod(toleration("SemverGt", "v1.2", effect="NoExecute", seconds=60)), "9c6e5c3c440c82c4"),
    "version of a part": (pod(toleration("SemverEq", "535.104.5", effect="NoSchedule")), "e0031fb42a7fa5bc"),
    "pre-release": (pod(toleration("SemverLt", "1.2.3-rc.1", effect="NoSchedule")), "dc412208a3f61f23"),
    "expression": (
        pod(toleration("CEL", _LONG_CEL, effect="NoSchedule"), toleration("Exists", key="x")),
        "047b5fc7c95d3c0e",
    ),
    "soft": (pod(toleration("Gt", "950", effect="PreferNoSchedule")), "cc67a60cde843067"),
    "soft expression": (pod(toleration("CEL", "taint.value != ''", effect="PreferNoSchedule")), "b66844d7e2f95289"),
    "two keys and own terms": (
        pod(
            toleration("Gt", "950"),
            toleration("Lt", "-5", key="lag", effect="NoSchedule"),
            toleration("Gt", "-5", key="lag", effect="NoExecute"),
            required=[term(requirement("zone", "In", "a")), {"matchFields": [requirement("metadata.name", "In", "n")]}],
        ),
        "9e2fc6b93d529601",
    ),
    "over 64 terms": (pod(*(toleration("Gt", "1", key=key) for key in "abcd")), "271ec8dc0ffdd739"),
    "node affinity": (
        pod(
            required=[term(requirement("example.com/driver", "SemverGt", "535.104.5"))],
            preferred=[{"weight": 3, "preference": term(requirement("kernel", "SemverLt", "6"))}],
        ),
        "9736762ab8cc40e3",
    ),
}


def digest(document: Raw) -> str:
    return sha256(json.dumps(parts(lowered(document)), sort_keys=True).encode()).hexdigest()[:16]


@pytest.mark.parametrize(("document", "wanted"), GOLDEN.values(), ids=list(GOLDEN))
def test_no_byte_of_a_lowered_pod_changes(document: Raw, wanted: str) -> None:
    assert digest(document) == wanted


def test_the_orders_of_lowered_lists_are_part_of_the_bytes() -> None:
    soft = lowered(GOLDEN["node affinity"][0])["spec"]["affinity"]["nodeAffinity"]
    [required] = soft[REQUIRED]["nodeSelectorTerms"]
    assert required == term(requirement("example.com.ver.label.moorage.dev/driver", "Gt", "1070000208000011"))
    [preferred] = soft[PREFERRED]
    assert preferred["preference"] == term(requirement("ver.label.moorage.dev/kernel", "Lt", "12000000000001"))


def test_labels_of_a_mirror_are_these_bytes() -> None:
    taints = [
        {"key": "very.long.example.com/key-name", "value": "1000", "effect": "NoSchedule"},
        {"key": "spot", "value": "007", "effect": "NoExecute"},
        {"key": "soft", "effect": "PreferNoSchedule"},
        {"key": "driver", "value": "v535.104.6-beta", "effect": "NoSchedule"},
    ]
    assert mirror_labels(node(taints, **{"example.com/driver": "535.104.6", "zone": "a"})) == {
        "moorage.dev/mirrored": "v1",
        "very.long.example.com.raw.noschedule.taint.moorage.dev/key-name": "1000",
        "very.long.example.com.num.noschedule.taint.moorage.dev/key-name": "1000",
        "very.long.example.com.ver.noschedule.taint.moorage.dev/key-name": "2000000000000001",
        "raw.noexecute.taint.moorage.dev/spot": "007",
        "ver.noexecute.taint.moorage.dev/spot": "14000000000001",
        "raw.prefernoschedule.taint.moorage.dev/soft": "",
        "raw.noschedule.taint.moorage.dev/driver": "v535.104.6-beta",
        "ver.noschedule.taint.moorage.dev/driver": "1070000208000012",
        "example.com.ver.label.moorage.dev/driver": "1070000208000013",
    }
