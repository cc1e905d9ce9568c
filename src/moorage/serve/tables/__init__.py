"""Tables for `kubectl get`: the server decides what the columns are, the client only lays them out.

`columns` says what a table is made of; `render` is what the rest of `serve` calls.
Kubernetes: pkg/printers/internalversion.
"""
