"""Stories that can be played: a small cluster, commands as one types them, and what must come of each.

A story is a Markdown file, `examples/<name>/story.md`; nothing in here knows one of them by name.
"""
