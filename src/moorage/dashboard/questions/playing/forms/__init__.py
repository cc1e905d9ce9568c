"""Say the same rule in other ways: by text, as a number, as a version, as an expression; and try whether they agree."""
