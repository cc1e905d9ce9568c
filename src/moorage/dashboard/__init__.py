"""Show a cluster in a browser: where pods are, why others wait, and what a change would do."""
