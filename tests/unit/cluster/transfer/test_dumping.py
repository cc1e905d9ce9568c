"""`moorage dump`: which objects are in it, what is left out, and what is said of kinds that may not be listed."""

import asyncio
import base64
from collections.abc import Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any, cast

import pytest

import moorage
from moorage.client.http_client import HttpClient
from moorage.client.protocol import Listing
from moorage.cluster.transfer.dumping import Dump, DumpError
from moorage.model.api_error import failure, forbidden, no_such_path
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_documents
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore

DOCKER = base64.b64encode(b'{"auths": {"registry": {"password": "hunter2"}}}').decode()
FORBIDDEN = forbidden(KINDS.SECRET, "", "bob may not")
SECRETS: dict[str, dict[str, Any]] = {
    "plain": {"stringData": {"password": "hunter2", "user": "hunter2"}},
    "registry": {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": DOCKER}},
    "ssh": {"type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": "hunter2"}},
    "tls": {"type": "kubernetes.io/tls", "stringData": {"tls.crt": "hunter2", "tls.key": "hunter2"}},
    "basic": {"type": "kubernetes.io/basic-auth", "stringData": {"password": "hunter2"}},
}
LAST_APPLIED = {
    "kubectl.kubernetes.io/last-applied-configuration": '{"stringData":{"password":"hunter2"}}',
    "team": "a",
}


class _Reserved(LoopbackClient):
    """Refuses some kinds, and serves metrics."""

    def __init__(self, api: Api, refusals: Mapping[str, Exception], metrics: str) -> None:
        super().__init__(api, "test")
        self._missing, self._metrics = refusals, metrics

    async def list_all(self, facts: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        if facts.name in self._missing:
            raise self._missing[facts.name]
        return await super().list_all(facts, namespace, labels=labels, fields=fields)

    async def get_path(self, path: str) -> bytes:
        return self._metrics.encode()


def dump_of(
    *namespaces: str, metrics: str = "", refusals: Mapping[str, Exception] = MappingProxyType({})
) -> tuple[str, list[dict[str, Any]], list[str], list[str]]:
    """Dump a cluster with Secrets, ConfigMaps in two namespaces and a custom object."""

    async def story() -> tuple[str, list[str], list[str]]:
        api = Api(MemoryStore(), default_gates())
        await api.start()
        await bootstrap(api, 443)
        client = _Reserved(api, refusals, metrics)
        await client.create(KINDS.NODE, {"metadata": {"name": "n1"}})
        await client.create(KINDS.NAMESPACE, {"metadata": {"name": "shop"}})
        for name, content in SECRETS.items():
            about = {"name": name, "namespace": "default", "annotations": LAST_APPLIED}
            await client.create(KINDS.SECRET, {"metadata": about, **content})
        for namespace in ("default", "shop"):
            about = {"name": "words", "namespace": namespace}
            await client.create(KINDS.CONFIG_MAP, {"metadata": about, "data": {"a": "y", "b": "0o17", "c": "1\n2\n"}})
        try:
            dump = Dump(cast(HttpClient, client), namespaces)
            text = "".join([document async for document in dump.documents()])
            return text, dump.gaps, dump.remarks
        finally:
            await api.store.close()

    text, gaps, remarks = asyncio.run(story())
    documents = []
    for document in read_documents(BytesIO(text.encode()), "dump"):
        assert not isinstance(document, DecodeError), document
        documents.append(document.raw)
    return text, documents, gaps, remarks


def of_kind(documents: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [document for document in documents if document["kind"] == kind]


def test_secrets_keep_names_of_values_and_stay_valid() -> None:
    text, documents, gaps, remarks = dump_of()
    assert (gaps, remarks) == ([], [])
    assert "hunter2" not in text
    assert DOCKER not in text
    assert base64.b64encode(b"hunter2").decode() not in text
    secrets = {secret["metadata"]["name"]: secret for secret in of_kind(documents, "Secret")}
    assert {name: sorted(secret["data"]) for name, secret in secrets.items()} == {
        "plain": ["password", "user"],
        "registry": [".dockerconfigjson"],
        "ssh": ["ssh-privatekey"],
        "tls": ["tls.crt", "tls.key"],
        "basic": ["password"],
    }
    assert secrets["plain"]["metadata"]["annotations"] == {"team": "a"}
    assert moorage.lint(text).errors == ()


def test_texts_that_look_like_numbers_or_booleans_stay_texts() -> None:
    words = [document["data"] for document in of_kind(dump_of()[1], "ConfigMap") if "a" in document["data"]]
    assert words == [{"a": "y", "b": "0o17", "c": "1\n2\n"}] * 2


def test_objects_without_a_namespace_stay_when_namespaces_are_chosen() -> None:
    _, documents, gaps, remarks = dump_of("shop", "shop")
    assert {document["metadata"].get("namespace") for document in documents} == {None, "shop"}
    assert of_kind(documents, "Node")
    assert len(of_kind(documents, "ConfigMap")) == 1
    assert (gaps, len(remarks)) == ([], 1)
    with pytest.raises(DumpError, match=r"there is no namespace 'shpo' \(there are: default, .*shop\)"):
        dump_of("shpo")


@pytest.mark.parametrize(
    ("refusals", "gaps", "remarks"),
    [
        (
            {"Secret": FORBIDDEN, "ClusterRole": FORBIDDEN},
            [],
            ["without secrets, clusterroles, which you may not list"],
        ),
        ({"PriorityClass": FORBIDDEN, "LimitRange": FORBIDDEN}, ["you may not list priorityclasses, limitranges:"], []),
        ({"ResourceSlice": no_such_path()}, [], []),
        ({"ResourceSlice": failure(503, "ServiceUnavailable", "later")}, ["resourceslices were not read: later"], []),
    ],
)
def test_kinds_that_cannot_be_listed_are_named(
    refusals: dict[str, Exception], gaps: list[str], remarks: list[str]
) -> None:
    _, _, found_gaps, found_remarks = dump_of(refusals=refusals)
    for found, wanted in ((found_gaps, gaps), (found_remarks, remarks)):
        assert [line[: len(text)] for line, text in zip(found, wanted, strict=True)] == wanted


@pytest.mark.parametrize("kind", ["Node", "Pod"])
def test_without_nodes_or_pods_there_is_no_dump(kind: str) -> None:
    with pytest.raises(DumpError, match="cannot be listed"):
        dump_of(refusals={kind: FORBIDDEN})


def test_gates_that_are_not_the_defaults_are_named_first() -> None:
    line = 'kubernetes_feature_enabled{component="%s",name="%s",stage="ALPHA"} %d\n'
    metrics = line % ("kube-apiserver", "TaintTolerationCEL", 1) + line % ("kube-scheduler", "TaintTolerationCEL", 0)
    options = "--feature-gates=TaintTolerationCEL=true --scheduler-feature-gates=TaintTolerationCEL=false"
    text, _, gaps, [remark] = dump_of(metrics=metrics)
    assert text.startswith(f"# Read it with the feature gates of the cluster: {options}\n---\n")
    assert remark.endswith(options)
    assert gaps == []
