"""Serve custom resources: read, admit, own, scale and show their objects.

Read `served_kind` first (one version of a definition), then `definitions` (from a stored CustomResourceDefinition to
what is served) and `admission`. Schemas are read in `moorage.custom`.
"""
