"""Turn requests, over HTTP or from components in this process, into calls of verbs, and results into answers."""
