"""Change objects by mutating policies: what their expressions construct becomes a merge or a JSON patch.

Read `object_types` first (Object and JSONPatch in CEL), then `patches` and `dispatch`.
"""
