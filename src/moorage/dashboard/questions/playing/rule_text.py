"""Read a rule out of a text: tolerations, affinity or a node selector, alone or inside of a manifest, with its places.

The rule becomes part of a Pod, so that admission, `lint` and the matchers see what they always see; a path in that Pod
leads back to a place in the text. Where the text is of another kind than it is read as, that kind is recognized.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from moorage.dashboard.questions.playing.text_ranges import TextRange, offset_of_mark, range_between, value_range
from moorage.model.field_error import parse_field_path
from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.documents import Document, DuplicateField
from moorage.model.text.json_text import json_type
from moorage.model.text.positions import Location, Positions, YamlPositions
from moorage.model.text.yaml_text import YamlConstructor, compose_documents

TOLERATIONS, AFFINITY, NODE_SELECTOR, CEL = KINDS = ("tolerations", "affinity", "nodeSelector", "cel")
SOURCE = "the text"
Raw = dict[str, Any]
Steps = tuple[str, ...]

_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_TERMS: Steps = ("spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
_DEEPEST = 8


class WrittenRule(msgspec.Struct, frozen=True):
    """Where the rule stands: at `written` in the text, and at `path` in the Pod."""

    path: Steps
    written: Steps
    value: Any


class RuleText:
    """A text, the Pod it makes, and where the Pod's fields stand in the text. Raises DecodeError."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text
        self.lines = text.split("\n")
        self._root: Node | None = None
        self._constructor = YamlConstructor(SOURCE, 1, has_aliases="*" in text and "&" in text)
        self.labels: dict[str, Any] = {}
        self.others = 0  # documents after the first, which are not looked at
        if kind == CEL:
            expression = text.strip("\n")
            self.rule = WrittenRule(("spec", "tolerations"), (), [{"expression": text}] if expression.strip() else [])
        else:
            self._read()

    def _read(self) -> None:
        roots = []
        for root in compose_documents(self.text.encode("utf-8"), SOURCE, 1):
            roots.append(root)
            if len(roots) > 1:
                self.others += 1
        value = None
        if roots:
            self._root = roots[0]
            value = self._constructor.construct(roots[0])
        self.rule = _found(self.kind, value) if value is not None else WrittenRule(("spec", self.kind), (), None)
        labels = _labels_in(value)
        self.labels = {key: one for key, one in labels.items() if isinstance(one, str)}

    @property
    def is_empty(self) -> bool:
        return self.rule.value in (None, [], {})

    @property
    def pod(self) -> Raw:
        """The rule as part of a Pod that has nothing else of interest."""
        spec: Raw = {"containers": [{"name": "main", "image": "main"}]}
        if not self.is_empty:
            value = self.rule.value
            for step in reversed(self.rule.path[1:]):
                value = [value] if step == "0" else {step: value}
            spec |= value
        metadata = {"name": "playground", "namespace": "default", "labels": self.labels}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def document(self) -> Document:
        """Return the Pod as a document whose fields stand where they are written in the text."""
        positions = _RulePositions(self)
        raw = self.text.encode("utf-8", "replace")
        found = []
        if isinstance(self._root, Node):
            places = YamlPositions(self._root, 1, self._constructor.key_text)
            for mapping, key_node, key in self._constructor.duplicates:
                written = parse_field_path(f"{places.path_to(mapping)}.{key}".lstrip("."))
                path = self._path_of(written)
                if path is not None:
                    found.append(DuplicateField(_rendered(path), places.location_of(key_node)))
        return Document(SOURCE, self.pod, positions, raw, 1, tuple(found))

    # -- places -------------------------------------------------------------------------------------------------------

    def steps_of(self, path: str) -> Steps | None:
        """Return where a path of the Pod is written in the text; None if it is not in the rule."""
        steps, base = parse_field_path(path), self.rule.path
        if steps[: len(base)] == base:
            return self.rule.written + steps[len(base) :]
        return self.rule.written if base[: len(steps)] == steps and len(steps) > 1 else None

    def _path_of(self, written: Steps) -> Steps | None:
        base = self.rule.written
        return self.rule.path + written[len(base) :] if written[: len(base)] == base else None

    def range_of(self, steps: Steps, *, names_key: bool = False) -> TextRange:
        """Return the value at these steps, or its key, in its first line; of what is not there, what is around it.

        A bare expression has no key: its first character stands for it.
        """
        if self._root is None:
            start = len(self.text) - len(self.text.lstrip())
            return self._between(start, start + 1 if names_key else len(self.text))
        key, value, exact = self._walk(steps)
        if key is not None and (names_key or not exact or not isinstance(value, ScalarNode) or not value.value):
            return self._of_node(key)
        return self._of_node(value)

    def expression_range(self, steps: Steps, start: int, end: int) -> TextRange:
        """Return a part of the scalar's value at these steps; `start` and `end` count its characters."""
        if self.kind == CEL:
            return self._between(start, end)
        if self._root is None:
            return TextRange(1, 1, 1)
        _, node, exact = self._walk(steps)
        if not exact or not isinstance(node, ScalarNode):
            return self._of_node(node)
        return value_range(self.text, self.lines, node, start, end)

    def scalar_at(self, steps: Steps) -> ScalarNode | None:
        if self._root is None:
            return None
        _, node, exact = self._walk(steps)
        return node if exact and isinstance(node, ScalarNode) else None

    def _walk(self, steps: Steps) -> tuple[Node | None, Node, bool]:
        """Return the key and the value at these steps, or of the closest ancestor, and whether all steps were found."""
        assert self._root is not None
        key: Node | None = None
        node = self._root
        for step in steps:
            child = _child(node, step, self._constructor.key_text)
            if child is None:
                return key, node, False
            key, node = child
        return key, node, True

    def _of_node(self, node: Node) -> TextRange:
        return self._between(self._offset(node.start_mark), self._offset(node.end_mark))

    def _offset(self, mark: Any) -> int:
        return offset_of_mark(self.lines, mark)

    def _between(self, start: int, end: int) -> TextRange:
        return range_between(self.text, start, end)


