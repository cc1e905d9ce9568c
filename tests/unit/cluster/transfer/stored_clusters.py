"""Data directories and etcds with objects at chosen revisions, for tests of migration and check."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.etcd_process import EtcdCluster

from moorage.cluster.transfer.store_content import StoreContent, layout_of, opened_directory, read_directory, read_etcd
from moorage.store.data_directory import FILE_NAME, DataDirectory
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.log_file import ALL_PARTS, REACHED, LogFile
from moorage.store.partition import Forgotten


def value(kind: str, name: str, namespace: str = "", api_version: str = "v1", **fields: Any) -> bytes:
    """Return a value as the API server stores it; `metadata` among the fields adds to it."""
    metadata = {"name": name, "uid": f"uid-{kind}-{namespace}-{name}", **fields.pop("metadata", {})}
    if namespace:
        metadata["namespace"] = namespace
    document = {"metadata": metadata, "kind": kind, "apiVersion": api_version, **fields}
    return json.dumps(document, separators=(",", ":")).encode()


def config_map(name: str, **fields: Any) -> tuple[str, bytes]:
    return f"/configmaps/default/{name}", value("ConfigMap", name, "default", **fields)


def namespace(name: str) -> tuple[str, bytes]:
    return f"/namespaces/{name}", value("Namespace", name)


def service(name: str, address: str = "", port: int = 0) -> tuple[str, bytes]:
    spec: dict[str, Any] = {"clusterIP": address, "clusterIPs": [address]} if address else {}
    spec["ports"] = [{"port": 80, "targetPort": 80, **({"nodePort": port} if port else {})}]
    return f"/services/default/{name}", value("Service", name, "default", spec=spec)


def event(name: str) -> tuple[str, bytes]:
    return f"/events/default/{name}", value("Event", name, "default", involvedObject={})


def make_directory(path: Path, at: Mapping[int, tuple[str, bytes]], reached: int = 0) -> Path:
    """Write objects at their revisions into a data directory."""
    with closing(DataDirectory(path)) as directory, closing(LogFile(directory.prepare(FILE_NAME))) as file:
        file.append([(revision, key, revision, content) for revision, (key, content) in sorted(at.items())])
        if reached:
            file.forget([Forgotten(ALL_PARTS, reached, []), Forgotten(REACHED, reached, [])], reached)
    return path


def content_of(path: Path) -> StoreContent:
    with opened_directory(path) as file:
        return read_directory(path, file)


def revisions_of(content: StoreContent) -> dict[str, int]:
    return {item.key: item.revision for item in content.items}


async def content_in(settings: EtcdSettings) -> StoreContent:
    client = await EtcdClient.connect(settings)
    try:
        return await read_etcd(client, layout_of(settings), ",".join(settings.servers))
    finally:
        await client.close()


def under(etcd: EtcdCluster, path: Path) -> EtcdSettings:
    """Return settings with a prefix that no other test has."""
    return etcd.settings(prefix=f"/{path.name}")


def items_at(*items: tuple[str, bytes], step: int = 1, first: int = 2) -> dict[int, tuple[str, bytes]]:
    return {first + step * number: item for number, item in enumerate(items)}


def many(count: int) -> Sequence[tuple[str, bytes]]:
    return [config_map(f"map-{number}") for number in range(count)]
