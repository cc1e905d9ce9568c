"""Print documents as a stream of YAML or as one List of JSON."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.shared import prepare_output, write_lines

form_option = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("yaml", "json")),
    default="yaml",
    show_default=True,
    help="Output format; json is one List.",
)


def print_documents(documents: list[dict[str, Any]], form: str) -> None:
    """Write documents to standard output; nothing if there are none and the form is YAML."""
    from moorage.model.text.yaml_writer import write_yaml

    prepare_output(is_text=False)
    if form == "json":
        import json

        listed = {"apiVersion": "v1", "kind": "List", "items": documents}
        write_lines(json.dumps(listed, indent=2, ensure_ascii=False).split("\n"))
        return
    if documents:
        write_lines("---\n".join(write_yaml(document) for document in documents).rstrip("\n").split("\n"))
