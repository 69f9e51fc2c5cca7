"""The errors that manyhands raises on purpose; each means that the request was wrong."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self


class SettingName(NamedTuple):
    """A setting that an error names, alone or with a value (`...` for a value of your own).

    Its text is the Python spelling. The command line spells it as an option.

    >>> str(SettingName("layout")), str(SettingName("item", "id")), str(SettingName("item", ...))
    ('layout', "item='id'", 'item=...')
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        return f"{self.name}={'...' if self.value is ... else repr(self.value)}"


class ManyhandsError(Exception):
    """Base of every error raised on purpose: its text is one line a person can act on.

    The text is made of parts: strings, and a `SettingName` where it names a setting.

    >>> error = DataError("no column 'who'; name it with ", SettingName("annotator", ...))
    >>> str(error.at("labels.csv"))
    "labels.csv: no column 'who'; name it with annotator=..."
    >>> error.spelled(lambda setting: f"--{setting.name}")
    "no column 'who'; name it with --annotator"
    """

    def __str__(self) -> str:
        return self.spelled(str)

    def spelled(self, spell: Callable[[SettingName], str]) -> str:
        """The text, with settings spelled by a function."""
        return "".join(
            spell(part) if isinstance(part, SettingName) else str(part) for part in self.args
        )

    def at(self, place: object) -> Self:
        """The same error with the place where it was found in front, unless it names it already."""
        if str(self).startswith((f"{place}: ", f"{place}, ")):
            return self
        return type(self)(f"{place}: ", *self.args)


class DataError(ManyhandsError, ValueError):
    """The data cannot be used: the text tells what, where, what was expected, and the remedy."""


class TooLargeError(DataError):
    """The data would take too much memory or time: the text gives the estimate and the remedy."""


class SettingError(ManyhandsError, ValueError):
    """A setting has a wrong value: the text names the setting, the rule and the value."""


class DivergedError(SettingError):
    """Training diverged: the text names the epoch and the settings to change."""


class UnknownNameError(ManyhandsError, KeyError):
    """A registry does not hold this name: the text lists the known names."""


def first_line(error: Exception) -> str:
    r"""The first line of an error's text, or the name of its class if the text is empty.

    >>> first_line(ValueError("no\nnever")), first_line(RuntimeError())
    ('no', 'RuntimeError')
    """
    return (str(error).splitlines() or [type(error).__name__])[0]
