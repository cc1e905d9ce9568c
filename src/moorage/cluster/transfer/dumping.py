"""Render the objects of a live cluster as YAML documents: what a plan and `moorage up --from` read.

Kinds follow in the order of the table, objects by namespace and name; custom objects come last. Of a Secret the names
of its values are kept, and every value becomes an empty JSON object, which is valid in Secrets of every type.
"""

from collections.abc import AsyncIterator, Iterable

from moorage.client.http_client import HttpClient
from moorage.client.protocol import Raw
from moorage.cluster.transfer.other_cluster import NOT_READ
from moorage.control.account_tokens import TOKEN_TYPE
from moorage.model.api_error import ApiError
from moorage.model.kind_rows.kind import stored_kind
from moorage.model.kinds import KINDS, Kind
from moorage.model.text.yaml_writer import write_yaml
from moorage.model.well_known.annotations import LAST_APPLIED
from moorage.plan.input.live_gates import ask_server, gate_options, gates_in

_NEEDED = frozenset({"Node", "Pod"})
_FORBIDDEN, _NOT_FOUND = 403, 404

#: Events and Leases say nothing of what should be; both APIs of events show the same objects.
_TRANSIENT = frozenset({("v1", "Event"), ("coordination.k8s.io/v1", "Lease")})
DUMPED = tuple(kind for named, kind in KINDS.items() if kind is KINDS.SECRET or named not in NOT_READ | _TRANSIENT)

_NO_VALUE = "e30="  # {} in base64


class DumpError(Exception):
    """Why a cluster cannot be dumped: one line for the user."""


class Dump:
    """A dump in the making.

    After its last document, `gaps` are lines about what it lacks, and `remarks` about what else is worth knowing.
    """

    def __init__(self, client: HttpClient, namespaces: Iterable[str] = ()) -> None:
        self.gaps: list[str] = []
        self.remarks: list[str] = []
        self._client = client
        self._namespaces = tuple(dict.fromkeys(namespaces))
        self._forbidden: dict[bool, list[str]] = {True: [], False: []}  # by whether a plan reads them

    async def documents(self) -> AsyncIterator[str]:
        """Yield documents kind by kind. Raises DumpError, Unreachable."""
        await self._check_namespaces()
        yield await self._gates()
        custom: list[Kind] = []
        for kind in DUMPED:
            for raw in await self._objects(kind):
                if kind is KINDS.CUSTOM_RESOURCE_DEFINITION and (defined := stored_kind(raw)) is not None:
                    custom.append(defined)
                yield _document(without_values(raw) if kind is KINDS.SECRET else raw)
        for kind in custom:
            for raw in await self._objects(kind):
                yield _document(raw)
        self._sum_up()

    async def _check_namespaces(self) -> None:
        """Refuse a namespace that does not exist, where the user may list them."""
        if not self._namespaces:
            return
        try:
            listing = await self._client.list_all(KINDS.NAMESPACE)
        except ApiError:
            return
        existing = sorted(item.raw["metadata"]["name"] for item in listing.items)
        for name in self._namespaces:
            if name not in existing:
                raise DumpError(f"there is no namespace {name!r} (there are: {', '.join(existing)})")

    async def _gates(self) -> str:
        """Return a comment with the options that plan the dump with the cluster's gates; empty at the defaults."""
        texts: dict[str, str] = {}
        await ask_server(self._client, texts, [])
        options = " ".join(gate_options(gates_in(texts)))
        if not options:
            return ""
        self.remarks.append(f"the cluster's feature gates are not the defaults: read the dump with {options}")
        return f"# Read it with the feature gates of the cluster: {options}\n"

    async def _objects(self, kind: Kind) -> list[Raw]:
        """List the objects of a kind in the chosen namespaces, each with its kind, which lists do not name."""
        objects: list[Raw] = []
        for namespace in self._namespaces if kind.namespaced and self._namespaces else ("",):
            try:
                items = (await self._client.list_all(kind, namespace)).items
            except ApiError as error:
                if kind.name in _NEEDED:
                    raise DumpError(f"{kind.plural} cannot be listed: {error.message}") from None
                self._note_refusal(kind, namespace, error)
                continue
            about = {"apiVersion": kind.api_version, "kind": kind.name}
            objects += ({**about, **item.raw} for item in sorted(items, key=lambda item: item.key))
        return objects

    def _note_refusal(self, kind: Kind, namespace: str, error: ApiError) -> None:
        if error.code == _FORBIDDEN:
            self._forbidden[kind.read_by_plan].append(f"{kind.plural} in {namespace}" if namespace else kind.plural)
        elif error.code != _NOT_FOUND:
            self.gaps.append(f"{kind.plural} were not read: {error.message}")

    def _sum_up(self) -> None:
        """Tell what may not be listed, in one line for all kinds."""
        if self._forbidden[True]:
            why = "answers may differ from those of the cluster"
            self.gaps.append(f"you may not list {', '.join(self._forbidden[True])}: {why}")
        if self._forbidden[False]:
            self.remarks.append(
                f"without {', '.join(self._forbidden[False])}, which you may not list: no plan reads them"
            )
        if self._namespaces:
            self.remarks.append("pods of other namespaces are not in it: its nodes have more room than the cluster's")


def without_values(secret: Raw) -> Raw:
    """Return a Secret with the names of its values only. A controller writes those of an account's token again."""
    metadata, annotations = secret["metadata"], secret["metadata"].get("annotations") or {}
    kept = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
    plain = {name: value for name, value in metadata.items() if name != "annotations"}
    names = () if secret.get("type") == TOKEN_TYPE else secret.get("data") or ()
    return {
        **{name: value for name, value in secret.items() if name not in ("data", "stringData")},
        "metadata": {**plain, "annotations": kept} if kept else plain,
        "data": dict.fromkeys(names, _NO_VALUE),
    }


def _document(raw: Raw) -> str:
    metadata = {name: value for name, value in raw["metadata"].items() if name != "managedFields"}
    return f"---\n{write_yaml({**raw, 'metadata': metadata})}"
