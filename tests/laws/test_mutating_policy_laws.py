"""Laws of mutating policies: an Object is merged as server-side apply merges, twice is once, changes are told whole.

What an expression constructs is written here as CEL from random documents, so the whole way is taken: text, types,
values, names of parts, merge.
"""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.test_apply_laws import DOCUMENTS, created, insist

from moorage.admit.apply.ownership_schema import FieldOwnershipSchema, built_in_schema
from moorage.admit.extension.attributes import ObjectKind
from moorage.admit.extension.policies.environment import Offered, policy_environment
from moorage.admit.extension.policies.mutating.mutations import MUTATION_TYPES
from moorage.admit.extension.policies.mutating.patches import RefusedMutation, apply_configuration, atomic_parts
from moorage.admit.raw import copy_document
from moorage.match.cel import Program, compile_expression
from moorage.match.cel.constructed import ConstructedValue
from moorage.model.kinds import KINDS
from moorage.model.patch.json_difference import json_difference
from moorage.model.patch.json_patch import apply_json_patch, same_json
from moorage.model.schema.known_fields import kept_part, write_as_go

Raw = dict[str, Any]
Merge = Callable[[Raw, Raw], Raw]
Difference = Callable[[Raw, Raw], list[Raw]]

ENVIRONMENT = policy_environment(Offered(), extras=MUTATION_TYPES)
SCHEMA = built_in_schema(KINDS.DEPLOYMENT)
DEPLOYMENT = ObjectKind("apps", "v1", "Deployment")
_ATOMIC = "may not mutate atomic arrays, maps or structs: "
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "a", "~1/"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["a", "b", "~", "x/y"]), inner, max_size=3)
    ),
    max_leaves=12,
)
_JSON = st.dictionaries(st.sampled_from(["a", "b", "c/d"]), _VALUES, max_size=3)


def as_object(value: Any, schema: FieldOwnershipSchema = SCHEMA, path: str = "Object") -> str:
    """Write a document as what constructs it: structs as parts of Object, maps as maps."""
    if isinstance(value, dict) and schema.is_struct:
        fields = (f"{name}: {as_object(item, schema.child(name), f'{path}.{name}')}" for name, item in value.items())
        return f"{path}{{{', '.join(fields)}}}"
    if isinstance(value, dict):
        entries = (f"{json.dumps(name)}: {as_object(item, schema.element, path)}" for name, item in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list):
        return f"[{', '.join(as_object(item, schema.element, path) for item in value)}]"
    return json.dumps(value)


def constructed(document: Raw) -> ConstructedValue:
    source = as_object(document)
    program = compile_expression(source, ENVIRONMENT)
    assert isinstance(program, Program), (source, program)
    value = program.run({})
    assert isinstance(value, ConstructedValue)
    return value


def merged(live: Raw, applied: Raw) -> Raw:
    return apply_configuration(live, constructed(applied), SCHEMA, DEPLOYMENT)


def shallow(live: Raw, applied: Raw) -> Raw:
    """Broken: what is applied replaces whole fields."""
    return {**live, **applied}


def appending(live: Raw, applied: Raw) -> Raw:
    """Broken: finalizers are added again and again."""
    finalizers = [*live["metadata"].get("finalizers", []), *applied["metadata"].get("finalizers", [])]
    result = merged(live, applied)
    return {**result, "metadata": {**result["metadata"], "finalizers": finalizers}}


def as_read(document: Raw) -> Raw:
    """Return a document as the API server reads and writes it, without the owners of its fields."""
    metadata = {name: value for name, value in document["metadata"].items() if name != "managedFields"}
    read = copy_document(kept_part({**document, "metadata": metadata}, KINDS.DEPLOYMENT.view))
    write_as_go(read, KINDS.DEPLOYMENT.view)
    return read


def as_apply_merges_law(merge: Merge) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(DOCUMENTS, DOCUMENTS)
    def law(live: Raw, applied: Raw) -> None:
        if any(atomic_parts(applied, SCHEMA)):
            return
        live = created(live)
        assert as_read(merge(live, applied)) == as_read(insist(live, applied, "me"))

    return law


def twice_is_once_law(merge: Merge) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(DOCUMENTS, DOCUMENTS)
    def law(live: Raw, applied: Raw) -> None:
        if any(atomic_parts(applied, SCHEMA)):
            return
        once = merge(live, applied)
        assert merge(once, applied) == once

    return law


def refusal(merge: Merge, live: Raw, applied: Raw) -> str:
    try:
        merge(live, applied)
    except RefusedMutation as refused:
        return str(refused)
    return ""


def atomic_parts_are_refused_law(merge: Merge) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(DOCUMENTS, DOCUMENTS)
    def law(live: Raw, applied: Raw) -> None:
        atomics = ", ".join(atomic_parts(applied, SCHEMA))
        assert refusal(merge, live, applied).rpartition(_ATOMIC)[2] == atomics

    return law


def changes_are_whole_law(difference: Difference) -> Callable[[], None]:
    """The patch between two documents makes one of the other, and there is none between equal ones."""

    @LAW_SETTINGS
    @given(_JSON, _JSON)
    def law(before: Raw, after: Raw) -> None:
        patch = difference(before, after)
        assert same_json(apply_json_patch(before, patch), after)
        assert bool(patch) is not same_json(before, after)

    return law


def without_removals(before: Raw, after: Raw) -> list[Raw]:
    """Broken: what is gone is not told."""
    return [operation for operation in json_difference(before, after) if operation["op"] != "remove"]


test_objects_are_merged_as_server_side_apply_merges = as_apply_merges_law(merged)
test_a_mutation_applied_twice_is_applied_once = twice_is_once_law(merged)
test_exactly_objects_with_atomic_parts_are_refused = atomic_parts_are_refused_law(merged)
test_changes_are_told_whole = changes_are_whole_law(json_difference)


def test_the_laws_notice_fields_that_are_replaced() -> None:
    assert_notices(as_apply_merges_law(shallow))
    assert_notices(atomic_parts_are_refused_law(shallow))


def test_the_law_notices_a_merge_that_is_not_idempotent() -> None:
    assert_notices(twice_is_once_law(appending))


def test_the_law_notices_removals_that_are_not_told() -> None:
    assert_notices(changes_are_whole_law(without_removals))
