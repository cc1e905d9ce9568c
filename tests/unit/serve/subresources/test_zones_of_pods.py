"""Pods get the zone and the region of their node as labels: when they are bound, and when they are created with one."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from moorage.admit.raw import Raw
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Ref
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.request import DeleteOptions
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import cached_view, decode
from moorage.serve.subresources.pods import bind
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.patching import Patch, patch_object
from moorage.store.memory import MemoryStore

OPTIONS = WriteOptions("tester")
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
CONTAINERS = [{"name": "c", "image": "i"}]


class Zones:
    """An API with a node in a zone, n1, and one without, n2."""

    def __init__(self, api: Api) -> None:
        self.api = api

    async def create_pod(self, name: str, spec: Raw | None = None, **metadata: Any) -> Raw:
        raw = {"metadata": {"name": name, **metadata}, "spec": {"containers": CONTAINERS, **(spec or {})}}
        await create(self.api, KINDS.POD, "default", raw, OPTIONS)
        return await self.labels(name)

    async def bind(self, name: str, node: str = "n1", kind: str = "Node", **metadata: Any) -> Raw:
        document = {"metadata": {"name": name, **metadata}, "target": {"kind": kind, "name": node}}
        await bind(self.api, "default", name, document)
        return await self.labels(name)

    async def labels(self, name: str) -> Raw:
        found = await self.api.store.get(f"/pods/default/{name}")
        assert found is not None
        raw = decode(KINDS.POD, found._replace(revision=0))
        assert found.view == cached_view(KINDS.POD, convert_view(raw, Pod))
        labels: Raw = raw["metadata"].get("labels", {})
        return labels


@asynccontextmanager
async def running() -> AsyncIterator[Zones]:
    store = MemoryStore()
    api = Api(store, default_gates())
    await api.start()
    await bootstrap(api, 443)
    for name, labels in (("n1", {ZONE: "z1", REGION: "r", "kubernetes.io/hostname": "n1"}), ("n2", {"a": "b"})):
        await create(api, KINDS.NODE, "", {"metadata": {"name": name, "labels": labels}}, OPTIONS)
    yield Zones(api)


@pytest.fixture
def zones() -> AbstractAsyncContextManager[Zones]:
    return running()


LABELS: dict[str, dict[str, Any]] = {
    "none": {},
    "some": {"labels": {"app": "a"}},
    "empty": {"labels": {}},
    "confusing": {"labels": {"labels": "x"}, "annotations": {"labels": '"labels":{', "x": '{"labels":{"a":"b"}}'}},
    "its own zone": {"labels": {ZONE: "elsewhere", "app": "a"}},
}


@pytest.mark.parametrize("metadata", LABELS.values(), ids=list(LABELS))
async def test_pods_of_one_template_get_the_zone_of_their_node(metadata: dict[str, Any], zones: Zones) -> None:
    for number in range(6):
        await zones.create_pod(f"p{number}", **metadata)
        node = "n2" if number == 4 else "n1"
        copied = {} if number == 4 else {ZONE: "z1", REGION: "r"}
        assert await zones.bind(f"p{number}", node) == {**metadata.get("labels", {}), **copied}


async def test_the_node_has_the_last_word_over_labels_of_the_binding(zones: Zones) -> None:
    await zones.create_pod("p", labels={"app": "a"})
    assert await zones.bind("p", labels={ZONE: "mine", "x": "y"}) == {"app": "a", "x": "y", ZONE: "z1", REGION: "r"}


@pytest.mark.parametrize(("node", "kind"), [("n1", ""), ("missing", "Node")])
async def test_no_labels_without_a_node_of_that_name_and_kind(node: str, kind: str, zones: Zones) -> None:
    await zones.create_pod("p")
    assert await zones.bind("p", node, kind) == {}


async def test_new_pods_that_name_their_node_get_its_zone(zones: Zones) -> None:
    wanted = {ZONE: "z1", REGION: "r"}
    assert await zones.create_pod("a", {"nodeName": "n1"}, labels={ZONE: "mine"}) == wanted
    assert await zones.create_pod("b", {"nodeName": "n2"}) == {}
    assert await zones.create_pod("c") == {}


async def test_a_node_that_moves_or_goes_is_noticed(zones: Zones) -> None:
    moved = Patch("application/merge-patch+json", {"metadata": {"labels": {ZONE: "z2", REGION: None}}})
    await patch_object(zones.api, Ref(KINDS.NODE, "", "n1"), moved, OPTIONS)
    assert await zones.create_pod("a", {"nodeName": "n1"}) == {ZONE: "z2"}
    await zones.create_pod("b")
    assert await zones.bind("b") == {ZONE: "z2"}
    await delete(zones.api, Ref(KINDS.NODE, "", "n1"), DeleteOptions())
    assert await zones.create_pod("c", {"nodeName": "n1"}) == {}


async def test_zones_of_nodes_are_known_after_a_restart(zones: Zones) -> None:
    again = Api(zones.api.store, default_gates())
    await again.start()
    assert again.directory.topology_of("n1") == {ZONE: "z1", REGION: "r"}
    assert again.directory.topology_of("n2") == {}
