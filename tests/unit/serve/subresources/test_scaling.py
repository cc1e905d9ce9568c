"""Scale: read, put, patched and applied; the workload follows, and its entries say who did it."""

import asyncio
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import DRY, ME, Raw, deployment, make, pod, read, refused, shown, write_late

from moorage.model.kinds import KINDS, Ref
from moorage.serve.requests.options import WriteOptions
from moorage.serve.subresources.scale import get_scale, patch_scale, put_scale
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.patching import APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE, Patch, patch_object


def scale(replicas: Any, kind: str = "Scale", **metadata: Any) -> Raw:
    said = {"name": "web", **metadata}
    return {"apiVersion": "autoscaling/v1", "kind": kind, "metadata": said, "spec": {"replicas": replicas}}


async def replicas(api: Api) -> int:
    found = await read(api, KINDS.DEPLOYMENT, "web")
    assert found is not None
    return int(found["spec"]["replicas"])


WHERE = Ref(KINDS.DEPLOYMENT, "default", "web")


async def test_a_scale_is_read(api: Api) -> None:
    await make(api, KINDS.DEPLOYMENT, deployment("web", 3))
    found = await get_scale(api, WHERE)
    assert (found["kind"], found["spec"], found["status"]["selector"]) == ("Scale", {"replicas": 3}, "app=web")
    missing = get_scale(api, Ref(KINDS.DEPLOYMENT, "default", "nobody"))
    assert await refused(missing) == (404, 'deployments.apps "nobody" not found')


@pytest.mark.parametrize("options", [ME, DRY])
@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("", scale(5)),
        (MERGE_PATCH, {"spec": {"replicas": 5}}),
        (JSON_PATCH, [{"op": "replace", "path": "/spec/replicas", "value": 5}]),
    ],
)
async def test_a_scale_is_written(language: str, said: Any, options: WriteOptions, api: Api) -> None:
    await make(api, KINDS.DEPLOYMENT, deployment("web", 3))
    asked = repr(said)
    write = (
        patch_scale(api, WHERE, Patch(language, said), options) if language else put_scale(api, WHERE, said, options)
    )
    assert (await write)["spec"] == {"replicas": 5}
    assert await replicas(api) == (3 if options.dry_run else 5)
    assert repr(said) == asked


STALE = "the object has been modified; please apply your changes to the latest version and try again"
NEGATIVE = "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
REFUSED: list[tuple[Raw, int, str]] = [
    (scale(-1), 422, f'Scale.autoscaling "web" is invalid: {NEGATIVE}'),
    (scale(5, name="api"), 400, "the name of the object (api) does not match the name on the URL (web)"),
    (
        scale(5, namespace="other"),
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    ),
    (
        scale(5, "Deployment"),
        400,
        'Deployment in version "v1" cannot be handled as a Scale: no kind "Deployment" is registered for version '
        '"autoscaling/v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
    ),
    (scale(5, resourceVersion="1"), 409, f'Operation cannot be fulfilled on deployments.apps "web": {STALE}'),
    (
        scale("many"),
        400,
        'Scale in version "v1" cannot be handled as a Scale: '
        "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32",
    ),
]


@pytest.mark.parametrize(("said", "code", "answer"), REFUSED)
async def test_what_scales_nothing(said: Raw, code: int, answer: str, api: Api) -> None:
    await make(api, KINDS.DEPLOYMENT, deployment("web", 3))
    assert await refused(put_scale(api, WHERE, said, ME)) == (code, answer)
    assert await replicas(api) == 3


async def test_a_scale_is_applied(api: Api) -> None:
    await make(api, KINDS.DEPLOYMENT, deployment("web", 3))
    you, forced = WriteOptions("you"), WriteOptions("you", force=True)
    said = 'Apply failed with 1 conflict: conflict with "me" using apps/v1: .spec.replicas'
    assert await refused(patch_scale(api, WHERE, Patch(APPLY, scale(5)), you)) == (409, said)
    assert (await patch_scale(api, WHERE, Patch(APPLY, scale(5)), forced))["spec"] == {"replicas": 5}
    found = await read(api, KINDS.DEPLOYMENT, "web")
    assert found is not None
    (yours,) = (entry for entry in found["metadata"]["managedFields"] if entry["manager"] == "you")
    assert (yours["operation"], yours["subresource"]) == ("Apply", "scale")
    assert yours["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
    assert await refused(patch_scale(api, WHERE, Patch(APPLY, scale(-1)), forced)) == (
        422,
        f'Scale.autoscaling "web" is invalid: {NEGATIVE}',
    )
    other = patch_scale(api, WHERE, Patch(APPLY, scale(5, "Deployment")), forced)
    assert (await refused(other))[0] == 400
    assert await replicas(api) == 5


@pytest.mark.parametrize("language", [MERGE_PATCH, JSON_PATCH, APPLY])
async def test_concurrent_patches_of_a_scale_are_retried(language: str, api: Api) -> None:
    await make(api, KINDS.DEPLOYMENT, deployment("web", 1))
    write_late(api)

    def patch(count: int) -> Any:
        if language == JSON_PATCH:
            return [{"op": "replace", "path": "/spec/replicas", "value": count}]
        return scale(count) if language == APPLY else {"spec": {"replicas": count}}

    force = True if language == APPLY else None
    patches = [
        patch_scale(api, WHERE, Patch(language, patch(count)), WriteOptions(f"client-{count}", force=force))
        for count in range(2, 74)
    ]
    counts = [answer["spec"]["replicas"] for answer in await asyncio.gather(*patches)]
    assert counts == list(range(2, 74))


async def test_a_patch_of_a_scale_that_names_an_old_revision_is_refused(api: Api) -> None:
    made = await make(api, KINDS.DEPLOYMENT, deployment("web", 1))
    patch = {"metadata": {"resourceVersion": str(made.stored.revision)}, "spec": {"replicas": 2}}
    first, second = (patch_scale(api, WHERE, Patch(MERGE_PATCH, patch), ME) for _ in range(2))
    assert (await first)["spec"] == {"replicas": 2}
    assert (await refused(second))[0] == 409


@pytest.mark.parametrize("subresource", ["status", "ephemeralcontainers", "resize"])
async def test_concurrent_patches_of_other_subresources_are_retried(subresource: str, api: Api) -> None:
    made = pod("p")
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    await make(api, KINDS.POD, made)
    where = Ref(KINDS.POD, "default", "p")
    write_late(api)

    def patch(number: int) -> Raw:
        if subresource == "status":
            return {"status": {"conditions": [{"type": f"example.com/c{number}", "status": "True"}]}}
        if subresource == "resize":
            requests = {"resources": {"requests": {"cpu": f"{number + 1}m"}}}
            return {"spec": {"containers": [{"name": "c", **requests}]}}
        return {"spec": {"ephemeralContainers": [{"name": f"debug-{number}", "image": "busybox"}]}}

    patches = (patch_object(api, where, Patch(STRATEGIC_MERGE, patch(n)), ME, subresource) for n in range(30))
    written = [shown(KINDS.POD, outcome) for outcome in await asyncio.gather(*patches)]
    assert len({stored["metadata"]["resourceVersion"] for stored in written}) == 30
