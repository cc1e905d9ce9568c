"""What any transport promises about objects: create, read, change, delete, and what is refused."""

import asyncio

import pytest
from tests.contract.client.transports import config_map, pod, revision_in

import moorage.client.http_client
from moorage.client.protocol import Client, PatchType, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time


async def test_what_is_created_can_be_read(client: Client) -> None:
    document = pod("web")
    made = await client.create(KINDS.POD, document)
    assert document == pod("web")  # what was given is the giver's still
    assert (made.key, made.name, made.namespace) == ("default/web", "web", "default")
    assert made.revision > 0
    assert revision_in(made) == str(made.revision)
    assert made.uid == made.raw["metadata"]["uid"]
    assert made.raw["spec"]["restartPolicy"] == "Always"
    assert made.view.spec.restartPolicy == "Always"
    assert made.view.metadata.uid == made.uid
    assert made.raw["metadata"]["managedFields"][0]["manager"] == "moorage-test"
    found = await client.get(KINDS.POD, "web", "default")
    assert (found.raw, found.revision, found.uid) == (made.raw, made.revision, made.uid)


async def test_objects_without_a_namespace(client: Client) -> None:
    metadata = {"name": "n1", "namespace": "dropped"}
    made = await client.create(KINDS.NODE, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    assert (made.key, made.namespace) == ("n1", "")
    listing = await client.list_all(KINDS.NODE)
    assert [item.key for item in listing.items] == ["n1"]
    status = {"status": {"capacity": {"cpu": "4"}}}
    patched = await client.patch(KINDS.NODE, "n1", "", status, subresource="status")
    assert patched.raw["status"]["capacity"] == {"cpu": "4"}
    await client.delete(KINDS.NODE, "n1")
    assert (await client.list_all(KINDS.NODE)).items == []


async def test_names_can_be_generated(client: Client) -> None:
    document = pod("")
    document["metadata"] = {"generateName": "web-"}
    names = {(await client.create(KINDS.POD, document, "default")).name for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("web-") for name in names)


async def test_an_update_replaces_and_a_stale_one_is_a_conflict(client: Client) -> None:
    made = await client.create(KINDS.CONFIG_MAP, config_map("c", a="1"))
    changed = await client.update(KINDS.CONFIG_MAP, {**made.raw, "data": {"a": "2"}})
    assert changed.revision > made.revision
    assert made.raw["data"] == {"a": "1"}
    with pytest.raises(ApiError) as refusal:
        await client.update(KINDS.CONFIG_MAP, {**made.raw, "data": {"a": "3"}})
    assert (refusal.value.code, refusal.value.reason) == (409, "Conflict")
    unconditional = await client.update(KINDS.CONFIG_MAP, config_map("c", b="1"))
    assert unconditional.raw["data"] == {"b": "1"}


@pytest.mark.parametrize(
    ("patch_type", "patch", "data"),
    [
        (PatchType.JSON, [{"op": "add", "path": "/data/b", "value": "2"}], {"a": "1", "b": "2"}),
        (PatchType.MERGE, {"data": {"a": None, "b": "2"}}, {"b": "2"}),
        (PatchType.STRATEGIC, {"data": {"$patch": "replace", "b": "2"}}, {"b": "2"}),
        (PatchType.APPLY, config_map("c", b="2"), {"a": "1", "b": "2"}),
    ],
)
async def test_patches_of_every_kind(
    patch_type: PatchType, patch: object, data: dict[str, str], client: Client
) -> None:
    made = await client.create(KINDS.CONFIG_MAP, config_map("c", a="1"))
    changed = await client.patch(KINDS.CONFIG_MAP, "c", "default", patch, patch_type=patch_type)  # type: ignore[arg-type]
    assert changed.raw["data"] == data
    assert changed.revision > made.revision
    assert (await client.get(KINDS.CONFIG_MAP, "c", "default")).raw["data"] == data


async def test_apply_creates_what_is_not_there(client: Client) -> None:
    made = await client.patch(KINDS.CONFIG_MAP, "c", "default", config_map("c", a="1"), patch_type=PatchType.APPLY)
    entry = made.raw["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("moorage-test", "Apply")


async def test_status_and_scale_are_apart(client: Client) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "replicas": 2}
    metadata = {"name": "d", "namespace": "default"}
    made = await client.create(
        KINDS.DEPLOYMENT, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    )
    status = await client.update(
        KINDS.DEPLOYMENT, {**made.raw, "spec": {**spec, "replicas": 9}, "status": {"replicas": 1}}, subresource="status"
    )
    assert (status.raw["spec"]["replicas"], status.raw["status"]["replicas"]) == (2, 1)
    scaled = await client.patch(KINDS.DEPLOYMENT, "d", "default", {"spec": {"replicas": 5}}, subresource="scale")
    assert (scaled.raw["kind"], scaled.raw["spec"]) == ("Scale", {"replicas": 5})
    assert scaled.key == "default/d"
    assert (await client.get(KINDS.DEPLOYMENT, "d", "default")).revision == scaled.revision


async def test_a_delete_can_insist_on_the_object_it_means(client: Client) -> None:
    made = await client.create(KINDS.CONFIG_MAP, config_map("c"))
    with pytest.raises(ApiError) as refusal:
        await client.delete(KINDS.CONFIG_MAP, "c", "default", uid="another")
    assert (refusal.value.code, refusal.value.reason) == (409, "Conflict")
    changed = await client.patch(KINDS.CONFIG_MAP, "c", "default", {"data": {"a": "b"}})
    with pytest.raises(ApiError) as refusal:
        await client.delete(KINDS.CONFIG_MAP, "c", "default", uid=made.uid, revision=made.revision)
    assert (refusal.value.code, refusal.value.reason) == (409, "Conflict")
    await client.delete(KINDS.CONFIG_MAP, "c", "default", revision=changed.revision)
    made = await client.create(KINDS.CONFIG_MAP, config_map("c"))
    await client.delete(KINDS.CONFIG_MAP, "c", "default", uid=made.uid, grace_seconds=0, propagation="Background")
    with pytest.raises(ApiError) as refusal:
        await client.delete(KINDS.CONFIG_MAP, "c", "default")
    assert (refusal.value.code, refusal.value.reason) == (404, "NotFound")


async def test_lists_by_namespace_and_selector(client: Client) -> None:
    for name, tier in (("a", "web"), ("b", "db"), ("c", "web")):
        await client.create(KINDS.POD, pod(name, {"tier": tier}))
    await client.create(KINDS.CONFIG_MAP, config_map("x"))
    last = await client.create(KINDS.CONFIG_MAP, config_map("x", "kube-system"))
    everything = await client.list_all(KINDS.CONFIG_MAP)
    assert {item.key for item in everything.items} >= {"default/x", "kube-system/x"}
    assert everything.revision >= last.revision
    assert [item.key for item in (await client.list_all(KINDS.CONFIG_MAP, "default")).items] == ["default/x"]
    found = await client.list_all(KINDS.POD, labels="tier in (web)", fields="metadata.name!=a")
    assert [item.name for item in found.items] == ["c"]
    assert found.items[0].raw["kind"] == "Pod"
    assert found.items[0].raw == (await client.get(KINDS.POD, "c", "default")).raw


async def test_a_list_is_whole_and_of_one_revision_however_many_pages_it_takes(
    monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    monkeypatch.setattr(moorage.client.http_client, "PAGE_SIZE", 7)
    names = [f"c{number:03d}" for number in range(50)]
    await asyncio.gather(*(client.create(KINDS.CONFIG_MAP, config_map(name)) for name in names))

    async def disturb() -> None:
        for number in range(30):
            await client.create(KINDS.CONFIG_MAP, config_map(f"c{number:03d}-later"))

    task = asyncio.create_task(disturb())
    listing = await client.list_all(KINDS.CONFIG_MAP, "default")
    await task
    found = [item.name for item in listing.items if not item.name.endswith("later")]
    assert found == names
    assert all(item.revision <= listing.revision for item in listing.items)


async def test_both_apis_of_events_show_one_event(client: Client) -> None:
    involved = {"kind": "Pod", "name": "web", "namespace": "default"}
    document = {
        "metadata": {"name": "web.1", "namespace": "default"},
        "involvedObject": involved,
        "message": "hello",
        "reason": "Hello",
        "type": "Normal",
    }
    made = await client.create(KINDS.EVENT, document)
    assert made.view.message == "hello"
    found = await client.get(KINDS.REPORTED_EVENT, "web.1", "default")
    assert (found.raw["note"], found.view.note) == ("hello", "hello")
    assert found.raw["regarding"] == involved


async def test_a_closed_client_says_so(client: Client) -> None:
    await client.close()
    with pytest.raises(Unreachable):
        await client.get(KINDS.POD, "web", "default")
    with pytest.raises(Unreachable):
        await anext(client.watch(KINDS.POD, 1))
