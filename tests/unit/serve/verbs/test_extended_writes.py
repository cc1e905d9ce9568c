"""Creates and updates pass policies and webhooks: stand-ins for them see and change what Kubernetes shows them."""

from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import PlainWorld
from tests.unit.serve.custom.test_published import definition
from tests.unit.serve.verbs.bench import ME, deployment, document, make, pod, read, refused, shown
from tests.unit.serve.verbs.stand_ins import Asked, asked, extended_api

from moorage.admit.extension.steps import WebhookAnswer, WebhookCall
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.serve.requests.options import WriteOptions
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.patching import Patch, patch_object

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
__all__ = ["asked"]
CALL = WebhookCall("c", "w", None, {}, 1.0, False)


def _config(name: str = "one", **data: str) -> Raw:
    return document(KINDS.CONFIG_MAP, name, data=data)


def _label(raw: Raw) -> None:
    raw["metadata"].setdefault("labels", {})["seen"] = "yes"


async def test_a_new_object_is_changed_then_looked_at(asked: Asked) -> None:
    async with extended_api() as api:
        asked.changes.append(_label)
        outcome = await make(api, KINDS.CONFIG_MAP, _config(a="1"))
        assert shown(KINDS.CONFIG_MAP, outcome)["metadata"]["labels"] == {"seen": "yes"}
        assert outcome.warnings == ("looked at",)
        first, second = asked.mutations
        assert first.object is not None
        assert "uid" not in first.object["metadata"]
        assert (first.operation, first.name, first.namespace, first.old) == ("CREATE", "one", "default", None)
        assert first.resource == ("", "v1", "configmaps")
        assert first.kind == ("", "v1", "ConfigMap")
        assert first.user.name == "system:apiserver"
        assert first.options == {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}
        assert second.object is not None
        assert second.object["metadata"]["labels"] == {"seen": "yes"}
        (validation,) = asked.validations
        assert validation.object is not None
        assert {"uid", "creationTimestamp"} <= validation.object["metadata"].keys()


