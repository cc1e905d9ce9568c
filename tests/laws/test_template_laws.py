"""Templates must not show: a pod like an earlier one is decoded, admitted, stored and bound as if it were the first."""

import copy
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices

from moorage.columns.shape import shape_key
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.pod import Pod
from moorage.model.types.request import Binding
from moorage.serve.requests.decoding import check_kind
from moorage.serve.requests.options import STRICT, TRUST, WARN, WriteOptions
from moorage.serve.resources.objects import decode
from moorage.serve.subresources.pods import bind_to
from moorage.serve.templates.pods import Likeness, PodTemplates
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Stored

Raw = dict[str, Any]
Law = Callable[[], None]
GATES = default_gates()
T = TypeVar("T")


def mostly(good: list[Any], *bad: Any) -> st.SearchStrategy[Any]:
    """One of the good values, or seldom one of the bad ones: a pod that is refused teaches little."""
    return st.integers(0, 9).flatmap(lambda number: st.sampled_from(bad if bad and not number else good))


names = mostly([None, "a", "b", "pod-1", "a.b", "a" * 60], "Not_A_Name", "", 5, "x" * 300)
values = mostly([{}, {"a": "b"}], None, {"A b": "c"}, {"a": 1})
specs = st.fixed_dictionaries(
    {"containers": mostly([[{"name": "c", "image": "i"}]], [{"name": "c"}], [], None, "x")},
    optional={
        "priorityClassName": mostly(["", "system-node-critical"], "unknown"),
        "hostNetwork": mostly([True], 1, "yes"),
        "tolerations": st.sampled_from([[], [{"key": "k", "operator": "Exists"}], [{"operator": "Exists"}]]),
        "nodeSelector": mostly([{"beta.kubernetes.io/os": "linux"}, {"1": "x"}], {1: "x"}),
        "schedulingGates": st.just([{"name": "g"}]),
    },
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "generateName": mostly(["a-", "b" * 100, ""], "A-"),
        "namespace": mostly(["default", ""], "ns-1", None),
        "labels": values,
        "annotations": values,
        "creationTimestamp": mostly(["2024-01-01T00:00:00Z"], None, "soon"),
        "uid": mostly(["u"], 5),
        "managedFields": mostly([[]], None, [{"manager": "m"}]),
        "finalizers": mostly([["a/b"]], ["nope"]),
        "ownerReferences": st.just([{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u", "controller": True}]),
    },
)
pods = st.builds(
    lambda meta, spec, more: {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, **more},
    metadata,
    specs,
    mostly([{}, {"status": {}}], {"color": "red"}, {"status": {"phase": 5}}),
)


class Step(msgspec.Struct, frozen=True):
    """Create one of the pods, with its own name and others, and bind it. `text` is more of its JSON, if it has any."""

    which: int
    name: Any
    pod_labels: Any
    namespace: str
    manager: str
    validation: str
    text: str | None
    seconds: int
    labels: dict[str, str]


steps = st.builds(
    Step,
    mostly([0], 1),
    names,
    mostly([None], {"z": "1"}),
    mostly(["default"], "ns-1"),
    mostly(["kubectl"], "other"),
    st.sampled_from([STRICT, WARN, WARN, WARN]),
    st.sampled_from([None, "", ',"x":1', ',"kind":"Pod"']),
    st.sampled_from([0, 0, 1]),
    st.sampled_from([{}, {}, {"l": "1"}]),
)


class Bench:
    """An API whose clock, UIDs and suffixes are the test's."""

    def __init__(self, make: Callable[[Api], PodTemplates] | None = None) -> None:
        self.now = 1767323045.0
        self.made = 0
        self.api = Api(MemoryStore(), GATES, clock=lambda: self.now, new_uid=self._uid, new_suffix=self._suffix)
        if make is not None:
            self.api.templates = make(self.api)
        for name in ("default", "ns-1"):
            raw = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            run(create(self.api, KINDS.NAMESPACE, "", raw, WriteOptions("t")))

    def _uid(self) -> str:
        return f"uid-{self.made}"

    def _suffix(self) -> str:
        return f"s{self.made:04}"

    def play(self, step: Step, pod: Raw) -> object:
        """Create the pod and bind it, as the HTTP handler does with a text and the loopback client without one."""
        self.made += 1
        try:
            stored, warnings = self._create(step, copy.deepcopy(pod))
            self._bind(step, stored)
            bound = run(self.api.store.get(stored.key))
        except ApiError as refusal:
            return refusal.status
        assert bound is not None
        for found in (stored, bound):
            assert found.view == convert_view(_without_owners(found), Pod)
            if found.template is not None:
                assert shape_key(found.view) == shape_key(found.template.view)
        return decode(KINDS.POD, stored), decode(KINDS.POD, bound), warnings

    def _create(self, step: Step, pod: Raw) -> tuple[Stored, object]:
        like: Likeness | None = None
        warnings: list[str] = []
        options = WriteOptions(step.manager, validation=TRUST if step.text is None else step.validation)
        if step.text is None or any(type(key) is int for key in pod["spec"].get("nodeSelector") or ()):
            check_kind(pod, KINDS.POD)
        else:
            body = msgspec.json.encode(pod)[:-1] + step.text.encode() + b"}"
            pod, warnings, like = self.api.templates.decode(body, step.namespace, step.manager, step.validation)
        outcome = run(create(self.api, KINDS.POD, step.namespace, pod, options, warnings, like=like))
        return outcome.stored, outcome.warnings

    def _bind(self, step: Step, stored: Stored) -> None:
        binding = Binding(metadata=ObjectMeta(labels=step.labels), target=ObjectReference(name="n"))
        run(bind_to(self.api, step.namespace, stored.view.metadata.name, binding))


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, as with a store in memory."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("it waits")


def _without_owners(stored: Stored) -> Raw:
    raw = decode(KINDS.POD, stored._replace(revision=0))
    raw["metadata"].pop("managedFields", None)
    return raw


def template_law(make: Callable[[Api], PodTemplates], often: settings = LAW_SETTINGS) -> Law:
    @often
    @given(st.tuples(pods, pods), st.lists(steps, min_size=2, max_size=8))
    def law(known: tuple[Raw, Raw], history: list[Step]) -> None:
        bench, forgetful = Bench(make), Bench(lambda api: NoTemplates(api._admit_pod, api.admission.still_admits))
        for step in history:
            for name in (step.name, f"n{bench.made}"):
                pod = copy.deepcopy(known[step.which])
                changes = {"name": name, "labels": step.pod_labels}
                pod["metadata"] |= {field: value for field, value in changes.items() if value is not None}
                assert bench.play(step, pod) == forgetful.play(step, pod)
            bench.now += step.seconds
            forgetful.now += step.seconds

    return law


class NoTemplates(PodTemplates):
    """Recognises no pod, so that each goes the long way."""

    def likeness(self, raw: Raw, namespace: str, manager: str) -> Likeness:
        return Likeness(b"")


def test_a_pod_of_a_template_is_admitted_and_bound_as_if_it_were_the_first() -> None:
    template_law(
        lambda api: PodTemplates(api._admit_pod, api.admission.still_admits, lambda: api.directory.generation, limit=3)
    )()


class LabelBlind(PodTemplates):
    """Thinks that pods are alike whatever their labels."""

    def likeness(self, raw: Raw, namespace: str, manager: str) -> Likeness:
        found = raw["metadata"]
        plain = {name: value for name, value in found.items() if name != "labels"} if type(found) is dict else found
        return super().likeness({**raw, "metadata": plain}, namespace, manager)


class ManagerBlind(PodTemplates):
    """Thinks that it does not matter who creates a pod."""

    def likeness(self, raw: Raw, namespace: str, manager: str) -> Likeness:
        return super().likeness(raw, namespace, "")


class KeyBlind(PodTemplates):
    """Does not count the keys of a text, and so overlooks those given twice."""

    def decode(self, body: bytes, namespace: str, manager: str, validation: str) -> tuple[Raw, list[str], Likeness]:
        raw, warnings, like = super().decode(body, namespace, manager, validation)
        known = self._known.get(like.fingerprint)
        return (raw, [], like) if known is not None and known.keys else (raw, warnings, like)


@pytest.mark.parametrize("broken", [LabelBlind, ManagerBlind, KeyBlind])
def test_templates_that_overlook_something_are_noticed(broken: type[PodTemplates]) -> None:

    assert_notices(template_law(lambda api: broken(api._admit_pod, api.admission.still_admits), UNTIL_NOTICED))
