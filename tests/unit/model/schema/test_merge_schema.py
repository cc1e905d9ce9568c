"""The merge schema: the tree of the views, with the topology of each list."""

from moorage.model.kinds import COMPONENT_STATUS, KINDS
from moorage.model.schema.merge_schema import (
    ATOMIC_FIELDS,
    ATOMIC_STRUCTS,
    KEY_DEFAULTS,
    MERGED_FIELDS,
    UNTYPED,
    ListType,
    MapType,
    Scalar,
    SchemaType,
    StructType,
    schema_of,
    struct_type,
)
from moorage.model.types.core import ServiceAccount
from moorage.model.types.node import NodeSpec
from moorage.model.types.pod import PodSpec


def _struct(found: SchemaType) -> StructType:
    assert isinstance(found, StructType)
    return found


def _list(found: SchemaType) -> ListType:
    assert isinstance(found, ListType)
    return found


def test_a_pods_containers_are_a_map_by_name() -> None:
    pod = schema_of(KINDS.POD)
    containers = _list(_struct(pod.fields["spec"].type).fields["containers"].type)
    assert (containers.topology, containers.keys, containers.patch_merge_key) == ("map", ("name",), "name")
    assert _struct(containers.element).name == "Container"
    assert containers.key_defaults == {"name": ""}


def test_ports_have_two_keys_one_of_which_may_be_left_out() -> None:
    containers = _list(struct_type(PodSpec).fields["containers"].type)
    ports = _list(_struct(containers.element).fields["ports"].type)
    assert ports.keys == ("containerPort", "protocol")
    assert ports.key_defaults == {"containerPort": 0, "protocol": "TCP"}
    assert ports.patch_merge_key == "containerPort"


def test_embedded_structs_bring_their_rows_along() -> None:
    ephemeral = _list(struct_type(PodSpec).fields["ephemeralContainers"].type)
    assert _list(_struct(ephemeral.element).fields["env"].type).topology == "map"


def test_a_key_without_a_default_must_be_there() -> None:
    secrets = _list(struct_type(ServiceAccount).fields["secrets"].type)
    assert (secrets.keys, secrets.key_defaults) == (("name",), {})


def test_sets_and_atomic_lists() -> None:
    node = struct_type(NodeSpec)
    assert _list(node.fields["podCIDRs"].type).topology == "set"
    assert _list(node.fields["taints"].type).topology == "atomic"
    assert _list(struct_type(PodSpec).fields["tolerations"].type).patch_strategy == ""


def test_retain_keys_is_told_apart_from_the_strategy() -> None:
    volumes = struct_type(PodSpec).fields["volumes"]
    assert (volumes.patch_strategy, volumes.retain_keys) == ("merge", True)
    deployment = _struct(schema_of(KINDS.DEPLOYMENT).fields["spec"].type)
    strategy = deployment.fields["strategy"]
    assert (strategy.patch_strategy, strategy.retain_keys) == ("", True)


def test_atomic_objects_and_maps() -> None:
    spec = struct_type(PodSpec)
    selector = spec.fields["nodeSelector"].type
    assert isinstance(selector, MapType)
    assert selector.atomic
    volume = _struct(schema_of(KINDS.PERSISTENT_VOLUME).fields["spec"].type)
    claim = _struct(volume.fields["claimRef"].type)
    assert not claim.atomic
    events = schema_of(KINDS.EVENT)
    assert _struct(events.fields["involvedObject"].type).atomic


def test_scalars_have_the_formats_of_the_api() -> None:
    lease = _struct(schema_of(KINDS.LEASE).fields["spec"].type)
    assert lease.fields["renewTime"].type == Scalar("string", "date-time", "MicroTime")
    assert lease.fields["leaseTransitions"].type == Scalar("integer", "int32")
    secret = schema_of(KINDS.SECRET).fields["data"].type
    assert secret == MapType(Scalar("string", "byte"))


def test_what_a_view_does_not_know_has_no_type() -> None:
    assert schema_of(KINDS.POD).field("madeUp").type is UNTYPED


def test_schemas_are_made_once() -> None:
    one = _struct(schema_of(KINDS.DEPLOYMENT).fields["metadata"].type)
    assert one is _struct(schema_of(KINDS.POD).fields["metadata"].type)
    assert schema_of(KINDS.POD) is schema_of(KINDS.POD)


def test_every_row_of_the_table_is_of_a_field_that_some_kind_has() -> None:
    types: dict[str, set[str]] = {}
    seen: set[type] = set()
    waiting: list[SchemaType] = [schema_of(kind) for kind in (*KINDS.values(), COMPONENT_STATUS)]
    while waiting:
        found = waiting.pop()
        if isinstance(found, ListType | MapType):
            waiting.append(found.element)
        elif isinstance(found, StructType) and found.view not in seen:
            seen.add(found.view)
            for base in found.view.__mro__:
                types.setdefault(base.__name__, set()).update(found.fields)
            waiting += [field.type for field in found.fields.values()]
    for owner, name in [*MERGED_FIELDS, *ATOMIC_FIELDS, *KEY_DEFAULTS]:
        assert name in types[owner], (owner, name)
    # The others are names of definitions: of older versions, or because several types share the name.
    assert types.keys() >= {name for name in ATOMIC_STRUCTS if "." not in name}
