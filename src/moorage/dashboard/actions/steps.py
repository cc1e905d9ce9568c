"""Read what the page wants to change as writes: patches, deletions and creations of a few kinds and of some fields.

The changes of a what-if become one patch for each node and workload, and one rule for each device taint. Whatever else
a request asks for is refused here, before anything is sent to the cluster. Differs from kubectl, which may change
everything that the kubeconfig may: a page that was left open is easier to misuse than a command line.
"""

from hashlib import sha256
from typing import Any

import msgspec

from moorage.client.protocol import Client, Object, PatchType, Raw
from moorage.dashboard.actions.context import ActionError
from moorage.dashboard.questions.base import BadQuestion
from moorage.dashboard.questions.changes import WantedChanges, device_rule, read_changes
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.patch.json_patch import apply_json_patch, apply_merge_patch
from moorage.model.patch.patch_error import PatchError
from moorage.plan.explain.remedies.differences import changed_paths, operations
from moorage.plan.input.inventory import kind_words
from moorage.plan.node_changes import ChangeError, is_meant, label_patch, tainted, untainted
from moorage.plan.rollout import SCALED, kind_of_workload

MAX_STEPS = 5000
_TEMPLATE, _REPLICAS = ("spec", "template"), ("spec", "replicas")
#: The fields that may be changed, by kind.
CHANGEABLE: dict[str, tuple[tuple[str, ...], ...]] = {
    "Node": (("metadata", "labels"), ("spec", "taints"), ("spec", "unschedulable")),
    "Pod": (("spec", "tolerations"), ("spec", "schedulingGates")),
    "Deployment": (_TEMPLATE, _REPLICAS),
    "StatefulSet": (_TEMPLATE, _REPLICAS),
    "ReplicaSet": (_TEMPLATE, _REPLICAS),
    "ReplicationController": (_TEMPLATE, _REPLICAS),
    "DaemonSet": (_TEMPLATE,),
    "CronJob": (("spec", "jobTemplate"),),
    "Job": (_TEMPLATE, ("spec", "parallelism")),
    "DeviceTaintRule": (("spec",),),
    "ResourceClaim": (("spec",),),
    "ResourceClaimTemplate": (("spec",),),
}
#: What may be created and deleted.
_WHOLE = ("DeviceTaintRule",)
_TYPES = {"json": PatchType.JSON, "merge": PatchType.MERGE}
_VERBS = ("patch", "delete", "create")


class Step(msgspec.Struct, frozen=True):
    """One write. `body` is the patch, or the document to create."""

    verb: str
    kind: Kind
    namespace: str
    name: str
    body: Any = None
    patch_type: PatchType = PatchType.JSON

    @property
    def described(self) -> str:
        return f"{self.kind.name} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.name} {self.name}"


def steps_of(body: Raw) -> list[Step]:
    """Return the steps of a request: its `steps`, or the one that it is. Raises ActionError."""
    given = body.get("steps", [body])
    if not isinstance(given, list) or not given:
        raise ActionError(400, '"steps" is not a list of changes')
    if len(given) > MAX_STEPS:
        raise ActionError(400, f"{len(given)} changes at once are more than the {MAX_STEPS} that are made together")
    return [_step(step, f"steps[{position}]" if "steps" in body else "") for position, step in enumerate(given)]


def _step(given: Any, path: str) -> Step:
    if not isinstance(given, dict):
        raise _wrong(path, "is no object")
    verb = given.get("verb", "patch")
    if verb not in _VERBS:
        raise _wrong(path, f"has the verb {verb!r}; there are {', '.join(_VERBS)}")
    if verb == "create":
        return _creation(given, path)
    kind, namespace, name = _target(given.get("target"), path)
    if verb == "delete":
        _check_whole(kind, path)
        return Step(verb, kind, namespace, name)
    patch_type = _TYPES.get(given.get("patchType", "json"))
    patch = given.get("patch")
    if patch_type is None:
        raise _wrong(path, f"has the patchType {given.get('patchType')!r}; there are {', '.join(_TYPES)}")
    if not isinstance(patch, list if patch_type is PatchType.JSON else dict) or not patch:
        raise _wrong(path, "has no patch of its patchType")
    return Step(verb, kind, namespace, name, patch, patch_type)


