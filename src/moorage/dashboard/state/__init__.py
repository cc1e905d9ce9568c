"""Keep what the dashboard shows: rows of nodes and pods, what changed, what happened, and how it was before."""
