"""Build tables for `kubectl get`: the server decides what the columns are, the client only lays them out.

`columns` has the parts of a table; `render` is what the rest of `serve` calls; the others have the tables of the kinds.
Kubernetes: pkg/printers/internalversion.
"""
