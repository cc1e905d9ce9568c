"""Issue, verify and review service account tokens, and publish their keys."""
