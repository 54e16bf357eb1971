"""An API server's refusals, in the words in which kubectl prints them."""


class StatusError(Exception):
    """What the API server answers instead of an object."""

    def __init__(self, reason: str, message: str, *, about: tuple[str, str] = ("", "")) -> None:
        super().__init__(message)
        self.reason = reason
        self.about = about

    def tell(self, *, source: str = "", alone: bool = True) -> str:
        """As kubectl prints it: an invalid object has words of its own unless it is one of many."""
        if self.reason == "Invalid" and alone:
            return 'The {} "{}" is invalid: {}\n'.format(*self.about, self)
        whole = f'{self.about[0]} "{self.about[1]}" is invalid: {self}'
        message = whole if self.reason == "Invalid" else str(self)
        return f"Error from server ({self.reason}): {source}{message}\n"
