"""Types of built-in kinds in expressions."""

import pytest

from moorage.custom.expressions.built_in_types import AS_DOCUMENTS, PUBLISHED, Declaring, declare_view
from moorage.match.cel import types
from moorage.model.kinds import KINDS
from moorage.model.types.container import ResourceRequirements
from moorage.model.types.core import Secret
from moorage.model.types.extension.custom_resource_definition import JSONSchemaProps


@pytest.mark.parametrize("declaring", [PUBLISHED, AS_DOCUMENTS], ids=["published", "documents"])
def test_every_kind_is_declared_with_its_metadata(declaring: Declaring) -> None:
    for kind in KINDS.values():
        declared = declare_view(kind.view, declaring)
        assert declared.fields is not None
        assert {"apiVersion", "kind", "metadata"} <= declared.fields.keys()
        assert "__namespace__" in (declared.fields["metadata"].fields or {})


def test_amounts_have_a_type_where_policies_run_alone() -> None:
    assert "limits" not in (declare_view(ResourceRequirements).fields or {})
    limits = (declare_view(ResourceRequirements, AS_DOCUMENTS).fields or {})["limits"]
    assert limits.is_map
    assert limits.element is not None
    assert limits.element.cel_type is types.DYN


def test_bytes_are_texts_where_policies_run() -> None:
    values = [(declare_view(Secret, one).fields or {})["data"].element for one in (PUBLISHED, AS_DOCUMENTS)]
    assert [value.cel_type for value in values if value is not None] == [types.BYTES, types.STRING]


def test_a_type_inside_of_itself_has_no_fields() -> None:
    inner = (declare_view(JSONSchemaProps).fields or {})["properties"].element
    assert inner is not None
    assert inner.fields == {}