class _RulePositions:
    """Positions of a Pod's fields in the text of the rule."""

    has_aliases = False

    def __init__(self, text: RuleText) -> None:
        self._text = text

    def alias(self, steps: Steps) -> Location | None:
        return None

    def find(self, steps: Steps) -> Location:
        rule = self._text.rule
        written = rule.written + steps[len(rule.path) :] if steps[: len(rule.path)] == rule.path else rule.written
        place = self._text.range_of(written, names_key=True)
        return Location(place.line, place.column)

    def below(self, steps: Steps) -> Positions:
        return self

    def start(self) -> Callable[[], Location]:
        return lambda: Location(1, 1)

    def detached(self) -> Positions:
        return self


def _child(node: Node, step: str, key_text: Callable[[Node], str]) -> tuple[Node | None, Node] | None:
    if isinstance(node, SequenceNode):
        return (None, node.value[int(step)]) if step.isdigit() and int(step) < len(node.value) else None
    if isinstance(node, MappingNode):
        for key, value in reversed(node.value):  # of a key that stands twice the last counts
            if isinstance(key, ScalarNode) and key_text(key) == step:
                return key, value
    return None


def _rendered(steps: Steps) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if step.isdigit() else f".{step}" if text else step
    return text


# -- where the rule is ------------------------------------------------------------------------------------------------


def _found(kind: str, value: Any) -> WrittenRule:
    """Find the rule in what was written. Raises DecodeError if there is none."""
    written: Steps = ()
    for _ in range(_DEEPEST):
        if not isinstance(value, dict):
            break
        if kind in value:
            return WrittenRule(("spec", kind), (*written, kind), value[kind])
        inside = next((name for name in ("spec", "template", "jobTemplate") if isinstance(value.get(name), dict)), None)
        if inside is None:
            break
        value, written = value[inside], (*written, inside)
    if isinstance(value, dict) and "apiVersion" in value:
        return WrittenRule(("spec", kind), (*written, "spec", kind), None)
    if kind == AFFINITY:
        return _affinity(value, written)
    if kind == TOLERATIONS:
        if isinstance(value, list):
            return WrittenRule(("spec", kind), written, value)
        if isinstance(value, dict):
            return WrittenRule(("spec", kind, "0"), written, value)
        raise _expected("a list of tolerations", value)
    if not isinstance(value, dict):
        raise _expected("labels, such as `disktype: ssd`,", value)
    return WrittenRule(("spec", kind), written, value)


