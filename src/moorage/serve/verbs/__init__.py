"""What can be done to objects, one file for each: read, create, change, delete, and what pods have besides.

In: an `Api`, the kind, names, raw documents, options. Out: `Outcome`s and pages, or ApiError. They know nothing of
HTTP: `handler` calls them for requests, `moorage.serve.loopback` for components in the same process.
"""
