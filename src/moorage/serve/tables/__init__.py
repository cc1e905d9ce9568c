"""Tables for `kubectl get`: the server decides what the columns are, the client only lays them out.

In: raw objects of one kind. Out: meta.k8s.io/v1 Tables, or PartialObjectMetadata for clients that want metadata only.
`columns` says what a table is made of, `registry` which kind has which; `render` is what the rest of `serve` calls.
Kubernetes: pkg/printers/internalversion.
"""
