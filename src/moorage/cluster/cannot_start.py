"""The error with which a component or a cluster does not start."""


class CannotStart(Exception):
    """Why a component does not start: lines for the user."""
