"""Show the target of a request in logs, without the values that may be secrets.

Names of parameters stay; of their values only those that Kubernetes defines and that no credential is put into: a
one-time token of the dashboard, a command to execute or an unknown parameter is not written down. Kubernetes: httplog.
Differs: kube-apiserver logs the whole target.
"""

from urllib.parse import unquote_plus

HIDDEN = "***"
_HARMLESS_NAMES = """
    allowWatchBookmarks container continue dryRun exclude fieldManager fieldSelector fieldValidation follow force
    gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential includeObject labelSelector limit limitBytes
    orphanDependents pretty previous propagationPolicy resourceVersion resourceVersionMatch sendInitialEvents
    sinceSeconds sinceTime stderr stdin stdout tailLines timeout timeoutSeconds timestamps tty verbose watch
"""
_HARMLESS = frozenset(_HARMLESS_NAMES.split())
_MAX_SHOWN = 2_048


def shown_target(target: str) -> str:
    """Return a target as it may be logged: hidden values are `***`, and a long one is cut."""
    path, mark, query = target.partition("?")
    scheme, separator, rest = path.partition("://")
    if separator:  # the form that proxies are sent, which may have a password in it
        authority, slash, rest = rest.partition("/")
        path = f"{scheme}://{authority.rpartition('@')[2]}{slash}{rest}"
    if mark:
        path = f"{path}?{'&'.join(map(_shown_pair, query[:_MAX_SHOWN].split('&')))}"
    return path if len(path) <= _MAX_SHOWN else f"{path[:_MAX_SHOWN]}…"


def _shown_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    if not equals or not value:
        return pair
    # Some servers also separate parameters by semicolons.
    is_harmless = unquote_plus(name) in _HARMLESS and ";" not in unquote_plus(value)
    return pair if is_harmless else f"{name}={HIDDEN}"
