"""Guess which kind of rule a text is, where it is not of the kind that it is read as: an affinity among tolerations."""

from typing import Any

from moorage.dashboard.questions.playing.rule_text import AFFINITY, CEL, NODE_SELECTOR, SOURCE, TOLERATIONS
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.yaml_text import YamlConstructor, compose_documents

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
_DEEPEST = 8


def other_kind(kind: str, text: str) -> str | None:
    """Return the kind that a text looks like, if that is another one than `kind`."""
    try:
        roots = list(compose_documents(text.encode("utf-8"), SOURCE, 1))
        value = YamlConstructor(SOURCE, 1, has_aliases="*" in text and "&" in text).construct(roots[0])
    except (DecodeError, IndexError):
        return None
    found = _kind_of(value, kind)
    return found if found != kind else None


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
    for one in value if isinstance(value, list) else [value]:
        fields.update(one if isinstance(one, dict) else ())
    # An expression in CEL may be a list or a map, too, and so may labels have any name.
    if fields & _AFFINITY_FIELDS and kind != NODE_SELECTOR:
        return AFFINITY
    if fields & _TOLERATION_FIELDS and kind in (AFFINITY, CEL):
        return TOLERATIONS
    return None
