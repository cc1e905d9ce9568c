"""Finalize: a namespace goes when nothing holds it any more, and not before it is deleted."""

import pytest
from tests.unit.serve.verbs.bench import Raw, document, make, read, refused

from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.requests.options import WriteOptions
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.deleting import delete, finalize


def finalizers(*names: str) -> Raw:
    return document(KINDS.NAMESPACE, "mine", spec={"finalizers": list(names)})


@pytest.mark.parametrize("dry", [False, True])
async def test_an_empty_namespace_goes(dry: bool, api: Api) -> None:
    await make(api, KINDS.NAMESPACE, document(KINDS.NAMESPACE, "mine"))
    await delete(api, Ref(KINDS.NAMESPACE, "", "mine"), DeleteOptions())
    kept, _ = await finalize(api, "mine", finalizers("kubernetes", "a.b/c"))
    assert kept["spec"]["finalizers"] == ["kubernetes", "a.b/c"]
    assert kept["status"]["phase"] == "Terminating"
    assert (await finalize(api, "mine", finalizers(), WriteOptions(dry_run=dry)))[0]["metadata"]["name"] == "mine"
    assert (await read(api, KINDS.NAMESPACE, "mine") is None) is not dry


async def test_a_namespace_that_is_not_deleted_stays(api: Api) -> None:
    await make(api, KINDS.NAMESPACE, document(KINDS.NAMESPACE, "mine"))
    await finalize(api, "mine", finalizers())
    assert await read(api, KINDS.NAMESPACE, "mine") is not None
    stale = finalizers()
    stale["metadata"]["resourceVersion"] = "1"
    assert (await refused(finalize(api, "mine", stale)))[0] == 409
    said = "the name of the object (mine) does not match the name on the URL (nobody)"
    assert await refused(finalize(api, "nobody", finalizers())) == (400, said)
    nobody = document(KINDS.NAMESPACE, "nobody", spec={})
    assert await refused(finalize(api, "nobody", nobody)) == (404, 'namespaces "nobody" not found')
    assert (await refused(finalize(api, "mine", document(KINDS.NAMESPACE, "mine", spec=7))))[0] == 400
