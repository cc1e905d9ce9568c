"""JSON patch, merge patch and strategic merge patch.

Nothing that comes in is changed, and unchanged parts are shared with the result. Kubernetes: apiserver's
handlers/patch.go.
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
