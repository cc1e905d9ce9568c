"""What is read of a live cluster, and what is made of a server that does not tell everything."""

import asyncio
import gc
import weakref
from typing import Any

import pytest
from tests.laws.random_worlds import definition, made_before, widget
from tests.objects import node, pod
from tests.unit.plan.planning import workload, written

from moorage.client.protocol import Listing, Unreachable
from moorage.lint.finding import Severity
from moorage.model.api_error import ApiError, forbidden, no_such_path
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.live_cluster import DEFINITIONS, LiveCluster, Missing, NoLiveCluster, load_live, read_objects
from moorage.plan.planner import Planner, Settings
from moorage.plan.report.markdown import MarkdownReport
from moorage.plan.report.plain import as_json, plain
from moorage.plan.report.text import TextReport
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore

SERVER = "https://example.com"


class _Reserved(LoopbackClient):
    """Says of some kinds that it has none, or does not tell."""

    def __init__(self, api: Api, refusals: dict[str, Exception]) -> None:
        super().__init__(api, "test")
        self.refusals = refusals

    async def list_all(self, facts: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        if facts.name in self.refusals:
            raise self.refusals[facts.name]
        return await super().list_all(facts, namespace, labels=labels, fields=fields)


def _read(**refusals: Exception) -> tuple[list[dict[str, Any]], list[Missing]]:
    async def story() -> tuple[list[dict[str, Any]], list[Missing]]:
        api = Api(MemoryStore(), default_gates())
        await api.start()
        await bootstrap(api, 443)
        client = _Reserved(api, refusals)
        await client.create(KINDS.NODE, {"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "2", "pods": "9"}}})
        pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        await client.create(KINDS.POD, pod)
        await client.create(KINDS.SECRET, {"metadata": {"name": "s", "namespace": "default"}})
        try:
            found = await read_objects(client, SERVER)
            return found.objects, found.missing
        finally:
            await api.store.close()

    return asyncio.run(story())


def _forbidden(plural: str) -> ApiError:
    return forbidden(KINDS.STORAGE_CLASS, "", f"you may not list {plural}")


def test_all_that_matters_is_read_and_secrets_are_not() -> None:
    objects, missing = _read()
    kinds = {(raw["apiVersion"], raw["kind"]) for raw in objects}
    assert {("v1", "Node"), ("v1", "Pod"), ("v1", "Namespace")} <= kinds
    assert "Secret" not in {kind for _, kind in kinds}
    assert missing == []


def test_what_the_server_does_not_have_or_tell_is_noted() -> None:
    objects, missing = _read(CSINode=no_such_path(), StorageClass=_forbidden("storageclasses"))
    assert missing[0].kind == "StorageClass"
    assert "you may not list storageclasses" in missing[0].reason
    assert missing[1] == Missing("CSINode", "there is no such kind on the server")
    planner = Planner(Settings(default_gates()))
    load_live(planner, LiveCluster(SERVER, "default", objects, missing))
    notes = [str(note) for note in planner.inventory.notes]
    assert "CSINode: was not read: there is no such kind on the server" in notes
    assert {key.kind for key in planner.inventory.items} >= {"Node", "Pod"}
    assert all(item.existing for item in planner.inventory.of_kind("Node", "Pod"))


def test_a_claim_that_the_cluster_lacks_is_not_one_that_kubectl_could_print() -> None:
    claimed = {"name": "v", "persistentVolumeClaim": {"claimName": "lost"}}
    planner = Planner(Settings(default_gates()))
    load_live(planner, LiveCluster(SERVER, "default", [node("n1"), pod("a", volumes=[claimed])], []))
    planner.build()
    notes = [str(note) for note in planner.inventory.notes]
    assert "Pod default/a: uses claim lost, which is not in the cluster" in notes


def test_a_live_plan_names_workloads_and_not_the_address_of_the_server() -> None:
    claimed = {"name": "v", "persistentVolumeClaim": {"claimName": "lost"}}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "default"}}
    objects = [
        node("n1"),
        pod("a", volumes=[claimed]),
        quota | {"spec": {"hard": {"pods": "1"}}, "status": {"hard": {"pods": "1"}, "used": {"pods": "1"}}},
        workload("Deployment", "web", replicas=2),
    ]
    planner = Planner(Settings(default_gates()))
    load_live(planner, LiveCluster(SERVER, "default", [*map(made_before, objects)], [Missing("Job", "forbidden")]))
    outcome = planner.plan(planner.build())
    text = "\n".join(TextReport().lines(outcome))
    assert "Deployment default/web  0 of 2 pods exist; 2 are refused" in text
    for form in (text, "\n".join(MarkdownReport().lines(outcome)), as_json(plain(outcome))):
        assert "example.com" not in form


def test_a_manifest_that_stands_in_the_cluster_already_is_said_to_be_there() -> None:
    planner = Planner(Settings(default_gates()))
    load_live(planner, LiveCluster(SERVER, "default", [node("n1"), made_before(pod("a"))], []))
    planner.load(written(pod("a", nodeSelector={"a": "b"})))
    (note,) = [note for note in planner.inventory.notes if note.object == "Pod default/a"]
    assert "(as an update of the one in the cluster, which stays as it is)" in note.message


def test_custom_objects_are_judged_by_the_definitions_of_the_cluster() -> None:
    planner = Planner(Settings(default_gates()))
    load_live(planner, LiveCluster(SERVER, "default", [node("n1"), definition()], []))
    planner.load(written(widget("big", 7, "default")))
    (note,) = [note for note in planner.inventory.notes if note.level is Severity.ERROR]
    assert "spec.size" in note.message
    assert DEFINITIONS == (KINDS.CUSTOM_RESOURCE_DEFINITION,)


@pytest.mark.parametrize(
    ("refusals", "said"),
    [
        ({"Pod": _forbidden("pods")}, "https://example.com: pods cannot be listed: "),
        ({"Job": ApiError({"code": 500, "message": "broken"})}, "https://example.com: jobs cannot be listed: broken"),
        ({"Node": Unreachable("no route")}, "https://example.com: the API server cannot be reached: no route"),
        (
            {"Node": Unreachable("https://example.com: no route")},
            "https://example.com: the API server cannot be reached: no route",
        ),
    ],
)
def test_a_cluster_that_cannot_be_seen_is_none(refusals: dict[str, Exception], said: str) -> None:
    with pytest.raises(NoLiveCluster) as caught:
        _read(**refusals)
    assert str(caught.value).startswith(said)


def test_objects_without_a_namespace_are_where_the_context_is(tmp_path: Any) -> None:
    from moorage.lint.sources import sources_of

    manifest = tmp_path / "pod.yaml"
    manifest.write_text("{apiVersion: v1, kind: Pod, metadata: {name: new}, spec: {containers: [{name: c, image: x}]}}")
    planner = Planner(Settings(default_gates(), namespace="shop"))
    planner.load(sources_of([str(manifest)]))
    (item,) = planner.inventory.of_kind("Pod")
    assert (item.key.namespace, item.raw["metadata"]["namespace"]) == ("shop", "shop")
    assert planner.inventory.copy().namespace == "shop"


def test_an_inventory_is_freed_without_garbage_collection() -> None:
    """The dashboard's simulator reads a cluster again and again, in a process that collects no garbage."""
    objects = [node("n1"), pod("p")]
    gc.disable()
    try:
        planner = Planner(Settings(default_gates()))
        planner.load_objects(objects)
        inventory = weakref.ref(planner.inventory)
        del planner
        assert inventory() is None
    finally:
        gc.enable()
