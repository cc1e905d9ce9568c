"""Resource claims of a pod: each named once, each either a claim or a template for one.

In: a pod's `resourceClaims` and its annotations. Out: field errors, and the names containers may refer to. Kubernetes:
validatePodResourceClaims, gatherPodResourceClaimNames.
"""

from moorage.admit.dns_names import validate_dns_label, validate_dns_subdomain
from moorage.model.field_error import AsJSON, FieldError, duplicate, forbidden, invalid, required
from moorage.model.go.quoting import GoStruct
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import PodResourceClaim

MIRROR_POD_ANNOTATION = "kubernetes.io/config.mirror"
_NO_CLAIMS = frozenset[str]()


def claim_names(claims: tuple[PodResourceClaim, ...]) -> frozenset[str]:
    return frozenset(claim.name for claim in claims if claim.name) if claims else _NO_CLAIMS


def validate_pod_resource_claims(
    claims: tuple[PodResourceClaim, ...], path: str, metadata: ObjectMeta | None
) -> list[FieldError]:
    if metadata is not None and MIRROR_POD_ANNOTATION in metadata.annotations:
        # Upstream's path is an empty one, which prints as "[]".
        return [forbidden("[]", "static pods do not support resource claims") for _ in claims]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        if not claim.name:
            errors.append(required(f"{at}.name"))
        elif claim.name in seen:
            errors.append(duplicate(f"{at}.name", claim.name))
        else:
            errors += validate_dns_label(claim.name, f"{at}.name")
            seen.add(claim.name)
        errors += _validate_source(claim, at)
    return errors


def _validate_source(claim: PodResourceClaim, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, template = claim.resourceClaimName, claim.resourceClaimTemplateName
    if (name is None) == (template is None):
        shown = GoStruct(Name=claim.name, ResourceClaimName=name, ResourceClaimTemplateName=template)
        detail = (
            "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if name is None
            else "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        )
        errors.append(invalid(path, AsJSON(shown), detail))
    if name is not None:
        errors += validate_dns_subdomain(name, f"{path}.resourceClaimName")
    if template is not None:
        errors += validate_dns_subdomain(template, f"{path}.resourceClaimTemplateName")
    return errors
