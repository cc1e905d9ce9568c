"""Loads of long texts: in formats of custom objects, schedules, images, Ingresses, Secrets, and of slow refusals."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench.stall.custom import DEFINITIONS, GROUP, definition, schema_of
from bench.stall.hostile import config_map, encoded, pod
from bench.stall.wire import Wire

if TYPE_CHECKING:
    from bench.stall.loads import Context

Raw = dict[str, Any]
Answers = Counter[str]
JSON_PATCH, JSON = "application/json-patch+json", "application/json"
PODS, MAPS = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/configmaps"
FORMATS = ("duration", "ipv4", "ipv6", "cidr", "email", "uri", "hostname", "byte", "mac", "isbn", "date-time")
TEXTS = f"/apis/{GROUP}/v1/namespaces/default/texts"
_ESTABLISHED_SECONDS = 0.5


def texts_definition() -> Raw:
    """Return a definition with one field for each format."""
    fields = {name.replace("-", ""): {"type": "string", "format": name} for name in FORMATS}
    return definition("texts", [schema_of({"type": "object", "properties": fields})])


def custom_text(name: str, field: str, text: str) -> Raw:
    head = {"apiVersion": f"{GROUP}/v1", "kind": "Texts", "metadata": {"name": name}}
    return {**head, "spec": {field.replace("-", ""): text}}


def _with_spec(api_version: str, kind: str, spec: Raw) -> Raw:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "long"}, "spec": spec}


def _documents() -> list[tuple[str, str, Raw]]:
    """Return (label, path, document)."""
    formats = {
        "duration": ["1" * 6_000, "0s" * 500_000, "1" * 2_000_000],
        "ipv4": [":" + "0" * 12_000 + "x."],
        "cidr": [":" + "0" * 12_000 + "x./8"],
        "email": ["(" * 1_000_000, "a " * 1_000_000, '"' * 1_000_000],
        "byte": ["AAAA" * 700_000 + "!"],
        "uri": ["http://a/" + "%41" * 900_000],
    }
    documents = [
        (f"format {name}", TEXTS, custom_text("long", name, text)) for name, texts in formats.items() for text in texts
    ]
    jobs = "/apis/batch/v1/namespaces/default/cronjobs"
    for schedule in ("@every " + "0s" * 300_000, "1," * 1_000_000 + " * * * *"):
        documents.append(
            ("schedule", jobs, _with_spec("batch/v1", "CronJob", {"schedule": schedule, "jobTemplate": {}}))
        )
    for image in ("a/" * 1_000_000, "a-" * 1_000_000, "a:" * 1_000_000):
        document = pod("long")
        document["spec"]["containers"][0]["image"] = image
        documents.append(("image", PODS, document))
    ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    backend = {"service": {"name": "a", "port": {"number": 80}}}
    for host, path in (("a." * 1_000_000, "/"), ("a", "/" + "a/" * 1_000_000), ("*" * 1_000_000, "//" * 500_000)):
        paths = [{"path": path, "pathType": "Exact", "backend": backend}]
        rules = [{"host": host, "http": {"paths": paths}}]
        documents.append(("ingress", ingresses, _with_spec("networking.k8s.io/v1", "Ingress", {"rules": rules})))
    for data in ("A" * 2_900_000, "A\n" * 1_400_000, "=" * 2_900_000):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "long"}, "data": {"a": data}}
        documents.append(("secret", "/api/v1/namespaces/default/secrets", secret))
    documents.append(("config map", MAPS, config_map("long", {"a": "\u00e9\n" * 500_000})))
    managed = [{"manager": "\0" * 500_000, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}]
    documents.append(("manager", MAPS, config_map("managed", {}, managedFields=managed)))
    return documents


async def long_texts(context: Context) -> Answers:
    """Send every text that some function once took seconds for."""
    answers: Answers = Counter()
    wire = Wire(context.access)
    await wire.ask("POST", DEFINITIONS, encoded(texts_definition()))
    await asyncio.sleep(_ESTABLISHED_SECONDS)
    for label, path, document in _documents():
        answers[f"{label} {(await wire.ask('POST', path, encoded(document))).status}"] += 1
    answers[f"base64 {(await wire.ask('POST', MAPS, base64.b64encode(bytes(2_000_000)))).status}"] += 1
    wire.close()
    return answers


async def slow_refusals(context: Context) -> Answers:
    """Change all 12,000 variables of a pod, which is refused with the difference, and copy a growing list."""
    answers: Answers = Counter()
    wire = Wire(context.access)
    document = pod("variables")
    container = document["spec"]["containers"][0]
    container["env"] = [{"name": f"V{number}", "value": "v"} for number in range(12_000)]
    answers[f"pod {(await wire.ask('POST', PODS, encoded(document))).status}"] += 1
    container["env"] = [{"name": f"W{number}", "value": f"w{number}"} for number in range(12_000)]
    patch = {"spec": {"containers": [container]}}
    copies = [{"op": "add", "path": "/metadata/annotations", "value": {"a": ["x"] * 20}}]
    copies += [{"op": "copy", "from": "/metadata/annotations/a", "path": "/metadata/annotations/a/-"}] * 100
    for _ in range(context.count(4)):
        reply = await wire.ask("PATCH", f"{PODS}/variables", encoded(patch), "application/merge-patch+json")
        answers[f"patch {reply.status}"] += 1
        answers[f"copies {(await wire.ask('PATCH', f'{PODS}/variables', encoded(copies), JSON_PATCH)).status}"] += 1
    wire.close()
    return answers