def _creation(given: Raw, path: str) -> Step:
    document = given.get("document")
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        raise _wrong(path, "has no document to create")
    of_kind = {field: document.get(field, "") for field in ("apiVersion", "kind")}
    of_name = {field: document["metadata"].get(field, "") for field in ("namespace", "name")}
    kind, namespace, name = _target({**of_kind, **of_name}, path)
    _check_whole(kind, path)
    return Step("create", kind, namespace, name, document)


def _target(target: Any, path: str) -> tuple[Kind, str, str]:
    if not isinstance(target, dict):
        raise _wrong(path, "has no target")
    texts = [target.get(field, "") for field in ("apiVersion", "kind", "namespace", "name")]
    if not all(isinstance(text, str) for text in texts) or not texts[3]:
        raise _wrong(path, "has a target without apiVersion, kind and name")
    api_version, name_of_kind, namespace, name = texts
    kind = KINDS.get((api_version, name_of_kind))
    if kind is None or kind.name not in CHANGEABLE:
        raise ActionError(403, f"a {name_of_kind or 'nameless kind'} ({api_version}) is not changed from here")
    if kind.namespaced != bool(namespace):
        raise _wrong(path, f"has a target {'without a' if kind.namespaced else 'with a needless'} namespace")
    return kind, namespace, name


def _check_whole(kind: Kind, path: str) -> None:
    if kind.name not in _WHOLE:
        raise ActionError(403, f"a {kind.name} is neither created nor deleted from here{f' ({path})' if path else ''}")


def _wrong(path: str, why: str) -> ActionError:
    return ActionError(400, f"{path or 'the request'} {why}")


# -- what a patch does to the object ----------------------------------------------------------------------------------


def patched(step: Step, current: Raw) -> Raw:
    """Return the object as it would be. Raises ActionError if it is not as the patch expects, or not to be changed."""
    try:
        if step.patch_type is PatchType.MERGE:
            after = apply_merge_patch(current, step.body)
        else:
            _check_expected(step, current)
            after = apply_json_patch(current, step.body)
    except PatchError as error:
        raise ActionError(422, f"{step.described}: the patch cannot be applied: {error}") from None
    allowed = CHANGEABLE[step.kind.name]
    for path in changed_paths(current, after):
        if not any(path[: len(field)] == field for field in allowed):
            fields = ", ".join(".".join(field) for field in allowed)
            raise ActionError(403, f"{step.described}: {'.'.join(path)} is not changed from here, only {fields}")
    return after


def _check_expected(step: Step, current: Raw) -> None:
    """Refuse a patch for an object that has changed since: tests that fail, members to add that are there."""
    for operation in step.body:
        if not isinstance(operation, dict):
            raise ActionError(400, "an operation of the patch is no object")
        path = str(operation.get("path"))
        is_new = operation.get("op") == "add" and not path.endswith("/-") and not path.rpartition("/")[2].isdigit()
        fails = operation.get("op") == "test" and not _passes(current, operation)
        if fails or (is_new and _passes(current, {"op": "remove", "path": path})):
            raise _meanwhile(step, path)


def _passes(document: Raw, operation: Raw) -> bool:
    try:
        apply_json_patch(document, [operation])
    except PatchError:
        return False
    return True


def _meanwhile(step: Step, path: str) -> ActionError:
    field = path.strip("/").replace("~1", "/").replace("~0", "~").replace("/", ".")
    return ActionError(409, f"{step.described} has changed meanwhile ({field} is not what it was): look again")


_LEFT = {
    "evict": "a pod is evicted by the command that is shown",
    "drain": "a drain is made by kubectl drain",
    "remove": "a node is removed by kubectl delete node",
    "apply": "manifests are applied by kubectl apply",
    "addNodes": "nodes are added by what provides them",
}
_NOT_FOUND = 404


