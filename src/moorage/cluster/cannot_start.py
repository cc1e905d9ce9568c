"""Define the error of a component or a cluster that does not start."""


class CannotStart(Exception):
    """Why a component does not start: lines for the user."""
