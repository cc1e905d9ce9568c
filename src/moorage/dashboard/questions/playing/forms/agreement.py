"""Try two forms of a rule on the same taints or labels, and report where they differ.

The taints are all distinct ones of the cluster, and made-up ones around the thresholds that the forms name.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.playing.known_nodes import KnownNodes
from moorage.lint.facts.possible_taints import EFFECTS
from moorage.match.comparison import CANONICAL_INTEGER, VERSION
from moorage.match.evaluation.accounts import Evaluations
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.match.tolerations import ProgramCache, TolerationSet, compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.names import label_value_errors
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration

_MAX_TRIED = 500
_MAX_SHOWN = 5
_COMMON_VALUES = ("", "0", "1", "5", "007", "950", "1.2", "1.2.3", "v1.2.3", "1.2.3-rc.1", "4.2.0", "abc", "true")
_ALL_GATES = all_gates()


def agreement(
    first: tuple[Toleration, ...], second: tuple[Toleration, ...], nodes: KnownNodes, evaluations: Evaluations
) -> dict[str, Any]:
    """Return how many taints were tried, and the first for which the two answer differently."""
    programs = ProgramCache(16, evaluations)
    one, other = (compile_tolerations(each, _ALL_GATES, programs) for each in (first, second))
    known = [taint for taint, _ in nodes.taints[:_MAX_TRIED]]
    made_up = list(taints_around((*first, *second)))
    differ = [found for taint in known if (found := _difference(one, other, taint)) is not None]
    also = [found for taint in made_up if (found := _difference(one, other, taint)) is not None]
    return {
        "ofCluster": len(known),
        "madeUp": len(made_up),
        "differ": _shown(differ),
        "differs": len(differ),
        "madeUpDiffer": _shown(also),
        "madeUpDiffers": len(also),
    }


def _shown(differences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first ones, each value once: effects seldom make a difference."""
    by_value = {one["taint"].rpartition(":")[0]: one for one in reversed(differences)}
    return list(reversed(by_value.values()))[:_MAX_SHOWN]


def _difference(one: TolerationSet, other: TolerationSet, taint: Taint) -> dict[str, Any] | None:
    before, after = one.tolerates(taint), other.tolerates(taint)
    return None if before == after else {"taint": describe_taint_with_effect(taint), "before": before, "after": after}


def taints_around(tolerations: tuple[Toleration, ...]) -> Iterator[Taint]:
    """Yield taints of the tolerations' keys, and of one other, with values next to their thresholds."""
    keys = [*dict.fromkeys(one.key for one in tolerations if one.key), "other.example.com/key"]
    values = dict.fromkeys(_COMMON_VALUES)
    for toleration in tolerations:
        for kind in (CANONICAL_INTEGER, VERSION):
            values.update(dict.fromkeys(kind.around(toleration.value)))
        values[toleration.value] = None
    tried = [value for value in values if not label_value_errors(value)]
    for key in keys[:4]:
        for value in tried[:60]:
            for effect in EFFECTS:
                yield Taint(key, value, effect)
