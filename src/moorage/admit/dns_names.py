"""Field errors about DNS names, the commonest rule of all.

In: a name and its path. Out: one field error for each complaint of `model.names`. Kubernetes: ValidateDNS1123Label and
ValidateDNS1123Subdomain (pkg/apis/core/validation), NameIsDNSSubdomain (apimachinery).
"""

from moorage.admit.remembered_names import remember
from moorage.model.field_error import FieldError, invalid
from moorage.model.names import dns1123_label_errors, dns1123_subdomain_errors

label_errors = remember(dns1123_label_errors)
subdomain_errors = remember(dns1123_subdomain_errors)


def validate_dns_label(name: str, path: str) -> list[FieldError]:
    messages = label_errors(name)
    return [invalid(path, name, message) for message in messages] if messages else []


def validate_dns_subdomain(name: str, path: str) -> list[FieldError]:
    messages = subdomain_errors(name)
    return [invalid(path, name, message) for message in messages] if messages else []


def mask_trailing_dash(prefix: str) -> str:
    """A generateName as upstream checks it: a final dash stands for the characters that will follow it.

    Upstream replaces the last two characters, not one; so does this.
    """
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
