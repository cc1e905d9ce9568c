"""Delete: at once, in a while, not at all; collections; what the answer shows."""

from typing import Any

import pytest
from tests.unit.serve.verbs.bench import NOW, Raw, document, make, pod, read, refused, shown

from moorage.admit.subresources.deletion import read_delete_options
from moorage.model.kinds import KINDS, Ref
from moorage.serve.requests.options import ListOptions
from moorage.serve.resources.objects import name_in
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.deleting import delete, delete_collection, deleted_status

FINALIZED = {"finalizers": ["a.b/c"]}


def options(**said: Any) -> Any:
    return read_delete_options(said)


async def test_an_object_goes_at_once(api: Api) -> None:
    made = await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one"))
    outcome = await delete(api, Ref(KINDS.CONFIG_MAP, "default", "one"), options())
    assert outcome.deleted
    assert outcome.stored.revision == api.store.revision > made.stored.revision
    assert await read(api, KINDS.CONFIG_MAP, "one") is None
    again = delete(api, Ref(KINDS.CONFIG_MAP, "default", "one"), options())
    assert await refused(again) == (404, 'configmaps "one" not found')


async def test_an_object_waits_for_its_finalizers(api: Api) -> None:
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", metadata=FINALIZED))
    outcome = await delete(api, Ref(KINDS.CONFIG_MAP, "default", "one"), options())
    found = await read(api, KINDS.CONFIG_MAP, "one")
    assert found is not None
    assert (outcome.deleted, found) == (False, shown(KINDS.CONFIG_MAP, outcome))
    assert found["metadata"]["deletionTimestamp"] == NOW
    before = api.store.revision
    await delete(api, Ref(KINDS.CONFIG_MAP, "default", "one"), options())
    assert api.store.revision == before


async def test_a_bound_pod_gets_time(api: Api) -> None:
    running = pod("p")
    running["spec"]["nodeName"] = "n"
    await make(api, KINDS.POD, running)
    outcome = await delete(api, Ref(KINDS.POD, "default", "p"), options(gracePeriodSeconds=7))
    assert not outcome.deleted
    assert shown(KINDS.POD, outcome)["metadata"]["deletionGracePeriodSeconds"] == 7
    assert (await delete(api, Ref(KINDS.POD, "default", "p"), options(gracePeriodSeconds=0))).deleted


@pytest.mark.parametrize(("metadata", "deleted"), [({}, True), (FINALIZED, False)])
async def test_a_dry_run_deletes_nothing(metadata: Raw, deleted: bool, api: Api) -> None:
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", metadata=metadata))
    before = api.store.revision
    outcome = await delete(api, Ref(KINDS.CONFIG_MAP, "default", "one"), options(dryRun=["All"]))
    assert outcome.deleted is deleted
    assert ("deletionTimestamp" in shown(KINDS.CONFIG_MAP, outcome)["metadata"]) is not deleted
    assert api.store.revision == before


async def test_preconditions(api: Api) -> None:
    api.new_uid = lambda: "the-uid"
    made = await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one"))
    for wrong in ({"uid": "x"}, {"resourceVersion": "1"}, {"uid": "the-uid", "resourceVersion": "1"}):
        code, said = await refused(delete(api, Ref(KINDS.CONFIG_MAP, "default", "one"), options(preconditions=wrong)))
        assert (code, "in the precondition" in said) == (409, True)
    right = {"uid": "the-uid", "resourceVersion": str(made.stored.revision)}
    assert (await delete(api, Ref(KINDS.CONFIG_MAP, "default", "one"), options(preconditions=right))).deleted


async def test_the_namespaces_of_every_cluster_stay(api: Api) -> None:
    code, _ = await refused(delete(api, Ref(KINDS.NAMESPACE, "", "default"), options()))
    assert code == 403
    await make(api, KINDS.NAMESPACE, document(KINDS.NAMESPACE, "mine"))
    outcome = await delete(api, Ref(KINDS.NAMESPACE, "", "mine"), options())
    assert shown(KINDS.NAMESPACE, outcome)["status"]["phase"] == "Terminating"


COLLECTIONS: list[tuple[ListOptions, Raw, list[str]]] = [
    (ListOptions(), {}, []),
    (ListOptions(labels="a=1"), {}, ["two"]),
    (ListOptions(fields="metadata.name=two"), {}, ["one", "three"]),
    (ListOptions(limit=2), {}, ["two"]),
    (ListOptions(labels="a=3"), {}, ["one", "three", "two"]),
    (ListOptions(), {"dryRun": ["All"]}, ["one", "three", "two"]),
]


@pytest.mark.parametrize(("which", "said", "left"), COLLECTIONS)
async def test_a_collection(which: ListOptions, said: Raw, left: list[str], api: Api) -> None:
    for name, label in (("one", "1"), ("two", "2"), ("three", "1")):
        await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, name, metadata={"labels": {"a": label}}))
    page, _ = await delete_collection(api, KINDS.CONFIG_MAP, "default", which, options(**said))
    there = [name for name in ("one", "three", "two") if await read(api, KINDS.CONFIG_MAP, name) is not None]
    assert there == left
    if not said:
        assert sorted([*map(name_in, (item.key for item in page.items)), *left]) == ["one", "three", "two"]


async def test_a_collection_with_preconditions_stops_at_the_first_that_fails(api: Api) -> None:
    for name in ("one", "two"):
        await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, name))
    said = options(preconditions={"uid": "x"})
    code, _ = await refused(delete_collection(api, KINDS.CONFIG_MAP, "default", ListOptions(), said))
    assert (code, await read(api, KINDS.CONFIG_MAP, "one") is None) == (409, False)


async def test_the_answer_shows_a_pod_but_tells_of_others(api: Api) -> None:
    api.new_uid = lambda: "the-uid"
    one = await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one"))
    status = deleted_status(KINDS.CONFIG_MAP, one.stored)
    assert status is not None
    assert (status["kind"], status["status"]) == ("Status", "Success")
    assert status["details"] == {"name": "one", "kind": "configmaps", "uid": "the-uid"}
    assert deleted_status(KINDS.POD, (await make(api, KINDS.POD, pod("p"))).stored) is None
