"""A plan in several forms: for people in a terminal, for programs, for a page.

In: an `Outcome`, and if they were asked for a `Difference` and a `Rollout`.
"""
