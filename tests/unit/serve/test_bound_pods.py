"""Whether a pod is bound at once or the long way, the same is stored."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest

from moorage.admit.subresources.binding import bind_pod
from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.pod import Pod
from moorage.model.types.subresource import Binding
from moorage.serve.api import Api
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.options import WriteOptions
from moorage.serve.resources.objects import cached_view, decode
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.pods import bind_to
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Stored

POD = KINDS["v1", "Pod"]
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
        binding = Binding(target=ObjectReference(name="node-1"))
        return self.api.bound_pods.bind(await self.stored(name), binding, NOW) is not None


@asynccontextmanager
async def bound(document: dict[str, Any] = SPECS["short"]) -> AsyncIterator[Bench]:
    api = Api(MemoryStore(), gates_from({}), clock=lambda: AT)
    await api.start()
    await bootstrap(api, 443)
    bench = Bench(api)
    for number in range(4):
        raw = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, **document}
        await create(api, POD, "default", raw, OPTIONS)
    await bench.bind("p0")
    await bench.bind("p1")  # the first of the template that came to be by way of the memo
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
        expected = bind_pod(decode(POD, before), binding, NOW)
        expected["metadata"]["resourceVersion"] = str(after.revision)
        assert decode(POD, after) == expected
        assert after.view == cached_view(POD, convert_view(decode(POD, after._replace(revision=0)), Pod))


async def test_pods_of_a_template_are_known_once_one_was_bound(bench: Bench) -> None:
    assert await bench.knows("p2")
    bench.api.clock = lambda: AT + 1
    binding = Binding(target=ObjectReference(name="node-1"))
    assert bench.api.bound_pods.bind(await bench.stored("p2"), binding, bench.api.now_text()) is None
    await bench.bind("p2")
    raw = decode(POD, await bench.stored("p2"))
    assert raw["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-02T03:04:06Z"
    await bench.bind("p3")
    assert decode(POD, await bench.stored("p3"))["status"] == raw["status"]


async def test_a_pod_that_was_touched_is_not_taken_for_its_template(bench: Bench) -> None:
    stored = await bench.stored("p2")
    value = stored.value.replace(b'"image":"i"', b'"image":"j"')
    await bench.api.store.update(stored.key, value, stored.revision, stored.view)
    assert not await bench.knows("p2")
    await bench.bind("p2")
    bound = decode(POD, await bench.stored("p2"))
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
    assert "nodeName" not in decode(POD, await bench.stored("p2"))["spec"]


async def test_labels_and_annotations_of_a_binding_are_kept(bench: Bench) -> None:
    await bench.bind("p2", labels={"a": "1"}, annotations={"b": "2"})
    metadata = decode(POD, await bench.stored("p2"))["metadata"]
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
