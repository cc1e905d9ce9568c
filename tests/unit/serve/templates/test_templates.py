"""What pods of a template share, when templates are forgotten, and what is stored when one is bound at once."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.plugins.priority import Priority
from moorage.admit.raw import Raw, copy_document
from moorage.admit.request import Request
from moorage.admit.subresources.pods import bind_pod
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates, gates_from
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PriorityClass
from moorage.model.types.request import Binding
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.options import STRICT, WARN, WriteOptions
from moorage.serve.resources.objects import cached_view, decode
from moorage.serve.subresources.pods import bind_to
from moorage.serve.templates.pods import PodTemplates
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Stored

OPTIONS = WriteOptions("tester")
NOW = "2026-01-02T03:04:05Z"
AT = 1767323045.0

SPECS: dict[str, dict[str, Any]] = {
    "short": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
    "unicode": {"spec": {"containers": [{"name": "c", "image": "i", "command": ['},"spec":{"nodeName":"é💡\\"']}]}},
    "status first": {"status": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    "unknown fields": {"zone": {"spec": {}}, "spec": {"x": [1, {}], "containers": [{"name": "c", "image": "i"}]}},
}


class Bench:
    """An API with pods of one template: p0 is made and bound the long way, the others wait."""

    def __init__(self, api: Api) -> None:
        self.api = api

    async def stored(self, name: str) -> Stored:
        found = await self.api.store.get(f"/pods/default/{name}")
        assert found is not None
        return found

    async def bind(self, name: str, node: str = "node-1", **metadata: Any) -> None:
        binding = Binding(metadata=ObjectMeta(name=name, **metadata), target=ObjectReference(name=node))
        await bind_to(self.api, "default", name, binding)

    async def knows(self, name: str) -> bool:
        return await self.at_once(name) is not None

    async def at_once(self, name: str) -> object:
        stored = await self.stored(name)
        binding = Binding(target=ObjectReference(name="node-1"))
        return stored.template and stored.template.bind(stored, binding, self.api.now_text())


@asynccontextmanager
async def bound(document: dict[str, Any] = SPECS["short"]) -> AsyncIterator[Bench]:
    api = Api(MemoryStore(), gates_from({}), clock=lambda: AT)
    await api.start()
    await bootstrap(api, 443)
    bench = Bench(api)
    for number in range(4):
        raw = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, **copy_document(document)}
        await create(api, KINDS.POD, "default", raw, OPTIONS)
    await bench.bind("p0")
    await bench.bind("p1")  # the first that carries the template
    yield bench


@pytest.fixture
def bench() -> AbstractAsyncContextManager[Bench]:
    return bound()


@pytest.mark.parametrize("document", SPECS.values(), ids=list(SPECS))
async def test_what_is_stored_is_what_the_long_way_gives(document: dict[str, Any]) -> None:
    async with bound(document) as bench:
        before = await bench.stored("p2")
        await bench.bind("p2", 'no"de\\é')
        after = await bench.stored("p2")
        binding = Binding(target=ObjectReference(name='no"de\\é'))
        expected = bind_pod(decode(KINDS.POD, before), binding, NOW)
        expected["metadata"]["resourceVersion"] = str(after.revision)
        assert decode(KINDS.POD, after) == expected
        assert after.view == cached_view(KINDS.POD, convert_view(decode(KINDS.POD, after._replace(revision=0)), Pod))


async def test_pods_of_a_template_are_known_once_one_was_bound(bench: Bench) -> None:
    assert await bench.knows("p2")
    bench.api.clock = lambda: AT + 1
    assert await bench.at_once("p2") is None
    await bench.bind("p2")
    raw = decode(KINDS.POD, await bench.stored("p2"))
    assert raw["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-02T03:04:06Z"
    await bench.bind("p3")
    assert decode(KINDS.POD, await bench.stored("p3"))["status"] == raw["status"]


async def test_a_pod_that_was_touched_is_not_taken_for_its_template(bench: Bench) -> None:
    stored = await bench.stored("p2")
    value = stored.value.replace(b'"image":"i"', b'"image":"j"')
    await bench.api.store.update(stored.key, value, stored.revision, stored.view)
    assert not await bench.knows("p2")
    await bench.bind("p2")
    bound = decode(KINDS.POD, await bench.stored("p2"))
    assert (bound["spec"]["nodeName"], bound["spec"]["containers"][0]["image"]) == ("node-1", "j")


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"uid": "other"}, "Precondition failed: UID"),
        ({"resourceVersion": "1"}, "Precondition failed: ResourceVersion"),
    ],
)
async def test_preconditions_hold_on_both_ways(metadata: dict[str, str], said: str, bench: Bench) -> None:
    with pytest.raises(ApiError, match=said):
        await bench.bind("p2", **metadata)
    assert "nodeName" not in decode(KINDS.POD, await bench.stored("p2"))["spec"]


async def test_labels_and_annotations_of_a_binding_are_kept(bench: Bench) -> None:
    await bench.bind("p2", labels={"a": "1"}, annotations={"b": "2"})
    metadata = decode(KINDS.POD, await bench.stored("p2"))["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"a": "1"}, {"b": "2"})


async def test_a_pod_that_is_going_is_not_bound(bench: Bench) -> None:
    stored = await bench.stored("p2")
    value = stored.value.replace(b'{"metadata":{', b'{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z",', 1)
    metadata = msgspec.structs.replace(stored.view.metadata, deletionTimestamp=NOW)
    going = msgspec.structs.replace(stored.view, metadata=metadata)
    await bench.api.store.update(stored.key, value, stored.revision, going)
    with pytest.raises(ApiError, match="pod p2 is being deleted, cannot be assigned to a host"):
        await bench.bind("p2")


async def test_a_pod_is_bound_once(bench: Bench) -> None:
    await bench.bind("p2")
    with pytest.raises(ApiError, match='pod p2 is already assigned to node "node-1"'):
        await bench.bind("p2", "node-2")


async def test_a_binding_with_labels_ends_the_likeness(bench: Bench) -> None:
    await bench.bind("p2", labels={"a": "1"})
    await bench.bind("p3")
    assert (await bench.stored("p2")).template is None
    assert (await bench.stored("p3")).template is (await bench.stored("p1")).template is not None
    assert (await bench.stored("p0")).template is None  # it was alone when it came


REQUEST = Request(uid="u", timestamp="2025-01-01T00:00:00Z")


def templates(*plugins: Plugin, generation: Callable[[], int] = lambda: 0, limit: int = 4096) -> PodTemplates:
    def first(raw: Raw, request: Request, manager: str) -> Admitted:
        answer = admit(raw, None, default_gates(), plugins=plugins, request=request)
        if isinstance(answer, Rejected):
            raise ApiError(answer.status)
        return answer

    def still_admits(kind: Kind, raw: Raw) -> bool:
        return not isinstance(admit(raw, None, default_gates(), plugins=[one for one in plugins if one.live]), Rejected)

    return PodTemplates(first, still_admits, generation, limit)


def named(name: str, **metadata: Any) -> Raw:
    metadata |= {"name": name} if name else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **copy_document(SPECS["short"])}


def admitted(known: PodTemplates, raw: Raw, request: Request = REQUEST) -> Admitted:
    return known.admit(raw, request, "m")[0]


def test_pods_alike_share_all_but_their_metadata() -> None:
    known = templates()
    first, nothing = known.admit(named("a"), REQUEST, "m")
    second, template = known.admit(named("b.c"), REQUEST, "m")
    assert nothing is None
    assert template is not None
    assert second.object["spec"] is first.object["spec"]
    assert second.object["metadata"]["name"] == "b.c"
    assert second.object["metadata"] is not first.object["metadata"]
    assert second.view is not None
    assert len(second.warnings) == len(first.warnings) + 1
    assert msgspec.json.decode(template.encode(second.object["metadata"])) == second.object


def test_names_are_generated_for_each() -> None:
    known, raw = templates(), named("", generateName="run-")
    names = [
        admitted(known, raw, Request(name_suffix=suffix)).object["metadata"]["name"] for suffix in ("aaaaa", "bbbbb")
    ]
    assert names == ["run-aaaaa", "run-bbbbb"]


def test_a_new_generation_forgets() -> None:
    world = ObjectsWorld()
    version = 0

    known = templates(Priority(world), generation=lambda: version)
    assert admitted(known, named("a")).object["spec"]["priority"] == 0
    default = PriorityClass(metadata=ObjectMeta(name="high"), value=7, globalDefault=True)
    world.put_view(KINDS.PRIORITY_CLASS, default)
    assert admitted(known, named("b")).object["spec"]["priority"] == 0
    version = 1
    assert admitted(known, named("c")).object["spec"]["priority"] == 7


def test_live_plugins_are_asked_each_time() -> None:
    closed = False

    class Door(Plugin):
        live = True

        def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
            if closed:
                raise Forbidden("closed")

    known = templates(Door())
    admitted(known, named("a"))
    closed = True
    with pytest.raises(ApiError) as refusal:
        admitted(known, named("b"))
    assert refusal.value.message == 'pods "b" is forbidden: closed'
    closed = False
    admitted(known, named("b"))


def test_the_oldest_template_is_forgotten_first() -> None:
    known = templates(limit=1)
    for label, is_known in (("a", False), ("a", True), ("b", False), ("a", False)):
        _, template = known.admit(named("p", labels={"l": label}), REQUEST, "m")
        assert (template is not None) is is_known


def test_a_document_without_a_fingerprint_is_admitted_or_refused_all_the_same() -> None:
    huge = named("a")
    huge["spec"]["activeDeadlineSeconds"] = 2**70
    with pytest.raises(ApiError):
        admitted(templates(), huge)


def test_pods_of_a_template_are_still_checked_for_fields_that_it_does_not_have() -> None:
    known = templates()
    body = b'{"metadata":{"name":"%b"},"spec":{"containers":[{"name":"c","image":"i"%b}]}}'

    def warnings(name: bytes, more: bytes, validation: str = WARN) -> list[str]:
        raw, found, like = known.decode(body % (name, more), "default", "m", validation)
        known.admit(raw, REQUEST, "m", like)
        return found

    for _ in range(3):
        assert warnings(b"x", b"", STRICT) == []
        assert warnings(b"y", b',"odd":1') == ['unknown field "spec.containers[0].odd"']
        assert warnings(b"y", b',"image":"i"') == ['duplicate field "spec.containers[0].image"']
