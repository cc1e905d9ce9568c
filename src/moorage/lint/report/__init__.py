"""Findings → text, JSON, SARIF, JUnit, GitHub annotations: one file for each form, all with the same three methods.

In: `begin`, then `source` once for each group of findings of a source, then `end` with the outcome of the run. Out:
text, written as it comes, so that no report keeps the findings it has printed.
"""
