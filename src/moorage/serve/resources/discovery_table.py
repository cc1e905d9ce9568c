"""Which resources the API has, as data: names people type, verbs, subresources.

In: the kinds that `moorage.model.kinds` lists, and one row here for each that has more to tell than its defaults.
Out: `RESOURCES`, which discovery renders and the router follows, so that neither can promise what the other lacks.
Kubernetes: the storage of each registry under pkg/registry (`ShortNames`, `Categories`, subresources in its REST map).
Differs: what Moorage does not serve (pods/exec, serviceaccounts/token, …) is not listed.
"""

from typing import NamedTuple

from moorage.model.kinds import KINDS, Kind
from moorage.model.types.reviews import SelfSubjectAccessReview, SelfSubjectReview, SelfSubjectRulesReview
from moorage.model.types.subresource import Binding

STANDARD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

#: The order in which clients try groups for a short name; whatever is not listed comes after, by name.
GROUP_ORDER = (
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "batch",
    "policy",
    "storage.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
)


class Subresource(NamedTuple):
    """Something below an object. `group_version` is of `kind`, the document that goes in and out."""

    name: str
    kind: str
    group_version: str
    verbs: tuple[str, ...]


class ResourceFacts(NamedTuple):
    """A resource as clients find it. `verbs` are those of the objects themselves."""

    kind: Kind
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    subresources: tuple[Subresource, ...]
    verbs: tuple[str, ...]

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)


class _Sub(NamedTuple):
    """A subresource in a row below; without a kind it shows the object itself."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    group_version: str = ""


class _Row(NamedTuple):
    """What a kind has beyond the defaults."""

    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[_Sub, ...] = ()
    verbs: tuple[str, ...] = STANDARD_VERBS


_ALL = ("all",)
_STATUS = _Sub("status", ("get", "patch", "update"))
_SCALE = _Sub("scale", ("get", "patch", "update"), "Scale", "autoscaling/v1")

_ROWS: dict[tuple[str, str], _Row] = {
    ("v1", "ConfigMap"): _Row(("cm",)),
    ("v1", "Event"): _Row(("ev",)),
    # Namespaces go one by one: each takes all that is in it along.
    ("v1", "Namespace"): _Row(
        ("ns",),
        (),
        (_Sub("finalize", ("update",)), _STATUS),
        tuple(v for v in STANDARD_VERBS if v != "deletecollection"),
    ),
    ("v1", "Node"): _Row(("no",), (), (_STATUS,)),
    ("v1", "PersistentVolume"): _Row(("pv",), (), (_STATUS,)),
    ("v1", "PersistentVolumeClaim"): _Row(("pvc",), (), (_STATUS,)),
    ("v1", "Pod"): _Row(
        ("po",),
        _ALL,
        (
            _Sub("binding", ("create",), "Binding", "v1"),
            _Sub("eviction", ("create",), "Eviction", "policy/v1"),
            _Sub("log", ("get",)),
            _STATUS,
        ),
    ),
    ("v1", "Service"): _Row(("svc",), _ALL, (_STATUS,)),
    ("v1", "ServiceAccount"): _Row(("sa",)),
    ("apps/v1", "DaemonSet"): _Row(("ds",), _ALL, (_STATUS,)),
    ("apps/v1", "Deployment"): _Row(("deploy",), _ALL, (_SCALE, _STATUS)),
    ("apps/v1", "ReplicaSet"): _Row(("rs",), _ALL, (_SCALE, _STATUS)),
    ("apps/v1", "StatefulSet"): _Row(("sts",), _ALL, (_SCALE, _STATUS)),
    ("batch/v1", "CronJob"): _Row(("cj",), _ALL, (_STATUS,)),
    ("batch/v1", "Job"): _Row((), _ALL, (_STATUS,)),
    ("events.k8s.io/v1", "Event"): _Row(("ev",)),
    ("policy/v1", "PodDisruptionBudget"): _Row(("pdb",), (), (_STATUS,)),
    ("scheduling.k8s.io/v1", "PriorityClass"): _Row(("pc",)),
    ("storage.k8s.io/v1", "StorageClass"): _Row(("sc",)),
    ("storage.k8s.io/v1", "VolumeAttachment"): _Row((), (), (_STATUS,)),
}

_CREATE_ONLY = _Row(verbs=("create",))

#: Questions and orders: they are posted and answered, never stored, so they are no kinds of the model.
VIRTUAL_KINDS: tuple[Kind, ...] = (
    Kind("v1", "Binding", "bindings", True, Binding),
    Kind("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", False, SelfSubjectReview),
    Kind(
        "authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False, SelfSubjectAccessReview
    ),
    Kind("authorization.k8s.io/v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", False, SelfSubjectRulesReview),
)


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]


def _resource(facts: Kind, row: _Row) -> ResourceFacts:
    subresources = tuple(
        Subresource(sub.name, sub.kind or facts.name, sub.group_version or facts.api_version, sub.verbs)
        for sub in row.subresources
    )
    return ResourceFacts(facts, facts.name.lower(), row.short_names, row.categories, subresources, row.verbs)


def _place(resource: ResourceFacts) -> tuple[int, str, str]:
    group = resource.kind.group
    place = GROUP_ORDER.index(group) if group in GROUP_ORDER else len(GROUP_ORDER)
    return place, resource.kind.api_version, resource.kind.plural


#: (group, version, plural) → resource, in the order in which discovery tells of them.
RESOURCES: dict[tuple[str, str, str], ResourceFacts] = {
    (resource.kind.group, _version(resource.kind.api_version), resource.kind.plural): resource
    for resource in sorted(
        [
            *(_resource(facts, _ROWS.get((facts.api_version, facts.name), _Row())) for facts in KINDS.values()),
            *(_resource(facts, _CREATE_ONLY) for facts in VIRTUAL_KINDS),
        ],
        key=_place,
    )
}
