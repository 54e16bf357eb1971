"""The one error of this tool."""


class EngineToolError(Exception):
    """What went wrong, with its evidence and what to do, in the words the user sees."""
