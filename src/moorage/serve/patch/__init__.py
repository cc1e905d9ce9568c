"""The three ways to say a change: JSON patch, merge patch, strategic merge patch.

In: a document and a patch, as JSON values. Out: the changed document, or PatchError. Nothing that comes in is changed,
and what did not change is shared with what comes out, so that a small patch of a large object costs what the patch
costs. Kubernetes: apiserver's handlers/patch.go.
"""

from moorage.serve.patch.json_patch import apply_json_patch, unknown_operation_fields
from moorage.serve.patch.merge_patch import apply_merge_patch
from moorage.serve.patch.patch_error import PatchError, refusal
from moorage.serve.patch.strategic_merge import apply_strategic_merge

__all__ = [
    "PatchError",
    "apply_json_patch",
    "apply_merge_patch",
    "apply_strategic_merge",
    "refusal",
    "unknown_operation_fields",
]