async def asked_steps(changes: Any, client: Client) -> list[Step]:
    """Return the writes, for the cluster as it is now. Raises ActionError and ApiError."""
    try:
        request = read_changes({"changes": changes})
        left = next((_LEFT[name] for change in changes for name in change if name in _LEFT), None)
        if left is not None:
            raise ActionError(400, f"not from here: {left}")
        steps = [
            *await _node_steps(request, client),
            *[
                step
                for change in request.changes.scales
                for step in await _scale_steps(change.workload, change.replicas, client)
            ],
            *[
                step
                for change in changes
                if "deviceTaint" in change
                for step in await _rule_steps(change["deviceTaint"], client)
            ],
        ]
    except (BadQuestion, ChangeError) as error:
        raise ActionError(400, str(error)) from None
    if len(steps) > MAX_STEPS:
        raise ActionError(
            400, f"{len(steps)} objects would change, more than the {MAX_STEPS} that are written together"
        )
    return steps


async def _node_steps(request: WantedChanges, client: Client) -> list[Step]:
    changes = request.changes
    if not (changes.taints or changes.untaints or changes.labels or changes.cordons):
        return []
    nodes = (await client.list_all(KINDS.NODE)).items
    after: dict[str, Raw] = {node.name: node.raw for node in nodes}
    for taint in changes.taints:
        for name in _meant(nodes, taint.node):
            after[name] = tainted(after[name], taint)
    for untaint in changes.untaints:
        for name in _meant(nodes, untaint.node):
            after[name] = untainted(after[name], untaint)
    for label in changes.labels:
        for name in _meant(nodes, label.node):
            after[name] = apply_merge_patch(after[name], label_patch(label))
    for cordoned in changes.cordons:
        for name in _meant(nodes, cordoned):
            after[name] = apply_merge_patch(after[name], {"spec": {"unschedulable": True}})
    return [
        Step("patch", KINDS.NODE, "", node.name, operations(node.raw, after[node.name]))
        for node in nodes
        if after[node.name] != node.raw
    ]


def _meant(nodes: list[Object], scope: str) -> list[str]:
    names = [node.name for node in nodes if is_meant(node, scope)]
    if not names:
        raise ChangeError(f"there is no node {scope!r} in the cluster")
    return names


async def _scale_steps(workload: str, replicas: int, client: Client) -> list[Step]:
    word, *place = workload.split("/")
    kind_name = kind_words(*SCALED).get(word.lower())
    if kind_name is None or len(place) != 2:
        raise ChangeError(f"{workload!r} is not of the form KIND/NAMESPACE/NAME")
    namespace, name = place
    kind = kind_of_workload(kind_name)
    raw = (await client.get(kind, name, namespace)).raw
    after = {**raw, "spec": {**raw["spec"], "replicas": replicas}}
    return [Step("patch", kind, namespace, name, operations(raw, after))] if after != raw else []


async def _rule_steps(given: Raw, client: Client) -> list[Step]:
    """Return the creation of a rule; or the change of its taint, where it was made from here before."""
    spec = device_rule(given, "deviceTaint", "")["spec"]
    about = [spec["deviceSelector"], spec["taint"]["key"], spec["taint"]["effect"]]
    name = f"moorage-{sha256(msgspec.json.encode(about, order='sorted')).hexdigest()[:12]}"
    try:
        raw = (await client.get(KINDS.DEVICE_TAINT_RULE, name)).raw
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
        return [Step("create", KINDS.DEVICE_TAINT_RULE, "", name, device_rule(given, "deviceTaint", name))]
    # Without timeAdded: tolerationSeconds count from now on again.
    now = {field: text for field, text in raw["spec"]["taint"].items() if field != "timeAdded"}
    after = {**raw, "spec": {**raw["spec"], "taint": spec["taint"]}}
    return [Step("patch", KINDS.DEVICE_TAINT_RULE, "", name, operations(raw, after))] if now != spec["taint"] else []
