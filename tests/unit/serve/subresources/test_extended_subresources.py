"""Every verb of every resource is seen by policies and webhooks, which may refuse it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
from tests.unit.serve.access.test_certificate_requests import APPROVED, csr
from tests.unit.serve.custom.test_published import definition
from tests.unit.serve.verbs.bench import ME, Raw, deployment, document, make, pod
from tests.unit.serve.verbs.stand_ins import Asked, asked, extended_api

from moorage.admit.extension.attributes import Attributes, ObjectKind, UserInfo
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.request import Binding
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.subresources.pods import bind_to
from moorage.serve.verbs.creating import create
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

__all__ = ["asked"]

PODS, DEPLOYMENTS = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments"
BOATS = "/apis/harbour.test/v1/namespaces/default/boats"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CSR = "/apis/certificates.k8s.io/v1/certificatesigningrequests/r"
CONTENT = {"merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json"}
BINDING = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": {"name": "n1"}}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}
TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
DEBUGGER = {"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}}
BIGGER = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
APPLIED_SCALE = {**SCALE, "metadata": {"name": "web"}}


class Case(NamedTuple):
    """A request, and what policies and webhooks see of it."""

    method: str
    path: str
    body: Any
    operation: str
    kind: ObjectKind
    name: str
    subresource: str = ""
    has_object: bool = True
    has_old: bool = False
    content: str = "application/json"


POD, NAMESPACE = ObjectKind("", "v1", "Pod"), ObjectKind("", "v1", "Namespace")
SCALED, BOAT = ObjectKind("autoscaling", "v1", "Scale"), ObjectKind("harbour.test", "v1", "Boat")
OF_CSR = ObjectKind("certificates.k8s.io", "v1", "CertificateSigningRequest")
OF_TOKENS = ObjectKind("authentication.k8s.io", "v1", "TokenRequest")
APPROVAL = {"status": {"conditions": [APPROVED]}}
BERTA = {"apiVersion": "harbour.test/v1", "kind": "Boat", "metadata": {"name": "berta"}}
LABELLED = {"metadata": {"labels": {"a": "b"}}}
FINALIZED = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}, "spec": {"finalizers": []}}

CASES = [
    Case("POST", PODS, pod("two"), "CREATE", POD, "two"),
    Case("PATCH", f"{PODS}/web", LABELLED, "UPDATE", POD, "web", has_old=True, content="merge"),
    Case("DELETE", f"{PODS}/web", None, "DELETE", POD, "web", has_object=False, has_old=True),
    Case("DELETE", PODS, None, "DELETE", POD, "", has_object=False, has_old=True),
    Case("POST", f"{PODS}/web/binding", BINDING, "CREATE", ObjectKind("", "v1", "Binding"), "web", "binding"),
    Case("POST", "/api/v1/namespaces/default/bindings", BINDING, "CREATE", ObjectKind("", "v1", "Binding"), "web"),
    Case("POST", f"{PODS}/web/eviction", EVICTION, "CREATE", ObjectKind("policy", "v1", "Eviction"), "web", "eviction"),
    Case("POST", f"{PODS}/web/exec?command=ls", None, "CONNECT", ObjectKind("", "v1", "PodExecOptions"), "web", "exec"),
    Case("GET", f"{PODS}/web/attach", None, "CONNECT", ObjectKind("", "v1", "PodAttachOptions"), "web", "attach"),
    Case("GET", f"{PODS}/web/proxy", None, "CONNECT", ObjectKind("", "v1", "PodProxyOptions"), "web", "proxy"),
    Case("PATCH", f"{PODS}/web/status", {"status": {"phase": "Running"}}, "UPDATE", POD, "web", "status", has_old=True,
         content="strategic"),
    Case("PATCH", f"{PODS}/web/ephemeralcontainers", DEBUGGER, "UPDATE", POD, "web", "ephemeralcontainers",
         has_old=True, content="strategic"),
    Case("PATCH", f"{PODS}/bound/resize", BIGGER, "UPDATE", POD, "bound", "resize", has_old=True, content="strategic"),
    Case("PUT", f"{DEPLOYMENTS}/web/scale", SCALE, "UPDATE", SCALED, "web", "scale", has_old=True),
    Case("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 4}}, "UPDATE", SCALED, "web", "scale", has_old=True,
         content="merge"),
    Case("PATCH", f"{DEPLOYMENTS}/web/scale?fieldManager=m&force=true", SCALE, "UPDATE", SCALED, "web", "scale",
         has_old=True, content="application/apply-patch+yaml"),
    Case("POST", f"{ACCOUNTS}/default/token", TOKEN, "CREATE", OF_TOKENS, "default", "token"),
    Case("PUT", "/api/v1/namespaces/going/finalize", FINALIZED, "UPDATE", NAMESPACE, "going", "finalize", has_old=True),
    Case("PATCH", f"{CSR}/approval", APPROVAL, "UPDATE", OF_CSR, "r", "approval", has_old=True, content="merge"),
    Case("POST", BOATS, BERTA, "CREATE", BOAT, "berta"),
    Case("PATCH", f"{BOATS}/anna/status", {"status": {"a": 1}}, "UPDATE", BOAT, "anna", "status", has_old=True,
         content="merge"),
    Case("PATCH", f"{BOATS}/anna/scale", {"spec": {"replicas": 2}}, "UPDATE", SCALED, "anna", "scale", has_old=True,
         content="merge"),
    Case("DELETE", f"{BOATS}/anna", None, "DELETE", BOAT, "anna", has_object=False, has_old=True),
    Case("DELETE", "/api/v1/namespaces/going", None, "DELETE", NAMESPACE, "going", has_object=False, has_old=True),
]  # fmt: skip


@asynccontextmanager
async def handler_and_objects() -> AsyncIterator[Handler]:
    async with extended_api() as api:
        await make(api, KINDS.NODE, document(KINDS.NODE, "n1", status={"allocatable": {"cpu": "8", "pods": "9"}}))
        await make(api, KINDS.POD, pod("web"))
        bound = pod("bound")
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        bound["spec"] |= {"nodeName": "n1", "containers": [container]}
        await make(api, KINDS.POD, bound)
        await make(api, KINDS.DEPLOYMENT, deployment("web"))
        await make(api, KINDS.SERVICE_ACCOUNT, document(KINDS.SERVICE_ACCOUNT, "default"))
        await make(api, KINDS.NAMESPACE, document(KINDS.NAMESPACE, "going"))
        await make(api, KINDS.CERTIFICATE_SIGNING_REQUEST, csr())
        await make(api, KINDS.CUSTOM_RESOURCE_DEFINITION, _boats())
        kind = api.resources.find("harbour.test", "v1", "boats")
        assert kind is not None
        await create(api, kind, "default", document(kind, "anna", spec={"replicas": 1}), ME)
        yield Handler(api, WebPaths((), Metrics().render), ApiServerMetrics(Metrics()))


def _boats() -> Raw:
    raw = definition("v1")
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    raw["spec"]["versions"][0] |= {
        "subresources": {"status": {}, "scale": paths},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema, "status": schema}}},
    }
    return raw


async def _answer(handler: Handler, case: Case) -> tuple[int, str]:
    content = CONTENT.get(case.content, case.content)
    body = b"" if case.body is None else json.dumps(case.body).encode()
    try:
        answer = await handler(Request(case.method, case.path, {"content-type": content}, body, user=ADMIN))
    except ApiError as error:
        return error.code, error.message
    assert isinstance(answer, Response | Stream)
    return answer.status, ""


def _id(case: Case) -> str:
    return f"{case.method} {case.path.rpartition('v1/')[2]} {case.content}"


#: What there is no container for.
NOTHING_RUNS = ("containers are never run", "host assigned", "address not allowed")


@pytest.mark.parametrize("case", CASES, ids=_id)
async def test_every_verb_is_seen_and_may_be_refused(case: Case, asked: Asked) -> None:
    async with handler_and_objects() as handler:
        asked.mutations.clear()
        asked.validations.clear()
        code, message = await _answer(handler, case)
        assert code < 300 or any(text in message for text in NOTHING_RUNS), message
        for seen in (asked.mutations, asked.validations):
            assert seen, "nobody was asked"
            assert _shown(seen[0]) == case[3:9]
            assert seen[0].user == UserInfo(*ADMIN)
            if case.operation == "CONNECT":
                assert seen[0].options is None
            else:
                assert seen[0].options is not None
                assert seen[0].options["kind"] == f"{case.operation.capitalize()}Options"
        assert asked.mutations[0].resource == asked.validations[0].resource


def _shown(attributes: Attributes) -> tuple[Any, ...]:
    documents = attributes.object is not None, attributes.old is not None
    return attributes.operation, attributes.kind, attributes.name, attributes.subresource, *documents


@pytest.mark.parametrize("case", CASES, ids=_id)
async def test_what_is_refused_is_not_done(case: Case, asked: Asked) -> None:
    async with handler_and_objects() as handler:
        asked.refuses = lambda attributes: True
        before = handler._api.store.revision
        assert (await _answer(handler, case))[0] == 403
        assert handler._api.store.revision == before


async def test_a_scale_that_is_changed_is_written(asked: Asked) -> None:
    asked.changes.append(lambda raw: raw["spec"].update(replicas=7) if raw["kind"] == "Scale" else None)
    async with handler_and_objects() as handler:
        for case in (case for case in CASES if case.kind == SCALED):
            assert (await _answer(handler, case))[0] == 200
        web = await handler._api.store.get("/apps/deployments/default/web")
        anna = await handler._api.store.get("/harbour.test/boats/default/anna")
        assert web is not None
        assert anna is not None
        assert json.loads(web.value)["spec"]["replicas"] == json.loads(anna.value)["spec"]["replicas"] == 7


async def test_a_binding_that_is_changed_binds_to_another_node(asked: Asked) -> None:
    asked.changes.append(lambda raw: raw["target"].update(name="n2") if raw["kind"] == "Binding" else None)
    async with extended_api() as api:
        await make(api, KINDS.POD, pod("web"))
        binding = Binding(metadata=ObjectMeta(name="web"), target=ObjectReference(kind="Node", name="n1"))
        await bind_to(api, "default", "web", binding)
        stored = await api.store.get("/pods/default/web")
        assert stored is not None
        assert stored.view.spec.nodeName == "n2"


async def test_components_are_refused_as_themselves(asked: Asked) -> None:
    asked.refuses = lambda attributes: attributes.user.name == "kubernetes-admin"
    async with extended_api() as api:
        client = LoopbackClient(api, "test", ADMIN)
        with pytest.raises(ApiError, match="one refused"):
            await client.create(KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one"), "default")
        await LoopbackClient(api, "test").create(KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one"), "default")
        with pytest.raises(ApiError, match="one refused"):
            await client.delete(KINDS.CONFIG_MAP, "one", "default")


async def test_a_deletion_shows_its_options(asked: Asked) -> None:
    async with handler_and_objects() as handler:
        path = f"{DEPLOYMENTS}/web?propagationPolicy=Orphan&dryRun=All&gracePeriodSeconds=0"
        await _answer(handler, Case("DELETE", path, None, "DELETE", POD, "web"))
        (seen,) = (attributes for attributes in asked.validations if attributes.operation == "DELETE")
        assert seen.dry_run
        sent = {"propagationPolicy": "Orphan", "dryRun": ["All"], "gracePeriodSeconds": 0}
        assert seen.options == {"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", **sent}
        assert Ref(KINDS.DEPLOYMENT, seen.namespace, seen.name) == Ref(KINDS.DEPLOYMENT, "default", "web")


async def test_deletions_of_a_collection_show_the_options_that_were_sent(asked: Asked) -> None:
    async with handler_and_objects() as handler:
        await _answer(handler, Case("DELETE", f"{PODS}/web?dryRun=All", None, "DELETE", POD, "web"))
        await _answer(handler, Case("DELETE", f"{PODS}?dryRun=All", None, "DELETE", POD, ""))
        one, *every = (attributes for attributes in asked.validations if attributes.operation == "DELETE")
        assert "gracePeriodSeconds" in (one.options or {})
        assert every
        assert not any("gracePeriodSeconds" in (each.options or {}) for each in every)


async def test_a_policy_may_set_the_replicas_that_a_custom_object_lacks(asked: Asked) -> None:
    async with handler_and_objects() as handler:
        merge = CONTENT["merge"]
        await _answer(handler, Case("PATCH", f"{BOATS}/anna", {"spec": None}, "UPDATE", POD, "", content=merge))
        asks = Case("PATCH", f"{BOATS}/anna/scale", {"metadata": {}}, "UPDATE", SCALED, "anna", content=merge)
        assert (await _answer(handler, asks))[0] == 400
        asked.changes.append(lambda raw: raw["spec"].update(replicas=3) if raw["kind"] == "Scale" else None)
        assert (await _answer(handler, asks))[0] == 200


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "a container name must be specified for pod two, choose one of: [i c d]"),
        ("?container=e", "container e is not valid for pod two"),
        ("?container=i", "pod two does not have a host assigned"),
    ],
)
async def test_connections_are_to_a_container_of_the_pod(query: str, message: str) -> None:
    async with extended_api() as api:
        both = {"containers": [{"name": name, "image": "i"} for name in "cd"]}
        spec = {**both, "initContainers": [{"name": "i", "image": "i"}]}
        await make(api, KINDS.POD, document(KINDS.POD, "two", spec=spec))
        metrics = Metrics()
        handler = Handler(api, WebPaths((), metrics.render, api.resources), ApiServerMetrics(metrics))
        code, refusal = await _answer(handler, Case("POST", f"{PODS}/two/attach{query}", None, "CONNECT", POD, "two"))
        assert (code, refusal) == (400, message)


async def test_a_debugging_container_is_seen_with_its_defaults(asked: Asked) -> None:
    async with handler_and_objects() as handler:
        asks = Case("PATCH", f"{PODS}/web/ephemeralcontainers", DEBUGGER, "UPDATE", POD, "web", content="strategic")
        await _answer(handler, asks)
        (seen,) = (each for each in asked.mutations if each.subresource == "ephemeralcontainers")
        assert seen.object is not None
        assert seen.object["spec"]["ephemeralContainers"][0]["imagePullPolicy"] == "Always"
