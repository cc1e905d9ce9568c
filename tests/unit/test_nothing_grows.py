"""Nothing grows with history: things of all kinds are created, changed and deleted, each time under other names.

What all components keep is counted after some rounds and after three times as many, container by container; the paths
of those that have grown are named.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest.mock import patch

import msgspec
from tests.container_sizes import container_sizes, growing
from tests.whole_cluster import WholeCluster

from moorage.client.protocol import PatchType
from moorage.columns.codes import Codes
from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS, Kind
from moorage.serve.pki.authentication import User
from moorage.telemetry.apiserver_metrics import ApiServerMetrics

Raw = dict[str, Any]
ROUNDS = 5
GATES = gates_from({"AllAlpha": True})


def container(number: int) -> Raw:
    requests = {"cpu": f"{10 + number}m", f"example.com/r{number}": "1"}
    return {
        "name": "c",
        "image": f"registry/i{number}:1",
        "resources": {"requests": requests, "limits": {f"example.com/r{number}": "1"}},
        "ports": [{"containerPort": 80, "hostPort": 1000 + number}],
    }


def pod_spec(number: int) -> Raw:
    """A spec of which everything is new in each round."""
    labels = {"matchLabels": {"app": f"a{number}"}}
    term = {"labelSelector": labels, "topologyKey": f"key-{number}"}
    preferred = {"weight": 1, "podAffinityTerm": {"labelSelector": labels, "topologyKey": "kubernetes.io/hostname"}}
    wanted = {"matchExpressions": [{"key": f"rating-{number}", "operator": "Gt", "values": ["5"]}]}
    return {
        "containers": [container(number)],
        "terminationGracePeriodSeconds": 1,
        "tolerations": [
            {"key": "sla", "operator": "Equal", "value": str(number), "effect": "NoSchedule"},
            {"key": f"t{number}", "operator": "Exists"},
            {"expression": f"taint.value == 'x{number}'"},
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": f"key-{number}",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": labels,
            }
        ],
        "affinity": {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": wanted}]},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]},
        },
    }


def template(number: int, **spec: Any) -> Raw:
    return {"metadata": {"labels": {"app": f"a{number}"}}, "spec": {**pod_spec(number), **spec}}


def definition(number: int) -> Raw:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {f"field{number}": {"type": "integer", "default": number}},
                "x-kubernetes-validations": [{"rule": f"self.field{number} >= {number}"}],
            }
        },
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": f"things{number}", "singular": f"thing{number}", "kind": f"Thing{number}"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things{number}.g{number}.example.com"},
        "spec": {
            "group": f"g{number}.example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }


def namespaced(number: int) -> list[tuple[Kind, Raw]]:
    """What is created in the namespace of a round."""
    name = {"metadata": {"name": f"n{number}"}}
    selector = {"matchLabels": {"app": f"a{number}"}}
    requests = [{"name": "d", "exactly": {"deviceClassName": f"c{number}"}}]
    claims = [{"metadata": {"name": "data"}, "spec": claim_spec(number)}]
    stateful = template(number)
    stateful["spec"]["containers"][0]["ports"] = []
    return [
        (
            KINDS.RESOURCE_QUOTA,
            {**name, "spec": {"hard": {"pods": "50", f"count/things{number}.g{number}.example.com": "5"}}},
        ),
        (KINDS.LIMIT_RANGE, {**name, "spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}]}}),
        (KINDS.CONFIG_MAP, {**name, "data": {"a": str(number)}}),
        (KINDS.SECRET, {**name, "stringData": {"a": str(number)}}),
        (KINDS.SERVICE_ACCOUNT, name),
        (KINDS.ROLE, {**name, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}),
        (KINDS.ROLE_BINDING, {**name, "roleRef": role_ref("Role", number), "subjects": subjects(number)}),
        (
            KINDS.SERVICE,
            {**name, "spec": {"selector": {"app": f"a{number}"}, "ports": [{"port": 80}], "type": "NodePort"}},
        ),
        (KINDS.POD_DISRUPTION_BUDGET, {**name, "spec": {"selector": selector, "minAvailable": 1}}),
        (KINDS.PERSISTENT_VOLUME_CLAIM, {**name, "spec": claim_spec(number)}),
        (KINDS.RESOURCE_CLAIM, {**name, "spec": {"devices": {"requests": requests}}}),
        (KINDS.DEPLOYMENT, {**name, "spec": {"replicas": 2, "selector": selector, "template": template(number)}}),
        (
            KINDS.STATEFUL_SET,
            {
                **name,
                "spec": {
                    "serviceName": f"n{number}",
                    "replicas": 1,
                    "selector": selector,
                    "template": stateful,
                    "volumeClaimTemplates": claims,
                },
            },
        ),
        (KINDS.DAEMON_SET, {**name, "spec": {"selector": selector, "template": template(number)}}),
        (KINDS.JOB, {**name, "spec": {"template": job_template(number), "ttlSecondsAfterFinished": 5}}),
        (
            KINDS.CRON_JOB,
            {**name, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": job_template(number)}}}},
        ),
        (
            KINDS.HORIZONTAL_POD_AUTOSCALER,
            {
                **name,
                "spec": {
                    "maxReplicas": 3,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"n{number}"},
                },
            },
        ),
        (
            KINDS.POD,
            {
                "metadata": {"name": f"with-claims-{number}", "labels": {"app": f"b{number}"}},
                "spec": claiming_spec(number),
            },
        ),
        (
            KINDS.POD,
            {"metadata": {"name": f"never-{number}", "labels": {"app": f"c{number}"}}, "spec": never_spec(number)},
        ),
        (KINDS.LEASE, {**name, "spec": {"holderIdentity": str(number)}}),
    ]


def job_template(number: int) -> Raw:
    return {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": f"i{number}"}]}}


def claim_spec(number: int) -> Raw:
    requests = {"requests": {"storage": f"{number + 1}Gi"}}
    return {"accessModes": ["ReadWriteOnce"], "resources": requests, "storageClassName": f"s{number}"}


def claiming_spec(number: int) -> Raw:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": f"n{number}"}}
    spec = pod_spec(number) | {
        "volumes": [volume],
        "resourceClaims": [{"name": "d", "resourceClaimName": f"n{number}"}],
    }
    spec["containers"][0]["ports"] = []
    return spec


def never_spec(number: int) -> Raw:
    return pod_spec(number) | {"nodeSelector": {f"nowhere-{number}": "true"}}


def role_ref(kind: str, number: int) -> Raw:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": f"n{number}"}


def subjects(number: int) -> list[Raw]:
    return [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"u{number}"}]


def of_cluster(number: int) -> list[tuple[Kind, Raw]]:
    """What is created in no namespace, and deleted at the end of a round."""
    name = {"metadata": {"name": f"n{number}"}}
    slice_ = {
        "driver": f"d{number}.example.com",
        "nodeName": f"n{number}",
        "pool": {"name": f"n{number}", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d0", "attributes": {"model": {"string": f"m{number}"}}}],
    }
    expression = f'device.driver == "d{number}.example.com"'
    disk = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": f"s{number}",
        "csi": {"driver": f"disks{number}.example.com", "volumeHandle": f"h{number}"},
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "kubernetes.io/hostname", "operator": "In", "values": [f"n{number}"]}
                        ]
                    }
                ]
            }
        },
    }
    return [
        (KINDS.NODE, node(number)),
        (
            KINDS.CSI_NODE,
            {
                **name,
                "spec": {
                    "drivers": [{"name": f"disks{number}.example.com", "nodeID": "x", "allocatable": {"count": 3}}]
                },
            },
        ),
        (KINDS.PRIORITY_CLASS, {**name, "value": number}),
        (
            KINDS.STORAGE_CLASS,
            {
                "metadata": {"name": f"s{number}"},
                "provisioner": "moorage.dev/simulated",
                "volumeBindingMode": "WaitForFirstConsumer",
            },
        ),
        (KINDS.PERSISTENT_VOLUME, {**name, "spec": disk}),
        (
            KINDS.DEVICE_CLASS,
            {"metadata": {"name": f"c{number}"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}},
        ),
        (KINDS.RESOURCE_SLICE, {**name, "spec": slice_}),
        (KINDS.CLUSTER_ROLE, {**name, "rules": [{"nonResourceURLs": [f"/x{number}"], "verbs": ["get"]}]}),
        (
            KINDS.CLUSTER_ROLE_BINDING,
            {**name, "roleRef": role_ref("ClusterRole", number), "subjects": subjects(number)},
        ),
        (KINDS.RUNTIME_CLASS, {**name, "handler": f"h{number}"}),
    ]


def node(number: int) -> Raw:
    labels = {"kubernetes.io/hostname": f"n{number}", f"key-{number}": "x", f"rating-{number}": str(number)}
    allocatable = {"cpu": "8", "memory": "8Gi", "pods": "20", f"example.com/r{number}": "9"}
    return {
        "metadata": {"name": f"n{number}", "labels": labels},
        "spec": {"taints": [{"key": "sla", "value": str(number), "effect": "NoSchedule"}]},
        "status": {
            "allocatable": allocatable,
            "capacity": allocatable,
            "images": [{"names": [f"registry/i{number}:1"], "sizeBytes": 5}],
        },
    }


async def live(cluster: WholeCluster, number: int) -> None:
    """Let one round happen: everything comes, changes and goes."""
    client, name = cluster.client, f"n{number}"
    await client.create(KINDS.NAMESPACE, {"metadata": {"name": name, "labels": {"round": str(number)}}})
    await client.create(KINDS.CUSTOM_RESOURCE_DEFINITION, definition(number))
    for kind, document in of_cluster(number):
        await client.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, **document})
    for kind, document in namespaced(number):
        await client.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, **document}, name)
    await ask_for_things(cluster, number)
    await cluster.settle(20.0)
    for value in range(3):
        changed: Raw = {"spec": {"taints": [{"key": "sla", "value": f"{number}-{value}", "effect": "NoSchedule"}]}}
        changed["metadata"] = {"labels": {f"rating-{number}": str(100 * number + value)}}
        await client.patch(KINDS.NODE, name, "", changed, patch_type=PatchType.MERGE)
        relabelled = {"spec": {"template": {"metadata": {"labels": {"step": f"{number}-{value}"}}}}}
        await client.patch(KINDS.DEPLOYMENT, name, name, relabelled, patch_type=PatchType.MERGE)
        await cluster.settle(20.0)
    assert await cluster.ask("GET", f"/api/v1/namespaces/{name}/pods") == 200
    await client.delete(KINDS.CUSTOM_RESOURCE_DEFINITION, f"things{number}.g{number}.example.com")
    await client.delete(KINDS.NAMESPACE, name)
    await cluster.settle(60.0)
    for kind, document in of_cluster(number):
        with suppress(ApiError):  # a claim's volume is gone by now
            await client.delete(kind, document["metadata"]["name"])
    await cluster.settle(120.0)


async def ask_for_things(cluster: WholeCluster, number: int) -> None:
    """Ask over HTTP: custom objects, as a user of the round, paths that are not there, watches, tables, documents."""
    name, user = f"n{number}", User(f"u{number}", groups=("system:authenticated", f"g{number}"))
    things = f"/apis/g{number}.example.com/v1/namespaces/{name}/things{number}"
    document = {
        "apiVersion": f"g{number}.example.com/v1",
        "kind": f"Thing{number}",
        "metadata": {"name": "t"},
        "spec": {},
    }
    await cluster.settle(1.0)
    assert await cluster.ask("POST", things, msgspec.json.encode(document)) == 201
    spec = {"spec": {f"field{number}": number + 1}}
    merge = {"content-type": "application/merge-patch+json"}
    assert await cluster.ask("PATCH", f"{things}/t", msgspec.json.encode(spec), headers=merge) == 200
    assert await cluster.ask("PATCH", f"{things}/t/status", b"{}", headers=merge) == 200
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    for target in (
        things,
        f"{things}?watch=true",
        f"/api/v1/namespaces/{name}/pods",
        "/metrics",
        f"/api/v1/pods?labelSelector=a={number}",
    ):
        assert await cluster.ask("GET", target) == 200, target
        await cluster.ask("GET", target, user=user, headers=table)
    for target in (
        f"/apis/g{number}.example.com/v1",
        f"/openapi/v3/apis/g{number}.example.com/v1",
        "/openapi/v2",
        "/apis",
    ):
        assert await cluster.ask("GET", target) == 200, target
    for target in (
        f"/nothing/{number}",
        f"/apis/gone{number}/v1/x",
        f"/api/v1/namespaces/{name}/things",
        f"/api/v1/nodes/{name}/what{number}",
    ):
        assert await cluster.ask("GET", target) in (403, 404), target
    review = {
        "spec": {
            "resourceAttributes": {"verb": "get", "resource": f"things{number}", "namespace": name},
            "user": f"u{number}",
        }
    }
    await cluster.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", msgspec.json.encode(review))
    await cluster.ask("POST", f"/api/v1/namespaces/{name}/serviceaccounts/{name}/token", b'{"spec": {}}')
    await cluster.ask("PURGE", f"/api/v1/namespaces/{name}/pods")


#: Tables that are bounded by a number: it is made so small that a few rounds reach it.
LIMITS: dict[str, dict[str, Any]] = {
    "moorage.client.event_recorders": {"MAX_REMEMBERED": 2, "MAX_SERIES": 2},
    "moorage.columns.change_log": {"_LIMIT": 8},
    "moorage.columns.devices.devices": {"_FEW_CODES": 2, "_CODES_PER_NODE": 1},
    "moorage.columns.node_table": {"_COLUMNS_KEPT": 2},
    "moorage.columns.priority_levels": {"_FEW_ARRAYS": 2},
    "moorage.match.evaluation.accounts": {"_ACCOUNTS_KEPT": 2},
    "moorage.match.tolerations.ProgramCache.__init__": {"__defaults__": (2, None)},
    "moorage.watch.state": {"MAX_HAPPENINGS": 10},
    "moorage.control.garbage": {"_MAX_ABSENT": 4},
    "moorage.control.resource_claim.controller": {"_MAX_GONE": 2},
    "moorage.schedule.plugins.devices.dynamic_resources": {"_SPECS_KEPT": 2},
    "moorage.schedule.plugins.taint_toleration": {"_WANTS_KEPT": 4},
    "moorage.serve.requests.loopback": {"_MAX_ALLOWED": 8},
    "moorage.store.partition": {"FEW": 4},
}


@contextmanager
def small_limits() -> Iterator[None]:
    with ExitStack() as stack:
        for module, limits in LIMITS.items():
            for name, limit in limits.items():
                stack.enter_context(patch(f"{module}.{name}", limit))
        yield


async def grown(rounds: int) -> dict[str, tuple[int, int]]:
    """Return the containers that grow with rounds, and go on growing with more of them.

    A table below its bound, or a series of a metric that comes late, grows once.
    """
    with small_limits():
        async with WholeCluster.running(GATES) as cluster:
            done = 0

            async def sizes_after(more: int) -> dict[str, int]:
                nonlocal done
                for number in range(done, done + more):
                    await live(cluster, number)
                done += more
                cluster.tidy()
                return container_sizes(cluster.parts)

            before = await sizes_after(rounds)
            after = await sizes_after(2 * rounds)
            grown = growing(before, after, 2 * rounds)
            for _ in range(2):
                if grown:
                    before, after = after, await sizes_after(2 * rounds)
                    grown = {path: sizes for path, sizes in growing(before, after, 2 * rounds).items() if path in grown}
            return grown


async def test_no_container_of_any_component_grows_with_rounds() -> None:
    paths = await grown(ROUNDS)
    assert paths == {}, "\n".join(f"{path}: {old} → {new}" for path, (old, new) in paths.items())


async def test_components_that_keep_what_is_gone_are_named() -> None:
    with (
        patch.object(Codes, "give_back", lambda codes, code: None),
        patch.object(ApiServerMetrics, "keep_resources", lambda metrics, served: None),
        patch("moorage.admit.objects_world._drop", lambda filed, namespace, name: None),
    ):
        paths = await grown(2)
    assert {
        "api.directory._ranges",
        "api.metrics._total._children",
        "scheduler.scheduler.cluster.nodes.taint_sets.codes.code_of",
    } <= paths.keys()
