"""Find the kind of what an autoscaler scales, and read its scale.

Kubernetes: RESTMappings and scaleForResourceMappings of pkg/controller/podautoscaler/horizontal.go: of the target's
apiVersion only the group counts.
"""

from collections.abc import Callable

from moorage.control.pod_autoscaler.decision import CannotScale
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import Kind
from moorage.model.text.readers import reads_text
from moorage.model.types.autoscaler import HorizontalPodAutoscaler
from moorage.model.types.request import Scale

_NOT_FOUND = "the server could not find the requested resource"


@reads_text("apps", "/", "v1")
def group_of(api_version: str) -> str | None:
    """Return the group of an apiVersion; None if it is not one."""
    if api_version.count("/") > 1:
        return None
    return api_version.partition("/")[0] if "/" in api_version else ""


def read_target(
    autoscaler: HorizontalPodAutoscaler,
    kind_of: Callable[[str, str], Kind | None],
    scale_of: Callable[[Kind, str, str], Scale | None],
) -> Scale | CannotScale:
    """Return the scale of the target. `kind_of` finds a kind by group and name, `scale_of` a scale by kind and name.

    `scale_of` raises CannotScale where a kind has no scale, and returns None where there is no such object.
    """
    reference, namespace = autoscaler.spec.scaleTargetRef, autoscaler.metadata.namespace
    group = group_of(reference.apiVersion)
    if group is None:
        why = f"unexpected GroupVersion string: {reference.apiVersion}"
        return CannotScale(why, f"invalid API version in scale target reference: {why}")
    kind = kind_of(group, reference.kind)
    if kind is None:
        why = f"no matches for kind {go_quote(reference.kind)} in group {go_quote(group)}"
        return CannotScale(why, f"unable to determine resource for scale target reference: {why}")
    try:
        scale = scale_of(kind, namespace, reference.name)
        why = f"{resource_name(kind)} {go_quote(reference.name)} not found"
    except CannotScale as error:
        scale, why = None, str(error)
    if scale is not None:
        return scale
    what = f"{reference.kind}/{namespace}/{reference.name}"
    return CannotScale(why, f"failed to query scale subresource for {what}: {why}")


def resource_name(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def no_scale() -> CannotScale:
    """Return the API server's refusal of the scale of a kind that has none."""
    return CannotScale(_NOT_FOUND, "")
