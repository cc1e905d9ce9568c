"""The rows of the `Kind` table, a module for each area; `moorage.model.kinds` joins them."""
