"""Judge a rule that is being written: where it is wrong, what it matches, how else it can be said, what comes next."""
