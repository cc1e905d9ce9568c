"""Resources and their paths: routes, discovery, stored objects, selectors."""
