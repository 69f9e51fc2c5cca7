"""Checks of the settings of networks: widths of layers, shares and switches."""

from collections.abc import Sequence
from numbers import Integral, Real

from manyhands.core.settings import require

Sizes = Sequence[int]


def require_size(name: str, got: object) -> None:
    """Raise a `SettingError` unless the value is a whole number >= 1.

    >>> require_size("n_classes", 0)
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: n_classes must be a whole number >= 1; got 0
    """
    require(_is_size(got), name, "a whole number >= 1", got)


def require_sizes(name: str, got: object) -> None:
    """Raise a `SettingError` unless the value is a list of whole numbers >= 1.

    A single number in place of a list is a likely mistake, so the error shows a list of one.

    >>> require_sizes("hidden", 128)
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: hidden must be whole numbers >= 1, as in [128]; got 128
    """
    listed = isinstance(got, Sequence) and not isinstance(got, str)
    holds = listed and all(_is_size(each) for each in got)  # type: ignore[attr-defined]
    require(holds, name, "whole numbers >= 1, as in [128]", got)


def require_dropout(name: str, got: object) -> None:
    """Raise a `SettingError` unless the value is a probability below 1.

    >>> require_dropout("dropout", 1.0)
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: dropout must be >= 0 and < 1; got 1.0
    """
    holds = isinstance(got, Real) and not isinstance(got, bool) and 0 <= float(got) < 1
    require(holds, name, ">= 0 and < 1", got)


def require_flag(name: str, got: object) -> None:
    """Raise a `SettingError` unless the value is true or false.

    >>> require_flag("batch_norm", "yes")
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: batch_norm must be true or false; got 'yes'
    """
    require(isinstance(got, bool), name, "true or false", got)


def _is_size(got: object) -> bool:
    return isinstance(got, Integral) and not isinstance(got, bool) and int(got) >= 1
