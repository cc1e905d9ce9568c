"""Policies answer once for the pods of a template, where they read nothing in which such pods differ."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import ME, document, make, new_api, pod, refused, shown

from moorage.admit.extension import extensions
from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.steps import NOT_CALLED
from moorage.model.kinds import KINDS, Ref
from moorage.serve.requests.options import WriteOptions
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.patching import Patch, patch_object
from moorage.serve.verbs.registry import WriteResult

Raw = dict[str, Any]
MERGE = "application/merge-patch+json"
PODS: Raw = {
    "resourceRules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
}
LABELLED = "has(object.metadata.labels) && 'app' in object.metadata.labels"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the pods that policies have looked at."""
    names: list[str] = []
    plain = extensions.validate

    def validate(attributes: Attributes, *rest: Any) -> Iterator[Any]:
        names.append(attributes.name)
        return plain(attributes, *rest)

    monkeypatch.setattr(extensions, "validate", validate)
    return names


@asynccontextmanager
async def api_with(*expressions: str, mutations: tuple[str, ...] = (), **spec: Any) -> AsyncIterator[Api]:
    async with new_api() as api:
        for number, expression in enumerate(expressions):
            name = f"p{number}"
            body = {
                "matchConstraints": PODS,
                "validations": [{"expression": expression}],
                "failurePolicy": "Fail",
                **spec,
            }
            await make(
                api, KINDS.VALIDATING_ADMISSION_POLICY, document(KINDS.VALIDATING_ADMISSION_POLICY, name, spec=body)
            )
            binding = {"policyName": name, "validationActions": ["Deny"]}
            kind = KINDS.VALIDATING_ADMISSION_POLICY_BINDING
            await make(api, kind, document(kind, name, spec=binding))
        for number, expression in enumerate(mutations):
            name = f"m{number}"
            patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
            body = {
                "matchConstraints": PODS,
                "mutations": [patch],
                "reinvocationPolicy": "Never",
                "failurePolicy": "Fail",
            }
            await make(api, KINDS.MUTATING_ADMISSION_POLICY, document(KINDS.MUTATING_ADMISSION_POLICY, name, spec=body))
            kind = KINDS.MUTATING_ADMISSION_POLICY_BINDING
            await make(api, kind, document(kind, name, spec={"policyName": name}))
        yield api


async def _make(api: Api, name: str, **labels: str) -> WriteResult:
    return await create(api, KINDS.POD, "default", pod(name, labels=labels), ME)


async def test_pods_of_a_template_are_looked_at_once(looks: list[str]) -> None:
    async with api_with(LABELLED, "object.spec.containers.all(c, c.image != 'bad')") as api:
        outcomes = [await _make(api, name, app="web") for name in ("a", "b", "c")]
        assert (await refused(_make(api, "d")))[0] == 422
    assert looks == ["a", "d"]
    assert [shown(KINDS.POD, outcome)["metadata"]["name"] for outcome in outcomes] == ["a", "b", "c"]


async def test_a_generated_name_is_given_to_each(looks: list[str]) -> None:
    async with api_with(LABELLED) as api:
        for _ in range(3):
            await create(api, KINDS.POD, "default", pod("", generateName="web-", labels={"app": "web"}), ME)
    assert len(looks) == 1


@pytest.mark.parametrize(
    "expression",
    [
        "object.metadata.name != 'c'",
        "request.userInfo.username != 'eve'",
        "!request.dryRun",
        "authorizer.group('').resource('pods').check('create').allowed() || true",
        "!has(request.options) || true",
    ],
)
async def test_what_reads_more_than_the_template_is_asked_about_each_pod(looks: list[str], expression: str) -> None:
    async with api_with(LABELLED, expression) as api:
        await _make(api, "a", app="web")
        await _make(api, "b", app="web")
    assert looks == ["a", "b"]


async def test_what_reads_the_name_refuses_the_one_pod() -> None:
    async with api_with("object.metadata.name != 'c'") as api:
        await _make(api, "a", app="web")
        await _make(api, "b", app="web")
        assert (await refused(_make(api, "c", app="web")))[0] == 422


