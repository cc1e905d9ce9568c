"""Objects that repeat others: read and admitted at the cost of one, they are what each would be by itself."""

import copy
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices

from moorage.lint.sources import Source
from moorage.model.gates import gates_from
from moorage.model.text import repeated_items
from moorage.model.text.documents import Document, read_documents
from moorage.plan.input.admitted import repeated_objects
from moorage.plan.planner import Planner, Settings

TIME, LATER = "2026-11-01T10:00:00Z", "2026-11-02T11:30:09Z"
UIDS = [f"3f2a1b0c-0000-4000-8000-{number:012x}" for number in range(9)]


def pod(number: int) -> dict[str, Any]:
    """Return a pod as `kubectl get -o yaml` prints it."""
    token = f"kube-api-access-{number:05}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"note": 'a "quoted" text\nof two lines'},
            "creationTimestamp": TIME,
            "generateName": "web-7c9f-",
            "labels": {"app": "web", "pod-template-hash": "7c9f"},
            "name": f"web-7c9f-{number:05}",
            "namespace": "default",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "controller": True, "kind": "ReplicaSet", "name": "web-7c9f", "uid": UIDS[0]}
            ],
            "resourceVersion": str(100 + number),
            "uid": UIDS[number],
        },
        "spec": {
            "containers": [
                {
                    "image": "i:1",
                    "name": "c",
                    "resources": {"requests": {"cpu": "500m"}},
                    "volumeMounts": [{"mountPath": "/token", "name": token}, {"mountPath": "/d", "name": "data"}],
                }
            ],
            "nodeName": f"node-{number}",
            "priority": 0,
            "tolerations": [{"effect": "NoExecute", "key": "k", "operator": "Exists", "tolerationSeconds": 300}],
            "volumes": [{"name": token, "projected": {"sources": []}}, {"emptyDir": {}, "name": "data"}],
        },
        "status": {
            "conditions": [{"lastProbeTime": None, "lastTransitionTime": TIME, "status": "True", "type": "Ready"}],
            "containerStatuses": [
                {
                    "containerID": f"containerd://{number}",
                    "image": "i:1",
                    "imageID": "i@sha256:0",
                    "name": "c",
                    "ready": True,
                    "restartCount": number,
                    "state": {"running": {"startedAt": TIME}},
                }
            ],
            "phase": "Running",
            "podIP": f"10.0.0.{number}",
            "podIPs": [{"ip": f"10.0.0.{number}"}],
            "startTime": TIME,
        },
    }


def node(number: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"creationTimestamp": TIME, "labels": {"zone": "a"}, "name": f"node-{number}", "uid": UIDS[number]},
        "spec": {"podCIDR": f"10.0.{number}.0/24", "podCIDRs": [f"10.0.{number}.0/24"], "providerID": f"p://{number}"},
        "status": {
            "addresses": [{"address": f"10.0.0.{number}", "type": "InternalIP"}],
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [{"lastHeartbeatTime": TIME, "status": "True", "type": "Ready"}],
        },
    }


#: What may stand in the place of any scalar: valid, invalid, of another type, and text that YAML reads differently.
SCALARS = [
    *("web", "x.y", "A_b", "", "yes", "010", "1e3", ".inf", "0x1f", "null", "a: b", "# no", "- x", "é", 'a"b', "a\\b"),
    *("10.0.0.300", "10.1.1.0/24", "10.1.1.0/33", "2026-02-30T10:00:00Z", LATER, "kube-api-access-00001", "data"),
    *("node-1", UIDS[3], "Pending", "True", "500m", "many words in one line", " space ", "~", "<<", "&a", "*a", "!t"),
    *(0, 1, -1, 10**16, 1.5, True, False, None),
]


def scalar_places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [place for key, below in value.items() for place in scalar_places(below, (*above, key))]
    if isinstance(value, list):
        return [place for key, below in enumerate(value) for place in scalar_places(below, (*above, key))]
    return [above]


