"""The command line: parse, call, print."""

import errno
import os
import sys
from typing import Annotated, Any

import typer

from manyhands import __version__
from manyhands.cli import (
    aggregate,
    check,
    compare,
    convert,
    datasets,
    demo,
    predict,
    reproduce,
    simulate,
    train,
)
from manyhands.cli.output import remark, say
from manyhands.core.errors import ManyhandsError

DONE, FAILED, WRONG_REQUEST = 0, 1, 2
_INTERRUPTED = 130  # what typer makes of an interrupt
_NAMES_WRONG = {
    errno.EACCES, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR,
    errno.EPERM, errno.EROFS,
}  # fmt: skip
# Some versions of typer carry a click of their own; this is the base of the errors of either.
_UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    name="manyhands",
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn from labels that many imperfect people gave: a consensus with its confidence, a "
    "portrait of every annotator, a network trained straight from the disagreement, and a clear "
    "word about what is wrong with the data.",
)

for command in (
    demo.demo,
    check.check,
    aggregate.aggregate,
    train.train,
    predict.predict,
    compare.compare,
    convert.convert,
    simulate.simulate,
    reproduce.reproduce,
    datasets.datasets,
):
    app.command()(command)


@app.callback()
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        say(f"manyhands {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit


def main() -> None:
    """Run the command line; a wrong request is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name the terminal cannot show is shown escaped
            stream.reconfigure(errors="backslashreplace")
    code = _run()
    sys.exit(code if _all_said() else max(code, FAILED))


def _run() -> int:
    try:
        outcome = app(standalone_mode=False)
        sys.stdout.flush()
    except ManyhandsError as error:
        return _complain(str(error), WRONG_REQUEST)
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        return _complain(error.format_message() + hint, WRONG_REQUEST)
    except (BrokenPipeError, SystemExit):  # the reader has gone; typer makes an exit of it
        return FAILED
    except (OSError, MemoryError) as error:
        return _machine_error(error)
    except (KeyboardInterrupt, typer.Abort):
        outcome = _INTERRUPTED
    if outcome == _INTERRUPTED:
        return _complain("interrupted; files that were there are unchanged", FAILED)
    return outcome if isinstance(outcome, int) else DONE


def _machine_error(error: OSError | MemoryError) -> int:
    if isinstance(error, MemoryError):
        return _complain(f"not enough memory: {error}", FAILED)
    where = f"{error.filename}: " if error.filename else ""
    said = f"{where}{error.strerror or error}; files that were there are unchanged"
    return _complain(said, WRONG_REQUEST if error.errno in _NAMES_WRONG else FAILED)


def _complain(text: str, code: int) -> int:
    """One line on standard error, whatever names it holds."""
    remark("manyhands: " + " ".join(text.splitlines()))
    return code


def _all_said() -> bool:
    """Whether standard output took everything; if not, Python must not try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
