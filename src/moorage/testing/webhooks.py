"""Serve admission and conversion webhooks that are written in Python, while a test runs.

def refuse_latest(request):
    image = request["object"]["spec"]["containers"][0]["image"]
    return deny(f"{image} has no version") if image.endswith(":latest") else allow()

with WebhookServer(refuse_latest) as webhook, Cluster() as cluster:
    cluster.apply(webhook.validating("images", resources=["pods"]))
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.testing.https_server import HttpReply, HttpsServer

Document = dict[str, Any]
_MANY_SECONDS = 10


class Verdict(NamedTuple):
    """What a webhook answers. `patch` are operations of a JSON patch."""

    allowed: bool = True
    message: str = ""
    code: int = 0
    patch: tuple[Document, ...] = ()
    warnings: tuple[str, ...] = ()
    audit: Mapping[str, str] = {}


def allow(*, warnings: Sequence[str] = (), audit: Mapping[str, str] | None = None) -> Verdict:
    """Let a request pass."""
    return Verdict(warnings=tuple(warnings), audit=audit or {})


def deny(message: str, *, code: int = 403, warnings: Sequence[str] = ()) -> Verdict:
    """Refuse a request."""
    return Verdict(False, message, code, warnings=tuple(warnings))


def patch(*operations: Document, warnings: Sequence[str] = ()) -> Verdict:
    """Change the object of a request: `patch({"op": "add", "path": "/metadata/labels", "value": {}})`."""
    return Verdict(patch=operations, warnings=tuple(warnings))


#: From the request of an AdmissionReview to an answer: a verdict, or the object as it shall be, or None for yes.
Review = Callable[[Document], "Verdict | Document | None"]
#: From an object and an apiVersion to the object in that version.
Convert = Callable[[Document, str], Document]


class WebhookServer:
    """A webhook while its `with` block lasts: own authority, own certificate, own port on 127.0.0.1.

    `requests` are those that it was asked about, in order. A function that raises answers with 500 and the error.
    """

    def __init__(self, review: Review | None = None, *, convert: Convert | None = None, service: str = "") -> None:
        """`service` is NAMESPACE/NAME of the Service that the webhook stands for, whose name its certificate has then.

        The cluster finds it by `Cluster(webhook_services={service: webhook.url})` or an annotation of the Service.
        """
        self.requests: list[Document] = []
        self._review, self._convert, self._service = review, convert, service
        namespace, _, name = service.partition("/")
        names = (f"{name}.{namespace}.svc",) if service else ()
        self._server = HttpsServer(self._respond, ("127.0.0.1", "localhost", *names))

    def __enter__(self) -> WebhookServer:
        self._server.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        self._server.__exit__(*reason)

    @property
    def url(self) -> str:
        """Where it is: https://127.0.0.1:PORT."""
        return self._server.url

    @property
    def client_config(self) -> Document:
        """The clientConfig of a webhook or of a conversion."""
        if not self._service:
            return {"url": self.url + "/", "caBundle": self._server.ca_bundle}
        namespace, _, name = self._service.partition("/")
        service = {"namespace": namespace, "name": name, "path": "/", "port": 443}
        return {"service": service, "caBundle": self._server.ca_bundle}

    @property
    def conversion(self) -> Document:
        """The `spec.conversion` of a CustomResourceDefinition."""
        webhook = {"clientConfig": self.client_config, "conversionReviewVersions": ["v1"]}
        return {"strategy": "Webhook", "webhook": webhook}

    def validating(self, name: str, **webhook: Any) -> Document:
        """Return a ValidatingWebhookConfiguration with one webhook; see `mutating`."""
        return _configuration("ValidatingWebhookConfiguration", name, self.client_config, webhook)

    def mutating(self, name: str, **webhook: Any) -> Document:
        """Return a MutatingWebhookConfiguration with one webhook.

        Of the rule: `operations` (CREATE and UPDATE), `groups`, `versions` and `resources`, all of them if not given.
        Anything else is a field of the webhook: `failurePolicy="Ignore"`, `objectSelector={…}`, `rules=[…]`.
        """
        return _configuration("MutatingWebhookConfiguration", name, self.client_config, webhook)

    def _respond(self, path: str, body: bytes) -> HttpReply:
        try:
            document = json.loads(body)
            answer = self._converted if document["kind"] == "ConversionReview" else self._reviewed
            response = {"uid": document["request"]["uid"], **answer(document["request"])}
        except Exception as error:
            return HttpReply(500, f"{type(error).__name__}: {error}".encode(), "text/plain")
        review = {"apiVersion": document["apiVersion"], "kind": document["kind"], "response": response}
        return HttpReply(body=json.dumps(review).encode())

    def _reviewed(self, request: Document) -> Document:
        self.requests.append(request)
        said = self._review(copy.deepcopy(request)) if self._review is not None else None
        if said is None:
            verdict = allow()
        else:
            verdict = said if isinstance(said, Verdict) else patch(*_operations(request.get("object") or {}, said))
        response: Document = {"allowed": verdict.allowed, "warnings": list(verdict.warnings)}
        response["auditAnnotations"] = dict(verdict.audit)
        if not verdict.allowed:
            response["status"] = {"message": verdict.message, "code": verdict.code}
        if verdict.patch:
            encoded = base64.b64encode(json.dumps(verdict.patch).encode()).decode()
            response |= {"patchType": "JSONPatch", "patch": encoded}
        return response

    def _converted(self, request: Document) -> Document:
        if self._convert is None:
            return {"result": {"status": "Failure", "message": "this webhook converts nothing"}}
        version = request["desiredAPIVersion"]
        converted = [{**self._convert(one, version), "apiVersion": version} for one in request["objects"]]
        return {"result": {"status": "Success"}, "convertedObjects": converted}


def _configuration(kind: str, name: str, client: Document, webhook: Document) -> Document:
    webhook = dict(webhook)
    rule = {
        "operations": webhook.pop("operations", ["CREATE", "UPDATE"]),
        "apiGroups": webhook.pop("groups", ["*"]),
        "apiVersions": webhook.pop("versions", ["*"]),
        "resources": webhook.pop("resources", ["*"]),
    }
    fields = {
        "name": name if name.count(".") >= 2 else f"{name}.webhook.test",
        "clientConfig": client,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": _MANY_SECONDS,
        "rules": [rule],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [{**fields, **webhook}],
    }


def _operations(old: Document, new: Document) -> list[Document]:
    """Return a patch that makes one object the other, by their fields."""
    changed = [
        {"op": "add", "path": f"/{name}", "value": value} for name, value in new.items() if old.get(name) != value
    ]
    return [*changed, *({"op": "remove", "path": f"/{name}"} for name in old if name not in new)]
