"""Match taints by the original meaning of tolerations, of which the operator may be CEL, whatever the cluster knows.

Kubernetes: KEP-5471, KEP-5721, KEP-5500 with all gates on. Differs: an expression is asked about the taints of its
toleration's key and effect only.
"""

from collections.abc import Sequence

from moorage.attach.formats import CEL, Raw
from moorage.match.evaluation.taint_expressions import EvaluationFailed
from moorage.match.tolerations import KeyedExpression, ProgramCache, TolerationSet, compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.types.pod import Toleration


def compile_original(
    tolerations: Sequence[Raw], programs: ProgramCache, on_evaluation_failed: EvaluationFailed | None = None
) -> TolerationSet:
    """Compile original tolerations. Where one is expensive, matching raises Undecided, as it does for others."""
    views = [_view(each) for each in tolerations]
    compiled = compile_tolerations(views, all_gates(), programs, on_evaluation_failed)
    if compiled.account is None:
        return compiled
    matchers = (KeyedExpression(each) if each.toleration.expression else each for each in compiled.matchers)
    return TolerationSet(matchers, compiled.account)


def _view(given: Raw) -> Toleration:
    operator, value, expression = given.get("operator") or "", given.get("value") or "", ""
    if operator == CEL:
        operator, value, expression = "", "", value
    return Toleration(
        key=given.get("key") or "",
        operator=operator,
        value=value,
        effect=given.get("effect") or "",
        tolerationSeconds=given.get("tolerationSeconds"),
        expression=expression,
    )
