"""Documents in older versions: there and back, and manifests in them."""

from pathlib import Path
from typing import Any

import pytest
from tests.conformance.vector_file import read_cases

from moorage.model.kinds import KINDS, OLDER_VERSIONS, Kind
from moorage.model.schema.older_versions import from_older, has_other_structure, in_current_version, to_older

Raw = dict[str, Any]

VECTORS = Path(__file__).resolve().parents[3] / "conformance" / "vectors"
CLAIM, SLICE = (KINDS["resource.k8s.io/v1", name] for name in ("ResourceClaim", "ResourceSlice"))
FILES = {
    "DeviceClass": "device_class",
    "ResourceClaim": "resource_claim",
    "ResourceClaimTemplate": "resource_claim_template",
    "ResourceSlice": "resource_slice",
}


def claim(request: Raw) -> Raw:
    return {
        "apiVersion": CLAIM.api_version,
        "kind": CLAIM.name,
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [request]}},
    }


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_what_the_api_server_takes_is_the_same_there_and_back(name: str, version: str) -> None:
    kind = KINDS["resource.k8s.io/v1", name]
    cases = read_cases(VECTORS / f"validate_{FILES[name]}.json.gz")
    stored = [case["in"]["object"] | {"spec": case["out"]["spec"]} for case in cases if case["out"].get("spec")]
    assert stored
    for raw in stored:
        older = to_older(raw, kind, version)
        assert older["apiVersion"] == f"resource.k8s.io/{version}"
        assert in_current_version(older) == raw


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"name": "r", "deviceClassName": "c"}, {"name": "r", "exactly": {"deviceClassName": "c"}}),
        ({"name": "r", "firstAvailable": []}, {"name": "r", "firstAvailable": []}),
        ({"name": "r", "deviceClassName": "", "count": 0}, {"name": "r"}),
        ({"name": "r", "adminAccess": False}, {"name": "r", "exactly": {"adminAccess": False}}),
        ({"name": "r", "selectors": []}, {"name": "r", "exactly": {"selectors": []}}),
        ({"name": "r", "surprise": 1}, {"name": "r", "surprise": 1}),
    ],
)
def test_requests_of_v1beta1_have_no_level_below_them(old: Raw, new: Raw) -> None:
    assert from_older(claim(old), CLAIM, "v1beta1") == claim(new)


def test_parts_of_documents_and_what_is_not_as_it_should_be_stay() -> None:
    assert from_older({"metadata": {}}, CLAIM, "v1beta1") == {"apiVersion": CLAIM.api_version, "metadata": {}}
    odd: Raw = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceSlice",
        "spec": {"devices": [1, None, {"basic": 3}]},
    }
    assert in_current_version(odd)["spec"] == {"devices": [1, None, {}]}
    others: list[Raw] = [{"apiVersion": 3, "kind": "ResourceClaim"}, {"kind": []}, {"apiVersion": "v1", "kind": "Pod"}]
    for raw in others:
        assert in_current_version(raw) is raw


def test_a_slice_of_v1beta1_may_say_where_it_is_not() -> None:
    raw: Raw = {"spec": {"nodeName": "", "allNodes": False, "driver": "d"}}
    assert from_older(raw, SLICE, "v1beta1")["spec"] == {"driver": "d"}
    assert from_older(raw, SLICE, "v1beta2")["spec"] == raw["spec"]


@pytest.mark.parametrize("kind", dict.fromkeys(OLDER_VERSIONS.values()), ids=lambda kind: kind.name)
def test_only_one_version_has_another_structure(kind: Kind) -> None:
    other = {version for version in kind.older_versions if has_other_structure(kind, version)}
    assert other <= {"v1beta1", *kind.older_views}
