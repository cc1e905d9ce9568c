"""Maintain field ownership: managedFields and server-side apply, as pure functions on raw documents.

Sets of paths, the schema and the merge are in `moorage.admit.apply`. Read `ownership` first (which
fields a document sets, and which a write changed), `entries` (managedFields) and `applying` (server-side apply).
`managed_fields` is what the rest of `serve` calls.
"""