async def test_a_change_by_a_policy_is_repeated(looks: list[str]) -> None:
    label = "Object{metadata: Object.metadata{labels: {'added': object.metadata.labels['app']}}}"
    async with api_with(mutations=(label,)) as api:
        outcomes = [await _make(api, name, app="web") for name in ("a", "b")]
    assert looks == ["a"]
    assert [shown(KINDS.POD, one)["metadata"]["labels"]["added"] for one in outcomes] == ["web", "web"]


async def test_a_name_that_a_policy_chooses_is_not_repeated() -> None:
    async with api_with(mutations=("Object{metadata: Object.metadata{name: 'chosen'}}",)) as api:
        outcome = await _make(api, "a", app="web")
        assert shown(KINDS.POD, outcome)["metadata"]["name"] == "chosen"
        code, _ = await refused(_make(api, "b", app="web"))
    assert code == 409


async def test_warnings_are_repeated(looks: list[str]) -> None:
    async with api_with("object.spec.containers.size() > 1") as api:
        binding = Patch(MERGE, {"spec": {"validationActions": ["Warn"]}})
        await patch_object(api, Ref(KINDS.VALIDATING_ADMISSION_POLICY_BINDING, "", "p0"), binding, ME)
        warnings = [(await _make(api, name, app="web")).warnings for name in ("a", "b")]
    assert looks == ["a"]
    assert len(warnings[0]) == 1
    assert warnings[0] == warnings[1]


async def test_notes_for_the_audit_are_made_about_each(looks: list[str]) -> None:
    async with api_with("object.spec.containers.size() > 1") as api:
        binding = Patch(MERGE, {"spec": {"validationActions": ["Audit"]}})
        await patch_object(api, Ref(KINDS.VALIDATING_ADMISSION_POLICY_BINDING, "", "p0"), binding, ME)
        await _make(api, "a", app="web")
        await _make(api, "b", app="web")
    assert looks == ["a", "b"]


async def test_an_answer_is_forgotten_when_a_policy_changes(looks: list[str]) -> None:
    async with api_with(LABELLED) as api:
        await _make(api, "a", app="web")
        patch = Patch(MERGE, {"spec": {"validations": [{"expression": "false"}]}})
        await patch_object(api, Ref(KINDS.VALIDATING_ADMISSION_POLICY, "", "p0"), patch, ME)
        assert (await refused(_make(api, "b", app="web")))[0] == 422
    assert looks == ["a", "b"]


async def test_an_answer_is_forgotten_when_the_namespace_changes() -> None:
    async with api_with("!has(namespaceObject.metadata.labels.closed)") as api:
        await _make(api, "a", app="web")
        await _make(api, "b", app="web")
        await patch_object(
            api, Ref(KINDS.NAMESPACE, "", "default"), Patch(MERGE, {"metadata": {"labels": {"closed": "yes"}}}), ME
        )
        assert (await refused(_make(api, "c", app="web")))[0] == 422


async def test_a_webhook_is_called_about_each(looks: list[str]) -> None:
    async with api_with(LABELLED) as api:
        hook = {
            "name": "a.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": PODS["resourceRules"],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
        }
        await make(api, KINDS.POD, pod("before", labels={"app": "web"}))
        kind = KINDS.VALIDATING_WEBHOOK_CONFIGURATION
        await make(api, kind, document(kind, "hooks", webhooks=[hook]))
        called: list[Any] = []

        async def answer(calls: Any) -> Any:
            called.extend(calls)
            return [NOT_CALLED] * len(calls)

        api.answer = answer  # type: ignore[method-assign]
        await _make(api, "a", app="web")
        await _make(api, "b", app="web")
    assert looks == ["before", "a", "b"]
    assert len(called) == 2


async def test_dry_runs_are_answered_as_well(looks: list[str]) -> None:
    async with api_with(LABELLED) as api:
        for _ in range(2):
            options = WriteOptions("me", dry_run=True, query={"dryRun": "All"})
            await create(api, KINDS.POD, "default", pod("a", labels={"app": "web"}), options)
    assert looks == ["a"]