@st.composite
def dumps(draw: st.DrawFn) -> tuple[bytes, str]:
    """Draw a dump of nodes and pods, some scalars of which are others; return its text, and how it is written."""
    objects = [node(number) for number in range(1, 4)] + [pod(number) for number in range(1, 8)]
    for one in draw(st.lists(st.sampled_from(objects), max_size=3)):
        place = draw(st.sampled_from(scalar_places(one)))
        inner: Any = one
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = draw(st.sampled_from(SCALARS))
    if draw(st.booleans()):
        objects = [copy.deepcopy(one) for one in objects]  # without aliases
    form = draw(st.sampled_from(["yaml", "json", "stream"]))
    if form == "stream":
        return yaml.safe_dump_all(objects).encode(), form
    listed = {"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}}
    text = json.dumps(listed, indent=4) + "\n" if form == "json" else yaml.safe_dump(listed)
    return text.encode(), form


def read(text: bytes, *, shares: bool) -> list[object]:
    found = read_documents(
        io.BytesIO(text), "s", 2000 if b"\nitems:" in text or b'"items"' in text else 10**9, shares=shares
    )
    return [
        (repr(one.raw), one.index, one.line, one.location("metadata.name"), one.location("status.podIPs[0].ip"))
        if isinstance(one, Document)
        else (one.reason, one.line, one.column)
        for one in found
    ]


def planned(text: bytes) -> tuple[object, ...]:
    planner = Planner(Settings(gates_from({"AllAlpha": True})))
    planner.load([Source("s", content=text)])
    inventory = planner.inventory
    return [(item.key, repr(item.raw), item.view) for item in inventory.items.values()], [*map(str, inventory.notes)]


def check(
    law_settings: settings, whole: Callable[[bytes], tuple[object, ...]], ours: Callable[[bytes], object]
) -> None:
    @law_settings
    @given(dumps())
    def law(drawn: tuple[bytes, str]) -> None:
        text, _ = drawn
        assert ours(text) == whole(text)

    law()


def one_by_one(text: bytes) -> tuple[object, ...]:
    """Read and admit every object by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeated_items.RepeatedItems, "find", lambda self, text: None)
        return planned(text)


def test_repeated_objects_are_read_as_each_would_be_by_itself() -> None:
    check(LAW_SETTINGS, lambda text: (read(text, shares=False),), lambda text: (read(text, shares=True),))


def test_repeated_objects_are_admitted_as_each_would_be_by_itself() -> None:
    check(LAW_SETTINGS, one_by_one, planned)


def test_the_law_notices_a_scalar_that_is_taken_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_items, "yaml_scalar", lambda text: text.decode().strip("'\""))
    monkeypatch.setattr(repeated_items, "_is_same", lambda one, other: True)
    assert_notices(
        lambda: check(UNTIL_NOTICED, lambda text: (read(text, shares=False),), lambda text: (read(text, shares=True),))
    )


def test_the_law_notices_a_form_that_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = {
        kind: {field: (lambda value: True) for field in fields}  # whatever it is
        for kind, fields in repeated_objects._FORMS.items()
    }
    monkeypatch.setattr(repeated_objects, "_FORMS", forms)
    assert_notices(lambda: check(UNTIL_NOTICED, one_by_one, planned))


def test_pods_of_one_workload_are_admitted_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = [pod(number) for number in range(1, 8)]
    text = yaml.safe_dump_all(objects).encode()
    admissions: list[int] = []
    admit = repeated_objects.RepeatedObjects._admit

    def counted(self: Any, admit_it: Any) -> Any:
        admissions.append(1)
        return admit(self, admit_it)

    monkeypatch.setattr(repeated_objects.RepeatedObjects, "_admit", counted)
    planned(text)
    # The first is decoded, the second is what others are derived from, the third is compared.
    assert len(admissions) == 3
