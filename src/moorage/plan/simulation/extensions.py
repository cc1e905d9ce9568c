"""Apply the policies and webhooks of a simulated cluster, and tell whose pods they were applied to."""

from collections.abc import Callable, Iterable

from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.raw import Raw
from moorage.client.protocol import Object
from moorage.control.framework.world import World, controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta, OwnerReference
from moorage.plan.input.extensions.applied import Applied
from moorage.plan.input.inventory import Key
from moorage.serve.admission.extension_lookups import Documents


class SimulatedDocuments:
    """The objects of a simulated cluster. `beside` are those that are not simulated, such as ConfigMaps."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.beside: Documents | None = None

    def find(self, kind: Kind, namespace: str, name: str) -> Raw | None:
        found = self._world.get(kind, f"{namespace}/{name}" if kind.namespaced else name)
        if found is not None:
            return document_of(found)
        return None if self.beside is None else self.beside.find(kind, namespace, name)

    def all_of(self, kind: Kind, namespace: str) -> Iterable[Raw]:
        here = self._world.in_namespace(kind, namespace) if kind.namespaced else self._world.all(kind)
        documents = {found.name: document_of(found) for found in here}
        beside = () if self.beside is None else self.beside.all_of(kind, namespace)
        return ({one["metadata"]["name"]: one for one in beside} | documents).values()


def document_of(found: Object) -> Raw:
    """Return the document of an object with its kind, which those of a simulation need not name."""
    raw = found.raw
    return raw if "kind" in raw else {**raw, "apiVersion": found.kind.api_version, "kind": found.kind.name}


class Subjects:
    """Tells what requests are about: pods of one workload are one. `owner_of` is the simulation's."""

    def __init__(self) -> None:
        self.owner_of: Callable[[Object], tuple[str, str, str] | None] = lambda found: None
        self._known: dict[str, Applied] = {}

    def find(self, extended: ExtendedRequest) -> Applied:
        attributes = extended.attributes
        document = attributes.object or attributes.old or {}
        metadata = convert_view(document.get("metadata") or {}, ObjectMeta)
        owner = controller_of(metadata) if attributes.resource.resource == "pods" else None
        if owner is None:
            kind = KINDS.get((str(document.get("apiVersion")), attributes.kind.kind))
            namespace = attributes.namespace if kind is None or kind.namespaced else ""
            name = metadata.name or attributes.name or f"{metadata.generateName}*"
            return Applied(Key(attributes.kind.kind, namespace, name))
        known = self._known.get(owner.uid)
        if known is None:
            known = self._known[owner.uid] = Applied(self._workload(owner, document, metadata), are_pods=True)
        return known

    def _workload(self, owner: OwnerReference, document: Raw, metadata: ObjectMeta) -> Key:
        pod = Object(KINDS.POD, "", 0, raw=document, view=convert_view(document, KINDS.POD.view))
        found = self.owner_of(pod)
        return Key(owner.kind, metadata.namespace, owner.name) if found is None else Key(*found)
