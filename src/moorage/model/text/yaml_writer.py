"""Write a value as YAML that every reader of Kubernetes manifests reads back as the same value.

PyYAML quotes what PyYAML would misread; `y`, `1e3` and `0o17` are texts to it and something else to the API server.
Kubernetes: sigs.k8s.io/yaml, which kubectl prints with.
"""

from typing import Any

import yaml

from moorage.model.text.yaml_text import NotJson, resolve_plain

_UNLIMITED = 1 << 30


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Quotes texts that would be read as something else, and repeats a value instead of referring to it."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent(dumper: Any, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None if _is_read_as_text(text) else '"'
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
    return node


def _is_read_as_text(text: str) -> bool:
    try:
        return isinstance(resolve_plain(text), str)
    except NotJson:
        return False


_Dumper.add_representer(str, _represent)


def write_yaml(value: Any, *, sort_keys: bool = False, width: int = _UNLIMITED) -> str:
    """Return the value in block style, with a line end. Lines longer than `width` are folded at blanks."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=sort_keys, allow_unicode=True, width=width)
    return text
