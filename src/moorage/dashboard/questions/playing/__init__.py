"""Judge a rule that is being written: where it is wrong, what it matches, its other forms, what can be typed next."""
