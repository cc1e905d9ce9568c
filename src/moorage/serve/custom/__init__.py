"""Custom resources: which are served, how their objects are read, admitted, owned, scaled and shown.

Read `served_kind` first (one version of a definition), then `definitions` (from a stored CustomResourceDefinition to
what is served) and `admission`. Schemas are read in `moorage.custom`.
"""
