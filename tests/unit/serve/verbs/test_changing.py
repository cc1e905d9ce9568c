"""Change: PUT and what it insists on, changes that race, changes that are none, and the last finalizer."""

from typing import Any

import pytest
from tests.unit.serve.verbs.bench import DRY, ME, Raw, document, make, meddle, read, refused, shown

from moorage.admit.extension.steps import Steps
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import Admitting, Change, Changed, admit_change, change, replace
from moorage.serve.verbs.deleting import delete

STALE = "the object has been modified; please apply your changes to the latest version and try again"


def settings(**metadata: Any) -> Raw:
    return document(KINDS.CONFIG_MAP, "one", metadata=metadata, data={"a": "2"})


async def test_a_document_replaces_another(api: Api) -> None:
    made = shown(
        KINDS.CONFIG_MAP, await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", data={"a": "1"}))
    )
    outcome = await replace(api, Ref(KINDS.CONFIG_MAP, "default", "one"), settings(), ME, warnings=["careful"])
    found = await read(api, KINDS.CONFIG_MAP, "one")
    assert found is not None
    assert (found["data"], list(outcome.warnings)) == ({"a": "2"}, ["careful"])
    assert (outcome.created, outcome.deleted) == (False, False)
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert int(found["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_a_change_that_changes_nothing_is_not_written(api: Api) -> None:
    made = await make(api, KINDS.CONFIG_MAP, settings())
    before = api.store.revision
    other_order = dict(reversed(settings().items()))
    outcome = await replace(api, Ref(KINDS.CONFIG_MAP, "default", "one"), other_order, ME)
    assert (api.store.revision, outcome.stored.value) == (before, made.stored.value)


async def test_a_dry_run_changes_nothing(api: Api) -> None:
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", data={"a": "1"}))
    before = api.store.revision
    outcome = await replace(api, Ref(KINDS.CONFIG_MAP, "default", "one"), settings(), DRY)
    assert shown(KINDS.CONFIG_MAP, outcome)["data"] == {"a": "2"}
    assert api.store.revision == before
    found = await read(api, KINDS.CONFIG_MAP, "one")
    assert found is not None
    assert found["data"] == {"a": "1"}


ON_ONE = 'Operation cannot be fulfilled on configmaps "one": '
REFUSED: list[tuple[str, Raw, int, str]] = [
    ("one", {"name": "two"}, 400, "the name of the object (two) does not match the name on the URL (one)"),
    ("one", {"name": ""}, 400, "the name of the object (one based on URL) was undeterminable: name must be provided"),
    ("one", {"resourceVersion": "1"}, 409, ON_ONE + STALE),
    (
        "one",
        {"resourceVersion": "new"},
        400,
        'strconv.ParseUint: parsing "new": invalid syntax',
    ),
    (
        "one",
        {"uid": "other"},
        409,
        ON_ONE + "Precondition failed: UID in precondition: other, UID in object meta: the-uid",
    ),
    ("nobody", {"name": "nobody"}, 404, 'configmaps "nobody" not found'),
]


@pytest.mark.parametrize(("name", "metadata", "code", "said"), REFUSED)
async def test_what_replaces_nothing(name: str, metadata: Raw, code: int, said: str, api: Api) -> None:
    api.new_uid = lambda: "the-uid"
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one"))
    before = api.store.revision
    attempt = replace(api, Ref(KINDS.CONFIG_MAP, "default", name), settings(**metadata), ME)
    assert await refused(attempt) == (code, said)
    assert api.store.revision == before


async def test_some_kinds_are_created_by_put(api: Api) -> None:
    lease = document(KINDS.LEASE, "l", metadata={"resourceVersion": "7"}, spec={"holderIdentity": "me"})
    assert (await replace(api, Ref(KINDS.LEASE, "default", "l"), lease, ME)).created
    uid = document(KINDS.LEASE, "m", metadata={"uid": "u"})
    why = "uid mismatch: the provided object specified uid u, and no existing object was found"
    code, said = await refused(replace(api, Ref(KINDS.LEASE, "default", "m"), uid, ME))
    assert (code, said) == (409, f'Operation cannot be fulfilled on leases.coordination.k8s.io "m": {why}')


async def test_some_kinds_are_changed_only_by_those_who_know_them(api: Api) -> None:
    made = await make(api, KINDS.LEASE, document(KINDS.LEASE, "l"))
    lease = document(KINDS.LEASE, "l", spec={"holderIdentity": "me"})
    code, said = await refused(replace(api, Ref(KINDS.LEASE, "default", "l"), lease, ME))
    assert code == 422
    assert said.endswith("metadata.resourceVersion: Invalid value: 0: must be specified for an update")
    lease["metadata"]["resourceVersion"] = str(made.stored.revision)
    assert (await replace(api, Ref(KINDS.LEASE, "default", "l"), lease, ME)).stored.revision > made.stored.revision


def adding(api: Api, expected: int | None) -> Change:
    """A change that adds a key."""

    def make_change(old: Raw, old_view: Any) -> Steps[Changed]:
        new = {**old, "data": {**old.get("data", {}), "added": "yes"}}
        return admit_change(api, Ref(KINDS.CONFIG_MAP, "default", "one"), new, old, expected, None, Admitting("me"))

    return make_change


@pytest.mark.parametrize("insists", [False, True])
async def test_a_change_that_races_is_made_again_unless_it_was_for_one_revision(insists: bool, api: Api) -> None:
    made = await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", data={"a": "1"}))
    meddle(api)
    expected = made.stored.revision if insists else None
    attempt = change(api, Ref(KINDS.CONFIG_MAP, "default", "one"), adding(api, expected))
    if insists:
        assert await refused(attempt) == (409, ON_ONE + STALE)
    else:
        assert shown(KINDS.CONFIG_MAP, await attempt)["data"] == {"a": "9", "added": "yes"}


@pytest.mark.parametrize("dry", [False, True])
async def test_an_object_goes_with_its_last_finalizer(dry: bool, api: Api) -> None:
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", metadata={"finalizers": ["a.b/c"]}))
    await delete(api, Ref(KINDS.CONFIG_MAP, "default", "one"), DeleteOptions())
    assert await read(api, KINDS.CONFIG_MAP, "one") is not None
    outcome = await replace(api, Ref(KINDS.CONFIG_MAP, "default", "one"), settings(), DRY if dry else ME)
    assert outcome.deleted is not dry
    assert (await read(api, KINDS.CONFIG_MAP, "one") is None) is not dry
