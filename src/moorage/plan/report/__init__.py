"""A plan in several forms: text for a terminal, JSON and YAML, Markdown."""
