"""Show operators the API server beside its API: logged requests, the state of objects as metrics, profiles."""
