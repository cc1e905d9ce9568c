"""Who owns which field: managedFields and server-side apply, as pure functions on raw documents.

Read `field_set` first (sets of paths), then `grain` (how finely a value is owned), `ownership` and `comparison` (which
fields a document sets, and which a write changed), `entries` and `updating` (what a write does to managedFields),
`merging`, `removal` and `applying` (server-side apply). `managed_fields` is the front door.
"""
