"""Manifests → placements and reasons: the offline composition of admission, columns and the scheduler."""
