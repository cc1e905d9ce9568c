"""Try changes of a live cluster, or make them: each object is read, checked, and written only if it is still the same.

A trial asks the API server with dryRun=All, so that admission and rights have had their say. Changes are made one after
the other and end with the first that fails; what was made before is said.
"""

from typing import Any

from moorage.client.protocol import Client, Object, PatchType, Raw, Unreachable
from moorage.dashboard.actions.context import ActionContext, ActionError
from moorage.dashboard.actions.steps import Step, asked_steps, patched, steps_of
from moorage.model.api_error import ApiError
from moorage.plan.explain.remedies.differences import operations
from moorage.plan.explain.remedies.remedy import patch_command

_CONFLICT, _NOT_FOUND = 409, 404
_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")
_TYPE_NAMES = {PatchType.JSON: "json", PatchType.MERGE: "merge"}


async def dry_run(body: Raw, context: ActionContext) -> Raw:
    """Try the changes; nothing is stored. Raises ActionError for a request that is wrong as such."""
    client, trial = context.clients()
    return await _carry_out(await _steps(body, client), client, trial, dry=True)


async def apply(body: Raw, context: ActionContext) -> Raw:
    """Make the changes. Raises ActionError, also where the dashboard was started without --allow-changes."""
    if not context.allow_changes:
        raise ActionError(403, "this dashboard changes nothing: it was started without --allow-changes")
    client, _ = context.clients()
    return await _carry_out(await _steps(body, client), client, client, dry=False)


async def _steps(body: Raw, client: Client) -> list[Step]:
    """Return the writes that a request asks for, or that the `changes` of a what-if need. Raises ActionError."""
    if "changes" not in body:
        return steps_of(body)
    try:
        return await asked_steps(body["changes"], client)
    except ApiError as error:
        raise ActionError(error.code, error.message) from None
    except Unreachable as error:
        raise ActionError(503, f"the cluster cannot be reached: {error}") from None


async def _carry_out(steps: list[Step], reader: Client, writer: Client, *, dry: bool) -> Raw:
    results: list[Raw] = []
    for step in steps:
        result = await _result(step, reader, writer)
        results.append(result)
        if not result["ok"] and not dry:
            break
    done = sum(1 for one in results if one["ok"])
    return {
        "dryRun": dry,
        "ok": done == len(steps),
        "done": done,
        "of": len(steps),
        "results": results,
    }


async def _result(step: Step, reader: Client, writer: Client) -> Raw:
    target = {
        "apiVersion": step.kind.api_version,
        "kind": step.kind.name,
        "namespace": step.namespace,
        "name": step.name,
    }
    try:
        changes, written = await _write(step, reader, writer)
    except ActionError as error:
        return {"target": target, "ok": False, "code": error.code, "message": error.message}
    except ApiError as error:
        return {"target": target, "ok": False, "code": error.code, "message": _refusal(step, error)}
    except Unreachable as error:
        return {"target": target, "ok": False, "code": 503, "message": f"the cluster cannot be reached: {error}"}
    return {
        "target": target,
        "ok": True,
        "code": 200,
        "message": "",
        "command": _command(step),
        "changes": changes,
        "generation": written.raw.get("metadata", {}).get("generation", 0) if written is not None else 0,
    }


async def _write(step: Step, reader: Client, writer: Client) -> tuple[list[Any], Object | None]:
    if step.verb == "create":
        document = {name: value for name, value in step.body.items() if name not in _OF_EVERY_OBJECT}
        return operations({}, document), await writer.create(step.kind, step.body, step.namespace)
    current = await reader.get(step.kind, step.name, step.namespace)
    if step.verb == "delete":
        await writer.delete(step.kind, step.name, step.namespace, uid=current.uid, revision=current.revision)
        return [], None
    after = patched(step, current.raw)
    if after == current.raw:
        raise ActionError(_CONFLICT, f"{step.described} is so already: nothing would change")
    body = _with_revision(step, str(current.raw["metadata"]["resourceVersion"]))
    written = await writer.patch(step.kind, step.name, step.namespace, body, patch_type=step.patch_type)
    changes = [operation for operation in operations(current.raw, after) if operation["op"] != "test"]
    return changes, written


def _with_revision(step: Step, revision: str) -> Any:
    """Return the patch with the object's resourceVersion, so that it conflicts with any change in between."""
    if step.patch_type is PatchType.JSON:
        return [*step.body, {"op": "replace", "path": "/metadata/resourceVersion", "value": revision}]
    return {**step.body, "metadata": {**(step.body.get("metadata") or {}), "resourceVersion": revision}}


def _refusal(step: Step, error: ApiError) -> str:
    if error.code == _CONFLICT and step.verb != "create":
        return f"{step.described} has changed meanwhile: look again ({error.message})"
    if error.code == _NOT_FOUND and step.verb != "create":
        return f"{step.described} is gone: look again ({error.message})"
    return error.message or f"the API server refused it ({error.code} {error.reason})"


def _command(step: Step) -> str:
    if step.verb == "patch":
        return patch_command(step.kind, step.namespace, step.name, step.body, _TYPE_NAMES[step.patch_type])
    if step.verb == "delete":
        return f"kubectl delete {step.kind.singular} {step.name}"
    return "kubectl create -f -"
