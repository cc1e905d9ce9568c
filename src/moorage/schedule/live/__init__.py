"""The scheduler at work on a live cluster: informers in, calls to the API server out, the cycle in between."""
