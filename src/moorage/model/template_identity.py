"""What tells one pod template from another: all of it but what is shown and says nothing.

In: a raw template. Out: the part to make hashes of. The API shows the resources of every container, also if there are
none; a template that was stored before or never passed the API is the same without them.
"""

from typing import Any

_CONTAINERS = ("containers", "initContainers")


def telling_part(template: dict[str, Any]) -> dict[str, Any]:
    """Return the template without empty resources of containers; the argument is not modified."""
    spec = template.get("spec")
    if not isinstance(spec, dict):
        return template
    lists = {name: [_without_empty_resources(one) for one in spec[name]] for name in _CONTAINERS if spec.get(name)}
    return {**template, "spec": {**spec, **lists}}


def _without_empty_resources(container: Any) -> Any:
    if isinstance(container, dict) and container.get("resources") == {}:
        return {name: value for name, value in container.items() if name != "resources"}
    return container
