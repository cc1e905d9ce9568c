"""Explanations: where one pod goes, or every reason why not."""
