"""ControllerRevisions of DaemonSets and StatefulSets. Kubernetes: pkg/controller/history, constructHistory, getPatch.

A revision holds a patch that restores the template. Templates are compared by meaning, since many clients send back
null or an empty object for an absent field. Data is written as Go writes it, because Kubernetes compares the text.
Differs: the hash is of the template as JSON, see `workloads`.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Action, Create, Delete, Patch, Raw, Update
from moorage.control.framework.workloads import claim, controller_reference, nonempty, status_update, template_hash
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.go.quoting import sorted_keys
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.well_known.labels import REVISION_HASH

_MAX_PREFIX_LENGTH = 223


class RevisionHistory(NamedTuple):
    """An owner's revisions. `current` is None until it is created; `actions` come before anything else."""

    current: Object | None
    old: list[Object]
    duplicates: list[Object]
    actions: list[Action]


def template_patch(owner: Object) -> Raw:
    """Return the patch that restores the template as it is now."""
    template = owner.raw["spec"].get("template") or {}
    patch: Raw = sorted_keys({"spec": {"template": {**template, "$patch": "replace"}}})
    return patch


def template_of(revision: Object) -> Raw:
    template: Raw = ((revision.raw.get("data") or {}).get("spec") or {}).get("template") or {}
    return {name: value for name, value in template.items() if name != "$patch"}


def hash_of(labelled: Object) -> str:
    """Return the label of a revision or pod: a hash, or on pods of a StatefulSet the revision's name."""
    label: str = labelled.view.metadata.labels.get(REVISION_HASH, "")
    return label


def by_revision(revision: Object) -> tuple[int, str, str]:
    view = revision.view
    return view.revision, view.metadata.creationTimestamp or "", revision.name


def history_of(
    owner: Object, world: World, *, hash_label: str = REVISION_HASH, collisions: int | None = None
) -> RevisionHistory:
    """Return the owner's revisions and how to fix them: adopt, label, number, create.

    `collisions` is part of the name of a new revision.
    """
    claimed = claim(owner, owner.view.spec.selector, KINDS.CONTROLLER_REVISION, world)
    if claimed.patches:
        return RevisionHistory(None, [], [], list(claimed.patches))
    wanted = template_patch(owner)
    ordered = sorted(claimed.objects, key=by_revision)
    same = [found for found in ordered if found.raw.get("data") == wanted]
    same = same or [found for found in ordered if _means(found, owner.view.spec.template)]
    old = [found for found in ordered if found not in same]
    unlabelled = [found for found in claimed.objects if not found.view.metadata.labels.get(hash_label)]
    actions: list[Action] = [_labelled(found, hash_label) for found in unlabelled]
    if actions:
        return RevisionHistory(None, old, [], actions)
    number = max((found.view.revision for found in old), default=0) + 1
    if not same:
        return RevisionHistory(None, old, [], [_new_revision(owner, wanted, number, hash_label, collisions)])
    current = same[-1]
    if current.view.revision < number:
        actions.append(Patch(KINDS.CONTROLLER_REVISION, current.namespace, current.name, {"revision": number}))
    return RevisionHistory(current, old, same[:-1], actions)


def surplus_history(old: Sequence[Object], limit: int | None, in_use: Collection[str]) -> list[Action]:
    """Delete the oldest unused revisions, down to the limit. `in_use` has hashes or names."""
    surplus = len(old) - (10 if limit is None else limit)
    unused = [found for found in old if hash_of(found) not in in_use and found.name not in in_use]
    return [
        Delete(KINDS.CONTROLLER_REVISION, found.namespace, found.name, found.uid) for found in unused[: max(0, surplus)]
    ]


def _means(revision: Object, template: PodTemplateSpec) -> bool:
    try:
        return convert_view(template_of(revision), PodTemplateSpec) == template
    except ConversionError:
        return False


def _new_revision(owner: Object, data: Raw, number: int, hash_label: str, collisions: int | None) -> Create:
    template = owner.raw["spec"].get("template") or {}
    short = template_hash(template, collisions)
    metadata = {
        "name": f"{owner.name[:_MAX_PREFIX_LENGTH]}-{short}",
        "namespace": owner.namespace,
        "labels": {**((template.get("metadata") or {}).get("labels") or {}), hash_label: short},
        "ownerReferences": [controller_reference(owner)],
        **nonempty(annotations=owner.raw["metadata"].get("annotations")),
    }
    document = {
        "apiVersion": KINDS.CONTROLLER_REVISION.api_version,
        "kind": KINDS.CONTROLLER_REVISION.name,
        "metadata": metadata,
        "data": data,
        "revision": number,
    }
    return Create(KINDS.CONTROLLER_REVISION, document, owner.namespace)


def _labelled(revision: Object, hash_label: str) -> Patch:
    labels = {hash_label: revision.name}
    return Patch(KINDS.CONTROLLER_REVISION, revision.namespace, revision.name, {"metadata": {"labels": labels}})


def collision_update(owner: Object, action: Create, error: ApiError, world: World) -> tuple[Update, ...]:
    """Return an update of collisionCount, if another revision of that name exists. One not seen yet may be the same."""
    revision = world.get(KINDS.CONTROLLER_REVISION, f"{action.namespace}/{action.document['metadata']['name']}")
    if error.reason != "AlreadyExists" or revision is None or revision.raw.get("data") == action.document["data"]:
        return ()
    collisions = (owner.view.status.collisionCount or 0) + 1
    return status_update(owner, {**(owner.raw.get("status") or {}), "collisionCount": collisions})
