"""Return the schema by which objects of a kind are owned and merged, built in or defined by users."""

from moorage.admit.apply.ownership_schema import FieldOwnershipSchema, built_in_schema, custom_schema
from moorage.model.kinds import Kind
from moorage.serve.custom.served_kind import ServedKind


def ownership_schema(kind: Kind) -> FieldOwnershipSchema:
    """Return the ownership schema of a kind; that of a custom kind is made once for each version of its definition."""
    if type(kind) is ServedKind:
        return kind.remembered("ownership", lambda served: custom_schema(served.name, served.schema))
    return built_in_schema(kind)
