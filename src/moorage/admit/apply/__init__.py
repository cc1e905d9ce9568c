"""Merge a document into an object by the schema of its kind, as server-side apply does.

Read `field_set` first (sets of paths), then `ownership_schema` (which values are owned in parts) and `merging`.
"""
