"""Create the objects that describe an API server: APIServices, flow control, the ServiceCIDR.

Kubernetes: the autoregistration of kube-aggregator, the bootstrap configuration of API priority and fairness, the
default ServiceCIDR controller. Differs: nothing is queued, so conditions are written once and for all.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from moorage.admit.kinds.api_server.flow_control import MANDATORY_LEVELS, MANDATORY_SCHEMAS, everything, groups_named
from moorage.admit.raw import copy_document
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.resources.objects import decode, key_of, prefix_of
from moorage.serve.resources.served import CUSTOM_PRIORITY, GROUP_PRIORITIES
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.deleting import delete_unasked
from moorage.serve.verbs.restoring import admit_as_is, store_as_is
from moorage.store.protocol import KeyExists, StoreError, StoreFailed, StoreUncertain

Raw = dict[str, Any]


#: Versions whose place in their group is not the usual one.
_VERSION_PRIORITIES: Final = {
    ("", "v1"): 1,
    ("autoscaling", "v2"): 30,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1beta2"): 15,
    ("resource.k8s.io", "v1beta1"): 9,
    ("resource.k8s.io", "v1alpha3"): 1,
}
_USUAL_PRIORITY: Final = 15
_RETRY_SECONDS = 5.0
#: The group that says which others there are does not say it of itself.
_UNLISTED: Final = "apiregistration.k8s.io"
_MANAGED, _WITH_DEFINITION = "kube-aggregator.kubernetes.io/automanaged", "true"
_FLOW_GROUP: Final = "flowcontrol.apiserver.k8s.io/v1"
_UPDATED: Final = {"apf.kubernetes.io/autoupdate-spec": "true"}


async def configure_api(api: Api) -> None:
    """Create the objects that are missing, and from then on those of custom groups as these come and go."""
    await asyncio.gather(*(_ensure(api, document) for document in _documents(api)))
    api.resources.when_changed(CustomGroups(api).changed)


class CustomGroups:
    """Creates and deletes the APIServices of groups that definitions of custom resources bring.

    Kubernetes: the crd-autoregister controller.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._task: asyncio.Task[None] | None = None
        self._is_behind = False

    def changed(self) -> None:
        self._is_behind = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._catch_up())

    async def _catch_up(self) -> None:
        while self._is_behind:
            self._is_behind = False
            try:
                await self._synchronize()
            except (StoreFailed, StoreUncertain):
                self._is_behind = True
                await asyncio.sleep(_RETRY_SECONDS)
            except StoreError:
                return  # the store is closed

    async def _synchronize(self) -> None:
        api = self._api
        await api.definitions.settled()  # another server may have made APIServices of groups that come to be served
        custom = {group: found for group, found in api.resources.groups.items() if group not in GROUP_PRIORITIES}
        wanted = {document["metadata"]["name"]: document for document in api_services(custom)}
        for stored in (await api.store.list(prefix_of(KINDS.API_SERVICE))).items:
            document = decode(KINDS.API_SERVICE, stored)
            labels = document["metadata"].get("labels") or {}
            if labels.get(_MANAGED) == _WITH_DEFINITION and document["metadata"]["name"] not in wanted:
                with suppress(ApiError):
                    await delete_unasked(api, Ref(KINDS.API_SERVICE, "", document["metadata"]["name"]), DeleteOptions())
        for document in wanted.values():
            await _ensure(api, document)


def _documents(api: Api) -> Iterator[Raw]:
    yield from api_services(api.resources.groups)
    yield from _priority_levels()
    yield from _flow_schemas()
    yield _service_range(str(api.directory.service_range))


async def _ensure(api: Api, document: Raw) -> None:
    kind, metadata = KINDS[document["apiVersion"], document["kind"]], document["metadata"]
    if await api.store.get(key_of(kind, "", metadata["name"])) is not None:
        return
    now = api.now_text()
    metadata |= {"uid": api.new_uid(), "creationTimestamp": now}
    for condition in document["status"].get("conditions", ()):
        condition["lastTransitionTime"] = now
    with suppress(KeyExists):  # another server was faster
        await store_as_is(api, kind, admit_as_is(api, kind, copy_document(document)))


def api_services(groups: dict[str, dict[str, Any]]) -> Iterator[Raw]:
    """Yield the APIServices of groups and their versions, all of which are local."""
    for group, versions in groups.items():
        for version in versions:
            if group != _UNLISTED:
                yield _api_service(group, version)


