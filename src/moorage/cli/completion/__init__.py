"""Words that a shell completes: from the tree of commands, their options, and what is there to choose from."""