def _affinity(value: Any, written: Steps) -> WrittenRule:
    """An affinity, or any part of a node affinity down to one requirement."""
    if isinstance(value, list):
        has_terms = any(
            isinstance(term, dict) and ("matchExpressions" in term or "matchFields" in term) for term in value
        )
        return WrittenRule(_TERMS if has_terms else (*_TERMS, "0", "matchExpressions"), written, value)
    if not isinstance(value, dict):
        raise _expected("an affinity", value)
    if _REQUIRED in value or _PREFERRED in value:
        return WrittenRule(("spec", AFFINITY, _kind_of_terms(value)), written, value)
    if "nodeSelectorTerms" in value:
        return WrittenRule(_TERMS[:-1], written, value)
    if "matchExpressions" in value or "matchFields" in value:
        return WrittenRule((*_TERMS, "0"), written, value)
    if "operator" in value and not set(_AFFINITIES) & value.keys():
        return WrittenRule((*_TERMS, "0", "matchExpressions", "0"), written, value)
    return WrittenRule(("spec", AFFINITY), written, value)


def _kind_of_terms(value: Raw) -> str:
    """Terms about pods have a topologyKey; which of the two kinds they are is not written: they attract."""
    for preferred in value.get(_PREFERRED) or ():
        if isinstance(preferred, dict) and "podAffinityTerm" in preferred:
            return "podAffinity"
    return "podAffinity" if isinstance(value.get(_REQUIRED), list) else "nodeAffinity"


def _labels_in(value: Any) -> Raw:
    """Return the labels of the pods of a manifest."""
    innermost: Raw = {}
    for _ in range(_DEEPEST):
        if not isinstance(value, dict):
            break
        metadata = value.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, dict) else None
        innermost = labels if isinstance(labels, dict) else innermost
        value = next((value[name] for name in ("template", "jobTemplate", "spec") if name in value), None)
    return innermost


def _expected(what: str, value: Any) -> DecodeError:
    return DecodeError(f"{what} is expected, not {json_type(value)}", problem=Problem.NOT_AN_OBJECT, source=SOURCE)


_AFFINITY_FIELDS = {
    "nodeAffinity",
    "podAffinity",
    "podAntiAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
    "matchExpressions",
    "matchFields",
    "values",
    "topologyKey",
}
_TOLERATION_FIELDS = {"effect", "tolerationSeconds", "expression"}
_INSIDE = ("spec", "template", "jobTemplate")


def other_kind(kind: str, text: str) -> str | None:
    """Return the kind that a text looks like, if that is another one than `kind`."""
    try:
        roots = list(compose_documents(text.encode("utf-8"), SOURCE, 1))
        value = YamlConstructor(SOURCE, 1, has_aliases="*" in text and "&" in text).construct(roots[0])
    except (DecodeError, IndexError):
        return None
    recognized = _kind_of(value, kind)
    return recognized if recognized != kind else None


def _kind_of(value: Any, kind: str) -> str | None:
    for _ in range(_DEEPEST):
        if not isinstance(value, dict):
            break
        if kind in value:
            return kind
        named = next((name for name in (TOLERATIONS, AFFINITY, NODE_SELECTOR) if value.get(name)), None)
        if named is not None:
            return named
        inside = next((name for name in _INSIDE if isinstance(value.get(name), dict)), None)
        if inside is None:
            break
        value = value[inside]
    fields: set[Any] = set()
    for item in value if isinstance(value, list) else [value]:
        fields.update(item if isinstance(item, dict) else ())
    # An expression in CEL may be a list or a map, too, and so may labels have any name.
    if fields & _AFFINITY_FIELDS and kind != NODE_SELECTOR:
        return AFFINITY
    if fields & _TOLERATION_FIELDS and kind in (AFFINITY, CEL):
        return TOLERATIONS
    return None
