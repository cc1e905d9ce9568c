"""What the memo shares, when it forgets, and what it asks each time."""

import msgspec
from tests.unit.admit.objects import Raw, pod

from moorage.admit.admission import STANDARD_PLUGINS, Admitted, Rejected, admit
from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.plugins.priority import Priority
from moorage.admit.request import Request
from moorage.admit.template_memo import TemplateMemo
from moorage.model.gates import default_gates
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.policy import PriorityClass

GATES = default_gates()
REQUEST = Request(uid="u", timestamp="2025-01-01T00:00:00Z")


def named(name: str) -> Raw:
    made = pod()
    made["metadata"]["name"] = name
    return made


def admitted(memo: TemplateMemo, raw: Raw, request: Request = REQUEST) -> Admitted:
    answer = memo.admit_pod(raw, request)
    assert isinstance(answer, Admitted)
    return answer


def test_pods_alike_share_all_but_their_metadata() -> None:
    memo = TemplateMemo(GATES, STANDARD_PLUGINS)
    first, second = admitted(memo, named("a")), admitted(memo, named("b.c"))
    assert second.object["spec"] is first.object["spec"]
    assert second.object["metadata"]["name"] == "b.c"
    assert second.object["metadata"] is not first.object["metadata"]
    assert second.view is not None
    assert len(second.warnings) == len(first.warnings) + 1
    whole = b'{"metadata":' + msgspec.json.encode(second.object["metadata"]) + second.rest
    assert msgspec.json.decode(whole) == second.object


def test_names_are_generated_for_each() -> None:
    memo = TemplateMemo(GATES, STANDARD_PLUGINS)
    raw = pod()
    raw["metadata"] = {"generateName": "run-"}
    names = [
        admitted(memo, raw, Request(name_suffix=suffix)).object["metadata"]["name"] for suffix in ("aaaaa", "bbbbb")
    ]
    assert names == ["run-aaaaa", "run-bbbbb"]


def test_a_new_generation_forgets() -> None:
    classes: list[PriorityClass] = []
    version = 0

    class Live(Plugin):
        def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
            Priority(classes).admit(kind, new, old)

    memo = TemplateMemo(GATES, (Live(),), lambda: version)
    assert admitted(memo, named("a")).object["spec"]["priority"] == 0
    classes.append(PriorityClass(metadata=ObjectMeta(name="high"), value=7, globalDefault=True))
    assert admitted(memo, named("b")).object["spec"]["priority"] == 0
    version = 1
    assert admitted(memo, named("c")).object["spec"]["priority"] == 7


def test_live_plugins_are_asked_each_time() -> None:
    closed = False

    class Door(Plugin):
        live = True

        def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
            if closed:
                raise Forbidden("closed")

    memo = TemplateMemo(GATES, (Door(),))
    admitted(memo, named("a"))
    closed = True
    answer = memo.admit_pod(named("b"), REQUEST)
    assert isinstance(answer, Rejected)
    assert answer.status["message"] == 'pods "b" is forbidden: closed'
    closed = False
    admitted(memo, named("b"))


def test_what_cannot_be_remembered_is_admitted_all_the_same() -> None:
    memo = TemplateMemo(GATES, STANDARD_PLUGINS, limit=1)
    for odd in ({"kind": "Pod"}, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, {"kind": 5}):
        assert type(memo.admit_pod(odd, REQUEST)) is type(admit(odd, None, GATES, request=REQUEST))
    huge = named("a")
    huge["spec"]["activeDeadlineSeconds"] = 2**70
    assert isinstance(memo.admit_pod(huge, REQUEST), Rejected)
