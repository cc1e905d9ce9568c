"""A plan in several forms: for people in a terminal, for programs, for a page.

In: an `Outcome`, and if they were asked for a `Difference` and a `Rollout`. Next: `plain`, on which JSON and YAML
stand; `text` and `markdown` for people.
"""
