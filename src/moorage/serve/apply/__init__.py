"""Maintain field ownership: managedFields and server-side apply, as pure functions on raw documents.

Read `field_set` first (sets of paths), then `ownership_schema` (which values are owned in parts), `ownership` (which
fields a document sets, and which a write changed), `entries` (managedFields) and `applying` (server-side apply).
`managed_fields` is what the rest of `serve` calls.
"""