def _api_service(group: str, version: str) -> Raw:
    is_built_in = group in GROUP_PRIORITIES
    spec = {
        "group": group,
        "version": version,
        "groupPriorityMinimum": GROUP_PRIORITIES.get(group, CUSTOM_PRIORITY),
        "versionPriority": _VERSION_PRIORITIES.get((group, version), _USUAL_PRIORITY) if is_built_in else 100,
    }
    condition = {
        "type": "Available",
        "status": "True",
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {
            "name": f"{version}.{group}",
            "labels": {_MANAGED: "onstart" if is_built_in else _WITH_DEFINITION},
        },
        "spec": {name: value for name, value in spec.items() if value != ""},
        "status": {"conditions": [condition]},
    }


#: Level → shares, percentage that may be lent, queues, queues of a flow.
_LEVELS: Final = {
    "system": (30, 33, 64, 6),
    "node-high": (40, 25, 64, 6),
    "leader-election": (10, 0, 16, 4),
    "workload-high": (40, 50, 128, 6),
    "workload-low": (100, 90, 128, 6),
    "global-default": (20, 50, 128, 6),
}


def _priority_levels() -> Iterator[Raw]:
    for name, (shares, lent, queues, hand) in _LEVELS.items():
        queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": 50}
        response = {"type": "Queue", "queuing": queuing}
        limited = {"nominalConcurrencyShares": shares, "lendablePercent": lent, "limitResponse": response}
        yield _of_flow_control("PriorityLevelConfiguration", name, {"type": "Limited", "limited": limited}, {})
    for name, spec in MANDATORY_LEVELS.items():
        yield _of_flow_control("PriorityLevelConfiguration", name, spec, {})


def _user(name: str) -> Raw:
    return {"kind": "User", "user": {"name": name}}


def _resources(verbs: list[str], group: str, resources: list[str], *, of_cluster: bool = False) -> Raw:
    rule: Raw = {"verbs": verbs, "apiGroups": [group], "resources": resources, "namespaces": ["*"]}
    return {**rule, "clusterScope": True} if of_cluster else rule


_MANAGER, _SCHEDULER = _user("system:kube-controller-manager"), _user("system:kube-scheduler")
_SYSTEM_ACCOUNTS: Raw = {"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "kube-system"}}
_LEASES: Final = "coordination.k8s.io"
_EVERYONE = groups_named("system:unauthenticated", "system:authenticated")
_HEALTH = {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}
_ELECTION = _resources(["get", "create", "update"], _LEASES, ["leases"])
_NODE_STATUS = [
    _resources(["*"], "", ["nodes", "nodes/status"], of_cluster=True),
    _resources(["*"], _LEASES, ["leases"]),
]

#: Schema → level, precedence, what tells flows apart, whose requests, for what.
_SCHEMAS: Final[dict[str, tuple[str, int, str, list[Raw], Raw]]] = {
    "probes": ("exempt", 2, "", _EVERYONE, {"nonResourceRules": [_HEALTH]}),
    "system-leader-election": (
        "leader-election",
        100,
        "ByUser",
        [_MANAGER, _SCHEDULER, _SYSTEM_ACCOUNTS],
        {"resourceRules": [_ELECTION]},
    ),
    "system-node-high": ("node-high", 400, "ByUser", groups_named("system:nodes"), {"resourceRules": _NODE_STATUS}),
    "system-nodes": ("system", 500, "ByUser", groups_named("system:nodes"), everything()),
    "kube-controller-manager": ("workload-high", 800, "ByNamespace", [_MANAGER], everything()),
    "kube-scheduler": ("workload-high", 800, "ByNamespace", [_SCHEDULER], everything()),
    "kube-system-service-accounts": ("workload-high", 900, "ByNamespace", [_SYSTEM_ACCOUNTS], everything()),
    "service-accounts": ("workload-low", 9000, "ByUser", groups_named("system:serviceaccounts"), everything()),
    "global-default": ("global-default", 9900, "ByUser", _EVERYONE, everything()),
}


def _flow_schemas() -> Iterator[Raw]:
    specs: dict[str, Raw] = {}
    for name, (level, precedence, method, subjects, rules) in _SCHEMAS.items():
        specs[name] = {
            "priorityLevelConfiguration": {"name": level},
            "matchingPrecedence": precedence,
            **({"distinguisherMethod": {"type": method}} if method else {}),
            "rules": [{"subjects": subjects, **rules}],
        }
    for name, spec in {**specs, **MANDATORY_SCHEMAS}.items():
        level = spec["priorityLevelConfiguration"]["name"]
        message = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" and it exists'
        condition = {"type": "Dangling", "status": "False", "reason": "Found", "message": message}
        yield _of_flow_control("FlowSchema", name, spec, {"conditions": [condition]})


def _of_flow_control(kind: str, name: str, spec: Raw, status: Raw) -> Raw:
    metadata = {"name": name, "generation": 1, "annotations": dict(_UPDATED)}
    return {"apiVersion": _FLOW_GROUP, "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def _service_range(addresses: str) -> Raw:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": [addresses]},
        "status": {"conditions": [ready]},
    }
