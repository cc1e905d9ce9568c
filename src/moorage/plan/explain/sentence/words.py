"""Choose the words of a sentence: which nodes it is about, short names of keys, lists, values of bounded length."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from moorage.match.comparison import VERSION, Comparison, ValueKind, shown, value_gap

_MAX_VALUE = 40
_MAX_LISTED = 3
_VERSION_SUFFIX = "-version"
_FORBIDDEN = " is forbidden: "
_ADJECTIVES = {">": ("highest", "newest"), "<": ("lowest", "oldest"), "=": ("nearest", "nearest")}


class Where(msgspec.Struct, frozen=True):
    """The nodes that a sentence is about: all of them, or (`is_part`) those that nothing else keeps the pod from."""

    nodes: int
    is_part: bool = False

    @property
    def every(self) -> str:
        return self._with("every")

    @property
    def no(self) -> str:
        return f"no {self._noun}"

    @property
    def any(self) -> str:
        return self._with("any")

    def the(self, adjective: str) -> str:
        return self._with(f"the {adjective}")

    def value(self, adjective: str, value: str) -> str:
        """Write `the lowest on a node is 20`."""
        return f"the only node has {value}" if self.nodes == 1 else f"the {adjective} on a {self._noun} is {value}"

    @property
    def a(self) -> str:
        return self._with("a")

    @property
    def _noun(self) -> str:
        return "node that it may use" if self.is_part else "node"

    def _with(self, word: str) -> str:
        return "the only node" if self.nodes == 1 else f"{word} {self._noun}"


class KeyNames:
    """Short names of keys: what follows the slash, where no other key of the cluster has the same.

    `shortened` has the keys that were named shorter, so that a reader can look the whole key up.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = frozenset(keys)
        self._names = Counter(name for key in self._keys for name in {_last(key), _last(key, is_version=True)})
        self.shortened: dict[str, str] = {}

    def name(self, key: str, *, is_version: bool = False) -> str:
        """Return a name that belongs to no other key; of a version without the word `version`."""
        others = self._names if key in self._keys else self._names + Counter({_last(key), _last(key, is_version=True)})
        for short in (_last(key, is_version=is_version), _last(key)):
            if short and short != key and others[short] == 1:
                self.shortened[cut(shown(short))] = key
                return cut(shown(short))
        return shown(key)


def _last(key: str, *, is_version: bool = False) -> str:
    name = key.rpartition("/")[2]
    return (name.removesuffix(_VERSION_SUFFIX) or name) if is_version else name


def adjective(symbol: str, kind: ValueKind) -> str:
    """Return what the nearest value of a comparison is called: `highest`, or `newest` of versions."""
    number, version = _ADJECTIVES.get(symbol, ("nearest", "nearest"))
    return version if kind is VERSION else number


def value_text(text: str, kind: ValueKind | None = None) -> str:
    """Return a value as cells have it, of bounded length; versions without the letter that they may begin with."""
    if kind is VERSION and text[1:2].isdigit():
        text = text.removeprefix("v")
    return cut(shown(text))


def nearest_text(comparison: Comparison, wanted: str, texts: Iterable[str]) -> str:
    """Return the one of some values that is nearest to a threshold that none of them meets; empty if none can be read.

    The highest is for `>`, the lowest for `<`.
    """
    kind = comparison.kind
    readable = [(kind.value_of(text), text) for text in texts if kind.why_unreadable(text) is None]
    if not readable:
        return ""
    if comparison.symbol in _ADJECTIVES and comparison.symbol != "=":
        best = max if comparison.symbol == ">" else min
        return value_text(best(readable, key=lambda one: one[0])[1], kind)
    return value_text(min(readable, key=lambda one: value_gap(kind, wanted, one[1]))[1], kind)


def cut(text: str) -> str:
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"


def listed(texts: Sequence[str], last: str = "and") -> str:
    """Write `a`, `a and b`, `a, b and c`, or `a, b, c and 4 more`."""
    if len(texts) > _MAX_LISTED + 1:
        texts = [*texts[:_MAX_LISTED], f"{len(texts) - _MAX_LISTED:,} more"]
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def capital(text: str) -> str:
    """Begin a sentence. What begins with a name, or with a quotation mark, keeps it."""
    return text[:1].upper() + text[1:]


def small(text: str) -> str:
    """Continue a sentence with another one."""
    return text[:1].lower() + text[1:]


def without_name(refusal: str) -> str:
    """Return why the API server refuses an object without the object's name."""
    return refusal.partition(_FORBIDDEN)[2] or refusal