async def test_what_policies_set_has_no_owner(asked: Asked) -> None:
    async with extended_api() as api:
        asked.changes.append(_label)
        metadata = shown(KINDS.CONFIG_MAP, await make(api, KINDS.CONFIG_MAP, _config(a="1")))["metadata"]
        assert metadata["managedFields"][0]["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


async def test_generated_names_come_after_changes_and_before_refusals(asked: Asked) -> None:
    async with extended_api() as api:
        raw = pod("", generateName="web-")
        asked.changes.append(_label)
        outcome = await make(api, KINDS.POD, raw)
        assert {attributes.name for attributes in asked.mutations} == {""}
        (validation,) = asked.validations
        assert validation.name == shown(KINDS.POD, outcome)["metadata"]["name"] != "web-"


async def test_a_change_may_name_the_object(asked: Asked) -> None:
    async with extended_api() as api:
        asked.changes.append(lambda raw: raw["metadata"].update(name="chosen"))
        await make(api, KINDS.POD, pod("", generateName="web-"))
        assert await read(api, KINDS.POD, "chosen")


async def test_a_taken_name_is_generated_again_without_changes_made_again(asked: Asked) -> None:
    async with extended_api(suffixes=iter(["a", "a", "b"])) as api:
        for _ in range(2):
            await make(api, KINDS.POD, pod("", generateName="web-"))
    assert [attributes.name for attributes in asked.validations] == ["web-a", "web-a", "web-b"]
    assert len(asked.mutations) == 2


async def test_a_refusal_carries_the_warnings(asked: Asked) -> None:
    async with extended_api() as api:
        asked.refuses = lambda attributes: True
        with pytest.raises(ApiError) as error:
            await create(api, KINDS.CONFIG_MAP, "default", _config(), ME, ["earlier"])
        assert (error.value.message, error.value.warnings) == ("one refused", ("earlier", "looked at"))
        assert await read(api, KINDS.CONFIG_MAP, "one") is None


async def test_no_change_moves_an_object_to_another_namespace(asked: Asked) -> None:
    async with extended_api() as api:
        asked.changes.append(lambda raw: raw["metadata"].update(namespace="kube-system"))
        code, message = await refused(make(api, KINDS.CONFIG_MAP, _config()))
        assert code == 400
        assert "does not match the namespace sent on the request" in message


async def test_plugins_look_in_the_namespace_of_the_request(asked: Asked) -> None:
    async with extended_api() as api:
        asked.changes.append(lambda raw: raw["metadata"].update(namespace="nowhere"))
        code, message = await refused(make(api, KINDS.CONFIG_MAP, _config()))
        assert (code, "not found" in message) == (400, False)
        seen = [each.object["metadata"]["namespace"] for each in asked.mutations if each.object]
        assert seen == ["default", "nowhere"]


async def test_an_update_shows_metadata_as_they_were_sent(asked: Asked) -> None:
    async with extended_api() as api:
        await make(api, KINDS.DEPLOYMENT, deployment("web"))
        asked.mutations.clear()
        outcome = await replace(api, Ref(KINDS.DEPLOYMENT, "default", "web"), deployment("web", 2), ME)
        (changing,), (_, looking) = asked.mutations, asked.validations
        assert changing.object is not None
        assert looking.object is not None
        kept = {"uid", "creationTimestamp", "generation"}
        assert not kept & changing.object["metadata"].keys()
        assert kept <= looking.object["metadata"].keys()
        assert kept <= shown(KINDS.DEPLOYMENT, outcome)["metadata"].keys()


async def test_unreadable_owners_are_put_back(asked: Asked) -> None:
    async with extended_api() as api:
        asked.changes.append(lambda raw: raw["metadata"].update(managedFields=[{"operation": "Steal"}]))
        outcome = await make(api, KINDS.CONFIG_MAP, _config(a="1"))
        (entry,) = shown(KINDS.CONFIG_MAP, outcome)["metadata"]["managedFields"]
        assert entry["manager"] == "me"
        assert "operation must be `Apply` or `Update`" in outcome.warnings[0]


async def test_an_update_is_changed_and_looked_at_with_the_old_object(asked: Asked) -> None:
    async with extended_api() as api:
        await make(api, KINDS.CONFIG_MAP, _config(a="1"))
        asked.mutations.clear()
        asked.changes.append(_label)
        options = WriteOptions("me", dry_run=True, query={"dryRun": "All", "fieldManager": "me"})
        outcome = await replace(api, Ref(KINDS.CONFIG_MAP, "default", "one"), _config(a="2"), options)
        assert shown(KINDS.CONFIG_MAP, outcome)["metadata"]["labels"] == {"seen": "yes"}
        first = asked.mutations[0]
        assert first.old is not None
        assert first.old["data"] == {"a": "1"}
        assert first.operation == "UPDATE"
        assert first.dry_run
        sent = {"dryRun": ["All"], "fieldManager": "me"}
        assert first.options == {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", **sent}


@pytest.mark.parametrize(
    "patch_type", [MERGE, "application/strategic-merge-patch+json", "application/apply-patch+yaml"]
)
async def test_patches_are_updates(asked: Asked, patch_type: str) -> None:
    async with extended_api() as api:
        await make(api, KINDS.CONFIG_MAP, _config(a="1"))
        asked.mutations.clear()
        patch = _config(a="2") if patch_type.endswith("yaml") else {"data": {"a": "2"}}
        options = WriteOptions("you", force=True)
        await patch_object(api, Ref(KINDS.CONFIG_MAP, "default", "one"), Patch(patch_type, patch), options)
        (first,) = asked.mutations
        assert first.operation == "UPDATE"
        assert first.options is not None
        assert first.options["kind"] == "UpdateOptions"
        assert first.object is not None
        assert first.object["data"] == {"a": "2"}


async def test_apply_of_a_new_object_is_a_create(asked: Asked) -> None:
    async with extended_api() as api:
        patch = Patch(APPLY, _config("two", a="2"))
        await patch_object(api, Ref(KINDS.CONFIG_MAP, "default", "two"), patch, WriteOptions("you", force=True))
        assert [attributes.operation for attributes in asked.mutations] == ["CREATE"]


async def test_a_status_is_changed_and_looked_at(asked: Asked) -> None:
    async with extended_api() as api:
        await make(api, KINDS.POD, pod("web"))
        asked.mutations.clear()
        asked.validations.clear()
        asked.changes.append(lambda raw: raw["status"].update(message="changed"))
        patch = Patch(STRATEGIC, {"status": {"phase": "Running"}})
        outcome = await patch_object(api, Ref(KINDS.POD, "default", "web"), patch, ME, "status")
        status = shown(KINDS.POD, outcome)["status"]
        assert (status["phase"], status["message"]) == ("Running", "changed")
        assert {attributes.subresource for attributes in (*asked.mutations, *asked.validations)} == {"status"}


@pytest.mark.real_time
@pytest.mark.parametrize("calls", [(), (CALL,)], ids=["a thread", "a webhook"])
async def test_admission_waits_between_its_steps(
    asked: Asked, calls: tuple[WebhookCall, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with extended_api() as api:
        asked.calls = calls
        answered: list[Any] = []

        async def answer(given: Any) -> list[WebhookAnswer]:
            answered.extend(given)
            return [WebhookAnswer() for _ in given]

        monkeypatch.setattr(api, "answer", answer)
        await make(api, KINDS.CONFIG_MAP, _config(a="1"))
        await replace(api, Ref(KINDS.CONFIG_MAP, "default", "one"), _config(a="2"), ME)
        assert len(answered) == 4 * len(calls)


async def test_nothing_is_described_where_nothing_is_registered(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    async with extended_api() as api:
        api.admission.extensions = PlainWorld()
        await make(api, KINDS.CONFIG_MAP, _config(a="1"))
        await replace(api, Ref(KINDS.CONFIG_MAP, "default", "one"), _config(a="2"), ME)
        assert not asked.mutations
        assert not asked.validations


async def test_custom_objects_and_their_statuses_pass_too(asked: Asked) -> None:
    async with extended_api() as api:
        raw = definition("v1")
        raw["spec"]["versions"][0]["subresources"] = {"status": {}}
        await make(api, KINDS.CUSTOM_RESOURCE_DEFINITION, raw)
        kind = api.resources.find("harbour.test", "v1", "boats")
        assert kind is not None
        asked.changes.append(_label)
        asked.mutations.clear()
        await create(api, kind, "default", document(kind, "anna"), ME)
        ref = Ref(kind, "default", "anna")
        outcome = await patch_object(api, ref, Patch(MERGE, {"status": {"crew": 2}}), ME, "status")
        asked.refuses = lambda attributes: attributes.subresource == "status"
        refusal = await refused(patch_object(api, ref, Patch(MERGE, {"status": {"crew": 3}}), ME, "status"))
    assert shown(kind, outcome)["metadata"]["labels"] == {"seen": "yes"}
    assert refusal == (403, "anna refused")
    assert {attributes.resource for attributes in asked.mutations} == {("harbour.test", "v1", "boats")}


async def test_a_namespace_with_a_generated_name_has_its_label(asked: Asked) -> None:
    async with extended_api() as api:
        outcome = await make(api, KINDS.NAMESPACE, document(KINDS.NAMESPACE, "", metadata={"generateName": "team-"}))
        metadata = shown(KINDS.NAMESPACE, outcome)["metadata"]
        assert metadata["labels"]["kubernetes.io/metadata.name"] == metadata["name"] != ""


async def test_fields_that_a_custom_kind_does_not_have_are_seen_and_not_kept(asked: Asked) -> None:
    async with extended_api() as api:
        await make(api, KINDS.CUSTOM_RESOURCE_DEFINITION, definition("v1"))
        kind = api.resources.find("harbour.test", "v1", "boats")
        assert kind is not None
        asked.changes.append(lambda raw: raw.update(extra=1))
        outcome = await create(api, kind, "default", document(kind, "anna"), ME)
        assert [each.object["extra"] for each in asked.validations if each.object and each.name == "anna"] == [1]
        assert "extra" not in shown(kind, outcome)
