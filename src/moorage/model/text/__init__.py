"""YAML and JSON text as raw documents, with the line and column of every field."""
