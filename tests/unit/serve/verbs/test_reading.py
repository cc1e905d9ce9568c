"""Get and list: selections, pages of one revision, tokens, and revisions that are too old or too new."""

import base64
from typing import Any

import msgspec
import pytest
from tests.unit.serve.verbs.bench import document, make, refused

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.requests.options import ListOptions
from moorage.serve.resources.objects import name_in
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.reading import Page, get, known, list_page


async def five(api: Api) -> int:
    """Five objects, three of them odd; the revision of the last."""
    for number in range(1, 6):
        labels = {"odd": "yes"} if number % 2 else {}
        await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, f"n{number}", metadata={"labels": labels}))
    return api.store.revision


async def listed(api: Api, namespace: str = "default", **options: Any) -> Page:
    return await list_page(api, KINDS.CONFIG_MAP, namespace, msgspec.convert(options, ListOptions))


def names(page: Page) -> list[str]:
    return [name_in(item.key) for item in page.items]


async def test_one_object(api: Api) -> None:
    await five(api)
    assert name_in((await get(api, Ref(KINDS.CONFIG_MAP, "default", "n2"))).key) == "n2"
    assert await refused(get(api, Ref(KINDS.CONFIG_MAP, "default", "n9"))) == (404, 'configmaps "n9" not found')
    assert await refused(get(api, Ref(KINDS.CONFIG_MAP, "kube-system", "n2"))) == (404, 'configmaps "n2" not found')


SELECTED: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["n1", "n2", "n3", "n4", "n5"]),
    ({"labels": "odd"}, ["n1", "n3", "n5"]),
    ({"labels": "!odd"}, ["n2", "n4"]),
    ({"fields": "metadata.name=n3"}, ["n3"]),
    ({"fields": "metadata.name=n9"}, []),
    ({"fields": "metadata.name!=n3"}, ["n1", "n2", "n4", "n5"]),
    ({"fields": "metadata.name=n2", "labels": "odd"}, []),
    ({"fields": "metadata.name=n2,metadata.namespace=other"}, []),
    ({"limit": 2}, ["n1", "n2"]),
    ({"limit": 2, "labels": "odd"}, ["n1", "n3"]),
    ({"limit": 9}, ["n1", "n2", "n3", "n4", "n5"]),
    ({"resource_version": 1}, ["n1", "n2", "n3", "n4", "n5"]),
]


@pytest.mark.parametrize(("options", "wanted"), SELECTED)
async def test_what_is_listed(options: dict[str, Any], wanted: list[str], api: Api) -> None:
    last = await five(api)
    page = await listed(api, **options)
    assert (names(page), page.revision) == (wanted, last)
    assert names(await listed(api, "kube-public", **options)) == []


@pytest.mark.parametrize("labels", ["", "odd", "odd!=never"])
async def test_pages_are_of_one_revision(labels: str, api: Api) -> None:
    last = await five(api)
    wanted = names(await listed(api, labels=labels))
    page = await listed(api, labels=labels, limit=1)
    found = names(page)
    await delete(api, Ref(KINDS.CONFIG_MAP, "default", "n5"), DeleteOptions())
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "n1a"))
    while page.continues:
        page = await listed(api, labels=labels, limit=2, continues=page.continues)
        assert page.revision == last
        found += names(page)
    assert found == wanted


async def test_pages_carry_the_remaining_item_count_where_it_is_known(api: Api) -> None:
    await five(api)
    first = await listed(api, limit=2)
    assert first.remaining == 3
    assert (await listed(api, limit=3, continues=first.continues)) == (await listed(api))._replace(
        items=(await listed(api)).items[2:]
    )
    assert (await listed(api, limit=2, labels="odd")).remaining is None
    assert (await listed(api, limit=2, labels="!odd")).continues  # there may be more, nobody has looked
    assert not (await listed(api, limit=5)).continues


async def test_a_list_of_the_past(api: Api) -> None:
    last = await five(api)
    past = await listed(api, resource_version=last - 3, match="Exact")
    assert (names(past), past.revision) == (["n1", "n2"], last - 3)
    assert names(await listed(api, resource_version=last - 3, limit=9)) == ["n1", "n2"]
    assert len((await listed(api, resource_version=last - 3, match="NotOlderThan")).items) == 5


@pytest.mark.parametrize("match", ["", "NotOlderThan", "Exact"])
@pytest.mark.parametrize("fields", ["", "metadata.name=n1"])
async def test_nobody_is_shown_less_than_they_have_seen(match: str, fields: str, api: Api) -> None:
    last = await five(api)
    attempt = listed(api, resource_version=last + 1, match=match, fields=fields)
    assert await refused(attempt) == (410, f"Too large resource version: {last + 1}, current: {last}")
    await known(api, last)
    with pytest.raises(ApiError, match="Too large"):
        await known(api, last + 1)


async def test_a_past_that_is_forgotten(api: Api) -> None:
    last = await five(api)
    page = await listed(api, limit=2)
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "n6"))
    await api.store.compact(last + 1)
    gone = listed(api, resource_version=last - 2, match="Exact")
    assert await refused(gone) == (410, "The resourceVersion for the provided list is too old.")
    with pytest.raises(ApiError, match="The provided continue parameter is too old") as refusal:
        await listed(api, limit=2, continues=page.continues)
    assert (refusal.value.code, refusal.value.reason) == (410, "Expired")
    on = refusal.value.status["metadata"]["continue"]
    assert names(await listed(api, continues=on)) == ["n3", "n4", "n5", "n6"]


async def test_a_list_in_pages_goes_on_for_five_minutes_also_of_a_kind_that_does_not_change(api: Api) -> None:
    await five(api)
    now = 1000.0
    api.clock = lambda: now
    page = await listed(api, limit=2)
    await make(api, KINDS.SECRET, document(KINDS.SECRET, "other"))  # the revision goes on, ConfigMaps do not
    for _ in range(15):
        assert names(await listed(api, limit=2, continues=page.continues)) == ["n3", "n4"]
        now += 20
    now += 20
    with pytest.raises(ApiError, match="The provided continue parameter is too old") as refusal:
        await listed(api, limit=2, continues=page.continues)
    on = refusal.value.status["metadata"]["continue"]
    rest = await listed(api, limit=2, continues=on)
    assert (names(rest), rest.remaining, rest.revision) == (["n3", "n4"], 1, page.revision + 1)
    assert names(await listed(api, limit=2, continues=rest.continues)) == ["n5"]


def token(**fields: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(fields)).decode().rstrip("=")


V1 = "meta.k8s.io/v1"
BAD_TOKENS = [
    ("?", ""),
    ("bm90IGpzb24", ""),
    (token(v="other", rv=1, start="a"), ": server does not recognize this encoded version other"),
    (token(v=V1, rv=0, start="a"), f": incorrect encoded start resourceVersion (version {V1})"),
    (token(v=V1, rv=1, start=""), f": encoded start key empty (version {V1})"),
    (token(v=V1, rv=1, start="a\0"), ": a\0"),
]


@pytest.mark.parametrize(("text", "why"), BAD_TOKENS)
async def test_invalid_continue_tokens_are_refused(text: str, why: str, api: Api) -> None:
    said = f"invalid continue token: continue key is not valid{why}"
    assert await refused(listed(api, continues=text)) == (400, said)


@pytest.mark.parametrize("options", [{"labels": "a in"}, {"fields": "a=b"}, {"fields": "a"}])
async def test_invalid_selectors_are_refused(options: dict[str, Any], api: Api) -> None:
    assert (await refused(listed(api, **options)))[0] == 400
