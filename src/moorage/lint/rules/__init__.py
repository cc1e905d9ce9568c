"""What will surprise you although the API server says nothing: one file for each theme.

A check takes a `Subject` and yields `Complaint`s; it is pure and knows nothing of files. What needs more than one
object is in `moorage.lint.rules.compared_values`.
"""
