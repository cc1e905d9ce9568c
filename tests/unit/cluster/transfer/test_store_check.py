"""Every kind of damage is found, with its key; what an API server wrote has none."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.etcd_process import EtcdCluster
from tests.unit.cluster.transfer.stored_clusters import (
    config_map,
    content_in,
    content_of,
    event,
    items_at,
    make_directory,
    namespace,
    service,
    under,
    value,
)

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.api_server import ApiServerProcess, ApiServerSettings
from moorage.cluster.transfer.store_check import check_directory, check_store
from moorage.cluster.transfer.store_content import StoreContent, StoredItem, TransferError
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.store.data_directory import FILE_NAME

DEFAULT = namespace("default")


def content(*items: tuple[str, bytes], is_etcd: bool = False, **notes: bytes) -> StoreContent:
    stored = [
        StoredItem(key, f"/registry{key}" if is_etcd else key, text, number, number)
        for number, (key, text) in enumerate((DEFAULT, *items), 2)
    ]
    return StoreContent("it", stored, 100, notes, is_etcd)


def findings(*items: tuple[str, bytes], is_etcd: bool = False) -> list[str]:
    return [" ".join(found) for found in check_store(content(*items, is_etcd=is_etcd)).findings]


def owned(of: str, **owner: str) -> tuple[str, bytes]:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "uid-ConfigMap-default-a", **owner}
    return config_map(of, metadata={"ownerReferences": [reference]})


CRD = (
    "/apiextensions.k8s.io/customresourcedefinitions/ships.example.com",
    value(
        "CustomResourceDefinition",
        "ships.example.com",
        api_version="apiextensions.k8s.io/v1",
        spec={
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Ship", "plural": "ships"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    ),
)
SHIP = "/example.com/ships/default/mayflower", value("Ship", "mayflower", "default", "example.com/v1")


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ([config_map("a"), service("s", "10.96.0.7", 30080), CRD, SHIP, owned("b")], []),
        ([("/configmaps/default/a", b"{")], ["error /configmaps/default/a is not JSON with metadata"]),
        ([("/configmaps/default/a", b"")], ["error /configmaps/default/a is empty"]),
        (
            [("/configmaps/default/a", b'{"metadata":{"name":"a"')],
            ["error /configmaps/default/a is not JSON: Input data was truncated"],
        ),
        (
            [("/configmaps/default/a", b"k8s\0\n\x0f")],
            [
                "error /configmaps/default/a is protobuf: kube-apiserver writes JSON with "
                "--storage-media-type=application/json"
            ],
        ),
        (
            [("/secrets/default/a", b"k8s:enc:aescbc:v1:key:xyz")],
            ["error /secrets/default/a is encrypted: Moorage reads no encrypted values"],
        ),
        (
            [config_map("a", data=[1])],
            [
                "error /configmaps/default/a does not decode as ConfigMap: json: cannot unmarshal array into Go struct "
                "field ConfigMap.data of type map[string]string"
            ],
        ),
        (
            [("/configmaps/default/b", config_map("a")[1])],
            ['error /configmaps/default/b has the name "default/a" inside, and another in its key'],
        ),
        (
            [("/namespaces/b", namespace("a")[1])],
            ['error /namespaces/b has the name "a" inside, and another in its key'],
        ),
        (
            [("/secrets/default/a", config_map("a")[1])],
            ["error /secrets/default/a is ConfigMap of v1, where Secret of v1 is kept"],
        ),
        ([config_map("a", metadata={"uid": ""})], ["error /configmaps/default/a has no uid"]),
        (
            [config_map("a", metadata={"uid": "u"}), config_map("b", metadata={"uid": "u"})],
            ["error /configmaps/default/b has the uid of /configmaps/default/a, u"],
        ),
        (
            [config_map("a", metadata={"resourceVersion": "7"})],
            ['error /configmaps/default/a has a resourceVersion, "7", inside its value'],
        ),
        (
            [("/configmaps/gone/a", value("ConfigMap", "a", "gone"))],
            ['note /configmaps/gone/a is in the namespace "gone", which does not exist'],
        ),
        (
            [service("a", "10.96.0.7"), service("b", "10.96.0.7")],
            ["error /services/default/b has the cluster IP 10.96.0.7, as /services/default/a has"],
        ),
        (
            [service("a", "10.96.0.7", 30080), service("b", "10.96.0.8", 30080)],
            ["error /services/default/b has the node port 30080, as /services/default/a has"],
        ),
        ([service("a", "None"), service("b", "None")], []),
        (
            [owned("b")],
            ["note /configmaps/default/b is garbage, or soon will be: its owner ConfigMap a does not exist"],
        ),
        (
            [config_map("a"), owned("b", name="c")],
            ["error /configmaps/default/b names ConfigMap c as its owner, and by uid ConfigMap a"],
        ),
        (
            [
                ("/configmaps/other/a", value("ConfigMap", "a", "other")),
                namespace("other"),
                owned("b", uid="uid-ConfigMap-other-a"),
            ],
            ["error /configmaps/default/b has an owner in another namespace, ConfigMap a"],
        ),
        (
            [SHIP],
            [
                "error /example.com/ships/default/mayflower is of no kind that is known: its CustomResourceDefinition "
                "is gone, or the key is wrong"
            ],
        ),
        (
            [CRD, ("/example.com/ships/default/a", value("Boat", "a", "default", "example.com/v2"))],
            ["error /example.com/ships/default/a is Boat of example.com/v2, where Ship of example.com/v1 is kept"],
        ),
        (
            [("/pods", b"{}")],
            ["error /pods is not JSON with metadata"],
        ),
    ],
)
def test_findings(items: list[tuple[str, bytes]], found: list[str]) -> None:
    assert findings(*items) == found


def test_values_of_kube_apiserver_in_etcd_are_noted() -> None:
    raw = json.loads(config_map("a")[1])
    other = json.dumps({"kind": raw["kind"], "apiVersion": "v1", "metadata": raw["metadata"]}).encode()
    said = "in which kube-apiserver writes, which is read as well"
    one, two = (
        ("/configmaps/default/a", other),
        ("/configmaps/default/b", other.replace(b'"a"', b'"b"').replace(b"-a", b"-b")),
    )
    assert findings(one, is_etcd=True) == [f"note /registry/configmaps/default/a has the form {said}"]
    assert findings(one, two, is_etcd=True) == [f"note /registry/configmaps/default/a and 1 other have the form {said}"]
    assert findings(one) == ["error /configmaps/default/a does not begin with its metadata, as Moorage writes it"]


def test_events_without_a_lease_stay_for_ever() -> None:
    assert findings(event("e"), is_etcd=True) == [
        "note /registry/events/default/e has no lease, so that it never expires"
    ]
    assert findings(event("e")) == []


def test_claims_belong_to_services() -> None:
    services = service("a", "10.96.0.7"), service("b", "10.96.0.8"), service("c", "10.96.0.9")
    notes = {
        "claims/ip/10.96.0.7": b"/registry/services/default/a",
        "claims/ip/10.96.0.8": b"/registry/services/default/c",
        "claims/port/30080": b"/registry/services/default/a",
        "migration": b"{}",
    }
    stored = content(*services, is_etcd=True)._replace(notes=notes)
    assert [" ".join(found) for found in check_store(stored).findings] == [
        "error moorage/claims/ip/10.96.0.8 keeps the cluster IP 10.96.0.8 for /registry/services/default/c, but "
        "/registry/services/default/b has it",
        "error moorage/claims/port/30080 keeps the node port 30080 for /registry/services/default/a, which does not "
        "have it",
        "error moorage/migration a migration into this store was not finished",
        "note /registry/services/default/c has no claim to the cluster IP 10.96.0.9: an API server takes it when it "
        "starts",
    ]


def is_found(path: Path) -> bool:
    try:
        return bool(check_directory(path).errors)
    except TransferError as error:
        return "cannot be read (database disk image is malformed)" in str(error)


def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    path = make_directory(
        tmp_path / "data", items_at(DEFAULT, *(config_map(f"m{i}", data={"a": "x" * 9000}) for i in range(9)))
    )
    assert check_directory(path).findings == []
    database = path / FILE_NAME
    whole = database.read_bytes()
    for page in range(1, len(whole) // 8192):
        database.write_bytes(whole[: page * 8192] + b"\xff" * 64 + whole[page * 8192 + 64 :])
        assert is_found(path), f"page {page}"


@pytest.mark.real_time
@pytest.mark.parametrize("kept_in", ["directory", "etcd"])
async def test_what_an_api_server_wrote_is_well(kept_in: str, etcd: EtcdCluster, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"etcd": under(etcd, tmp_path)} if kept_in == "etcd" else {}
    process = ApiServerProcess(
        ApiServerSettings(gates_from({}), tmp_path / "data", **settings), tmp_path / "kubeconfig"
    )
    await process.start()
    client = HttpClient(load_access(str(process.kubeconfig.path)))
    for name, port in (("a", 30080), ("b", 30081)):
        await client.create(
            KINDS.SERVICE,
            {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}},
            "default",
        )
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "default"}
    await client.create(
        KINDS.EVENT, {"metadata": {"name": "e"}, "involvedObject": reference, "reason": "Why"}, "default"
    )
    await client.close()
    if kept_in == "etcd":
        found = await content_in(settings["etcd"])
        assert "claims/port/30080" in found.notes
    await process.stop()
    found = await content_in(settings["etcd"]) if kept_in == "etcd" else content_of(tmp_path / "data")
    report = check_store(found)
    assert report.findings == []
    assert report.counts["/services/"] == 3
    assert report.counts["/events/"] == 1
