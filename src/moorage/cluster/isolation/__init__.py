"""Expensive expressions are evaluated in a worker process, so that no input stalls the event loop."""
