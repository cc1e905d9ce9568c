"""Items of lists: whatever the object and the order of its fields, an item is the object without its type."""

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices

from moorage.model.kinds import KINDS, Kind
from moorage.serve.resources.objects import encode, item_renderer, render
from moorage.store.protocol import Stored

RenderItem = Callable[[Kind, Stored], bytes]
TYPE = ("apiVersion", "kind")
#: Among them texts and objects that end as values do.
ENDS = ['"apiVersion":"v1","kind":"ConfigMap"}', ',"apiVersion":"v1","kind":"ConfigMap"}', "\\", '"', "{", "é\u2028"]
FIELDS = st.dictionaries(
    st.sampled_from(["data", "immutable", "spec", "status", "x"]),
    st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(ENDS),
        st.dictionaries(st.sampled_from(["a", *TYPE]), st.sampled_from(["v1", "ConfigMap", *ENDS]), max_size=3),
    ),
    max_size=3,
)


@st.composite
def stored_objects(draw: st.DrawFn) -> tuple[Kind, Stored]:
    """Draw an object as this version stores it, or in the order in which a client sent it, as earlier ones did."""
    kind = draw(st.sampled_from([KINDS.CONFIG_MAP, KINDS.DEPLOYMENT, KINDS.NODE, KINDS.CONTROLLER_REVISION]))
    metadata = {"name": draw(st.sampled_from(["a", "b-c"])), "labels": draw(st.sampled_from([{}, {"kind": "x"}]))}
    fields: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.name, **draw(FIELDS)}
    names = draw(st.permutations(list(fields)))
    raw = {"metadata": metadata, **{name: fields[name] for name in names}}
    is_new = draw(st.booleans())
    value = encode(kind, raw) if is_new else msgspec.json.encode(raw)
    return kind, Stored("/key", value, 7, draw(st.integers(1, 10**9)))


def our_item(kind: Kind, stored: Stored) -> bytes:
    return item_renderer(kind)(stored)


def check_items(render_item: RenderItem, law_settings: settings = LAW_SETTINGS) -> None:
    @law_settings
    @given(stored_objects())
    def law(drawn: tuple[Kind, Stored]) -> None:
        kind, stored = drawn
        whole = msgspec.json.decode(render(kind, stored))
        wanted = {name: value for name, value in whole.items() if name not in TYPE}
        try:
            item = msgspec.json.decode(render_item(kind, stored))
        except msgspec.DecodeError as error:
            raise AssertionError(f"not JSON: {error}") from None
        assert item == wanted
        assert item["metadata"]["resourceVersion"] == str(stored.revision)
        assert (whole["apiVersion"], whole["kind"]) == (kind.api_version, kind.name)

    law()


def test_an_item_is_the_object_without_its_type() -> None:
    check_items(our_item)


def cut_blindly(kind: Kind, stored: Stored) -> bytes:
    """Cut as many bytes as a type has, whatever they are."""
    tail = len(f',"apiVersion":"{kind.api_version}","kind":"{kind.name}"}}')
    return render(kind, stored)[:-tail] + b"}"


def replace_first(kind: Kind, stored: Stored) -> bytes:
    """Remove the first text that looks like a type."""
    text = f',"apiVersion":"{kind.api_version}","kind":"{kind.name}"'.encode()
    return render(kind, stored).replace(text, b"", 1)


def test_broken_ones_are_noticed() -> None:
    for broken in (render, cut_blindly, replace_first):
        assert_notices(lambda broken=broken: check_items(broken, UNTIL_NOTICED))  # type: ignore[misc]
