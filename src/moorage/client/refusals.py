"""Log what an API server does not let a component do, at every verbosity: once for each verb and resource.

A component that lacks a right goes on and tries again; without this its log would not say why nothing happens.
"""

from moorage.model.api_error import ApiError
from moorage.model.text.patterns import Pattern
from moorage.telemetry.logs import get_logger

_MAX_LOGGED = 1000
_CANNOT = Pattern(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]*)" in API group "(?P<group>[^"]*)"'
)


class RefusalLog:
    """The refusals that one client has met."""

    def __init__(self, component: str) -> None:
        self._log = get_logger(component)
        self._logged: set[tuple[str, ...]] = set()

    def note(self, refusal: ApiError) -> None:
        """Log a refusal for want of a right, with the rule that would allow it, if it is the first of its kind."""
        match = _CANNOT.search(refusal.message) if refusal.code == 403 else None
        if match is None or match.groups() in self._logged or len(self._logged) >= _MAX_LOGGED:
            return
        self._logged.add(match.groups())
        user, verb, resource, group = match.groups()
        rule = f'{{apiGroups: ["{group}"], resources: ["{resource}"], verbs: ["{verb}"]}}'
        self._log.error("Forbidden: no role of this component has the rule", user=user, rule=rule, err=refusal.message)
