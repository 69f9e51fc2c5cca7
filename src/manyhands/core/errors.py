"""The errors a caller can meet; all of them mean that the request was wrong."""


class ManyhandsError(Exception):
    """Base of every error raised on purpose: its text is one line a person can act on."""


class DataError(ManyhandsError, ValueError):
    """The data cannot be used as it is: what and where, what was expected, what to do."""


class SettingError(ManyhandsError, ValueError):
    """A setting breaks its rule: names the setting, the rule, the value got."""


class UnknownNameError(ManyhandsError, KeyError):
    """A name that a table does not hold; the text lists the known names."""

    def __str__(self) -> str:
        # KeyError shows its argument quoted; this text is a sentence.
        return str(self.args[0])


def first_line(error: Exception) -> str:
    r"""The first line of what an error says; its kind where it says nothing.

    >>> first_line(ValueError("no\nnever")), first_line(RuntimeError())
    ('no', 'RuntimeError')
    """
    return (str(error).splitlines() or [type(error).__name__])[0]
