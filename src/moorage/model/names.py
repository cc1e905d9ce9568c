"""Check the syntax of names: label keys and values, DNS labels and subdomains, ports, environment variables.

Lengths are in bytes. Kubernetes: apimachinery, util/validation and api/validate/content.
"""

from moorage.model.text.patterns import anywhere, whole
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short

_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_DNS_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN_UNDERSCORE = rf"{_DNS_LABEL_UNDERSCORE}(\.{_DNS_LABEL_UNDERSCORE})*"
_DNS_1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_LABEL_NAME})?"
_HTTP_HEADER = "[-A-Za-z0-9]+"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"

_LABEL_NAME_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)

_is_dns_label = whole(_DNS_LABEL)
_is_dns_subdomain = whole(_DNS_SUBDOMAIN)
_is_dns_subdomain_underscore = whole(_DNS_SUBDOMAIN_UNDERSCORE)
_is_dns_1035_label = whole(_DNS_1035_LABEL)
_is_label_name = whole(_LABEL_NAME)
_is_http_header = whole(_HTTP_HEADER)
_is_config_key = whole(_CONFIG_KEY)
_is_port_charset = whole(r"[-a-z0-9]+")
_has_letter = anywhere(r"[a-z]")
_is_percent = whole(_PERCENT)


def regex_error(words: str, pattern: str, *examples: str) -> str:
    """Return the sentence Kubernetes appends wherever a regular expression was not met."""
    if not examples:
        return f"{words} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


def byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def in_range_errors(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [f"must be between {low} and {high}, inclusive"]


def port_number_errors(port: int) -> list[str]:
    return in_range_errors(port, 1, 65535)


@remember_short(4096)
def _label_key_errors(key: str) -> tuple[str, ...]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        words = regex_error(f"a valid label key {_LABEL_NAME_WORDS}", _LABEL_NAME, "MyName", "my.name", "123-abc")
        return (f"{words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    errors: list[str] = []
    if slash:
        if not prefix:
            errors.append("prefix part must be non-empty")
        else:
            if byte_length(prefix) > 253:
                errors.append("prefix part must be no more than 253 bytes")
            if not _is_dns_subdomain(prefix):
                errors.append(f"prefix part {_SUBDOMAIN_ERROR}")
    if not name:
        errors.append("name part must be non-empty")
    elif byte_length(name) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not _is_label_name(name):
        words = regex_error(f"name part {_LABEL_NAME_WORDS}", _LABEL_NAME, "MyName", "my.name", "123-abc")
        errors.append(words)
    return tuple(errors)


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def label_key_errors(key: str) -> list[str]:
    """Check a qualified name: `name` or `dns.subdomain/name`. Also for taint keys, resource names, gates."""
    return list(_label_key_errors(key))


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def label_value_errors(value: str) -> list[str]:
    """Empty, or up to 63 bytes of alphanumerics, `-`, `_`, `.`, alphanumeric at both ends."""
    if not value or (len(value) <= 63 and _is_label_name(value)):
        return []
    errors = ["must be no more than 63 bytes"] if byte_length(value) > 63 else []
    if not _is_label_name(value):
        words = f"a valid label must be an empty string or {_LABEL_NAME_WORDS.removeprefix('must ')}"
        errors.append(regex_error(words, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return errors


_SUBDOMAIN_ERROR = regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _DNS_SUBDOMAIN,
    "example.com",
)
_LABEL_ERROR = regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _DNS_LABEL,
    "my-name",
    "123-abc",
)


def _too_long(value: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if byte_length(value) > limit else []


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def dns1123_subdomain_errors(value: str) -> list[str]:
    """Check a DNS subdomain: the rule for most objects' names."""
    if _is_dns_subdomain(value) and len(value) <= 253:
        return []
    return _too_long(value, 253) + ([] if _is_dns_subdomain(value) else [_SUBDOMAIN_ERROR])


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def long_name_errors(value: str) -> list[str]:
    """Check a DNS subdomain by declarative validation, which counts bytes where other rules say characters."""
    return [message.replace("253 characters", "253 bytes") for message in dns1123_subdomain_errors(value)]


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def wildcard_subdomain_errors(value: str) -> list[str]:
    """Check a host name that begins with `*.`."""
    if value.startswith("*.") and _is_dns_subdomain(value[2:]):
        return _too_long(value, 253)
    words = (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
        "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
    )
    return [*_too_long(value, 253), regex_error(words, rf"\*\.{_DNS_SUBDOMAIN}", "*.example.com")]


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def dns1123_subdomain_with_underscore_errors(value: str) -> list[str]:
    if _is_dns_subdomain_underscore(value):
        return _too_long(value, 253)
    words = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return [*_too_long(value, 253), regex_error(words, _DNS_SUBDOMAIN_UNDERSCORE, "example.com")]


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def dns1123_label_errors(value: str) -> list[str]:
    """Check a DNS label: the rule for namespaces, container and volume names."""
    if _is_dns_label(value):
        return _too_long(value, 63)
    wrong = "must not contain dots" if _is_dns_subdomain(value) else _LABEL_ERROR
    return [*_too_long(value, 63), wrong]


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def dns1035_label_errors(value: str) -> list[str]:
    """Check a DNS label that begins with a letter: the rule for Service names."""
    if _is_dns_1035_label(value):
        return _too_long(value, 63)
    words = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character"
    )
    return [*_too_long(value, 63), regex_error(words, _DNS_1035_LABEL, "my-name", "abc-123")]


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def port_name_errors(name: str) -> list[str]:
    """Check an IANA service name: at most 15 of a-z, 0-9 and -, at least one letter, no hyphen at an end or doubled."""
    errors = _too_long(name, 15)
    if not _is_port_charset(name):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(name):
        errors.append("must contain at least one letter (a-z)")
    if "--" in name:
        errors.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        errors.append("must not begin or end with a hyphen")
    return errors


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def relaxed_environment_name_errors(name: str) -> list[str]:
    """Check the name of an environment variable as since 1.34: printable ASCII without `=`."""
    if not name:
        return ["environment variable name must be non-empty"]
    if all(" " <= character <= "~" and character != "=" for character in name):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def http_header_name_errors(name: str) -> list[str]:
    if _is_http_header(name):
        return []
    words = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [regex_error(words, _HTTP_HEADER, "X-Header-Name")]


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def config_key_errors(key: str) -> list[str]:
    """Check a key of a ConfigMap or Secret: a file name that stays inside its directory."""
    errors = _too_long(key, 253)
    if not _is_config_key(key):
        words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        errors.append(regex_error(words, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if key in (".", ".."):
        errors.append(f"must not be '{key}'")
    elif key.startswith(".."):
        errors.append("must not start with '..'")
    return errors


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
def percent_errors(text: str) -> list[str]:
    if _is_percent(text):
        return []
    words = "a valid percent string must be a numeric string followed by an ending '%'"
    return [regex_error(words, _PERCENT, "1%", "93%")]
