"""The errors that manyhands raises on purpose; each means that the request was wrong."""


class ManyhandsError(Exception):
    """Base class of all errors of manyhands: the text is one line that tells what to do."""


class DataError(ManyhandsError, ValueError):
    """The data cannot be used: the text tells what, where, what was expected, and the remedy."""


class SettingError(ManyhandsError, ValueError):
    """A setting has a wrong value: the text names the setting, the rule and the value."""


class UnknownNameError(ManyhandsError, KeyError):
    """A registry does not hold this name: the text lists the known names."""

    def __str__(self) -> str:
        # KeyError would quote its argument; this text is a sentence.
        return str(self.args[0])


def first_line(error: Exception) -> str:
    r"""The first line of an error's text, or the name of its class if the text is empty.

    >>> first_line(ValueError("no\nnever")), first_line(RuntimeError())
    ('no', 'RuntimeError')
    """
    return (str(error).splitlines() or [type(error).__name__])[0]
