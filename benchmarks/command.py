"""What the command lines of the larger benchmarks share."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def sections_of(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """A type of argument: some of these names, separated by commas."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {unknown[0]!r}; known: {', '.join(known)}")
        return names

    return read


def shown_command(module: str, out: Path, arguments: list[str] | None) -> str:
    """The command as given, without the folders of this machine."""
    given = sys.argv[1:] if arguments is None else arguments
    shown = [out.name if Path(part).is_absolute() and Path(part) == out else part for part in given]
    return " ".join([f"python -m {module}", *shown])


def tell(text: str) -> None:
    """One line about what is going on."""
    print(text, file=sys.stderr, flush=True)
