"""The command line: parse, call, print."""

import errno
import json
import os
import re
import shlex
import sys
import tempfile
import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import manyhands as mh
from manyhands import __version__
from manyhands.cli import (
    aggregate,
    agree,
    check,
    compare,
    convert,
    datasets,
    demo,
    judges,
    next_labels,
    predict,
    report,
    reproduce,
    serve,
    simulate,
    train,
)
from manyhands.cli.output import noting, remark, say, say_text
from manyhands.core.errors import ManyhandsError, SettingName, first_line
from manyhands.engine.torchrun import is_first_to_fail

DONE, FAILED, WRONG_REQUEST = 0, 1, 2
_INTERRUPTED = 130  # the exit code of typer for an interrupt
_NAMES_WRONG = {
    errno.EACCES, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR,
    errno.EPERM, errno.EROFS,
}  # fmt: skip
# Whoever writes a file names it, so that without a name these are of standard output.
_UNWRITTEN = {errno.EBADF, errno.EFBIG, errno.EIO, errno.ENOSPC}
# Some versions of typer have a copy of click; this is the base of the errors of either.
_UsageError: Any = typer.BadParameter.__base__


class Command(TyperCommand):
    """A command whose errors name options, not the settings of the library."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ManyhandsError as error:
            raise ManyhandsError(error.spelled(self.spelled)) from error

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is given twice and has one value: the first would be lost."""
        if any("\x00" in word for word in args):
            raise _UsageError("an argument holds NUL, which no name of a file does", ctx)
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for each in set(given):
            flag = getattr(each, "is_flag", False) or getattr(each, "multiple", False)
            single = each.opts[0].startswith("--") and not flag
            if single and given.count(each) > 1:
                raise _UsageError(f"{each.opts[0]} is given twice; give it once", ctx)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, with the names of the registries that it refers to."""
        for each in _without_types_of_flags(self, ctx):
            each.help = _with_names(each.help or "")
        self.help = _in_paragraphs(self.help or "")
        super().format_help(ctx, formatter)

    def spelled(self, setting: SettingName) -> str:
        """A setting as the option that sets it; settings without an option keep their names."""
        options = {each.name: each for each in self.params if each.opts[0].startswith("--")}
        if setting.name not in options:
            return str(setting)
        option, value = options[setting.name], setting.value
        if value is False:
            return option.secondary_opts[0]
        name = option.opts[0]
        return name if value is None or value is True else f"{name} {_value_text(value)}"


class Group(TyperGroup):
    """The program: its help lists the commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        _without_types_of_flags(self, ctx)
        super().format_help(ctx, formatter)


def _without_types_of_flags(command: Any, ctx: Any) -> list[Any]:
    """The parameters of a command; an option without a value shows no type in the help."""
    parameters: list[Any] = command.get_params(ctx)
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return parameters


def _in_paragraphs(text: str) -> str:
    """A text whose paragraphs are one line each, so that the terminal decides where lines end."""
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))


def _with_names(help: str) -> str:
    """A help text in which {REGISTRY} and {REGISTRY kind} are replaced by the names there.

    Registries are loaded for the help of one command, not when the commands are declared.
    """

    def names(found: re.Match[str]) -> str:
        registry, kind = found.groups()
        entries = getattr(mh, registry).items()
        *first, last = [name for name, each in entries if kind is None or each.kind == kind]
        return f"{', '.join(first)} or {last}"

    return re.sub(r"\{([A-Z_]+)(?: (\w+))?\}", names, help)


def _value_text(value: object) -> str:
    if value is ...:
        return "..."
    if isinstance(value, tuple):
        return ":".join(f"{end:g}" for end in value)
    text = str(value)
    return text if text == shlex.quote(text) else json.dumps(text, ensure_ascii=False)


app = typer.Typer(
    name="manyhands",
    cls=Group,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn from the labels of many imperfect annotators.\n\nmanyhands computes a consensus "
    "with its confidence, profiles every annotator, trains networks from disagreeing labels, and "
    "reports what is wrong with the data.\n\nExample: manyhands check labels.csv\n\n"
    "Example: manyhands aggregate labels.csv --out consensus.csv --annotators annotators.csv\n\n"
    "manyhands COMMAND --help explains a command and its options.",
)

for command in (
    demo.demo, check.check, agree.agree, aggregate.aggregate, train.train, predict.predict,
    compare.compare, report.report, serve.serve, judges.judges,
    next_labels.next, convert.convert,
    simulate.simulate, reproduce.reproduce, datasets.datasets,
):  # fmt: skip
    app.command(cls=Command)(command)


@app.callback()
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        say(f"manyhands {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say_text(context.get_help().rstrip())
        raise typer.Exit


def main() -> None:
    """Run the command line; a wrong request is one line on standard error and exit code 2."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # characters that the terminal lacks are escaped
            stream.reconfigure(errors="backslashreplace")
    code = _run()
    sys.exit(code if _flushed() else max(code, FAILED))


def _open_closed_streams() -> None:
    """Occupy streams that were closed, so that no file of ours gets their place.

    A line for standard error is dropped. What is written to standard output fails.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _run() -> int:
    try:
        with noting():
            outcome = app(prog_name="manyhands", standalone_mode=False)
        sys.stdout.flush()
    except ManyhandsError as error:
        return _complain(str(error), WRONG_REQUEST)
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        return _complain(error.format_message() + hint, WRONG_REQUEST)
    except (BrokenPipeError, SystemExit) as stop:  # a reader that has gone; shell completion
        outcome = getattr(stop, "code", FAILED)
    except (OSError, MemoryError) as error:
        return _machine_error(error)
    except (KeyboardInterrupt, typer.Abort):
        outcome = _INTERRUPTED
    except Exception as error:  # a mistake of ours: the user gets a line, and we the whole story
        return _complain(_unexpected(error), FAILED)
    if outcome == _INTERRUPTED:
        return _complain("interrupted; existing files are unchanged", FAILED)
    return outcome if isinstance(outcome, int) else DONE


def _unexpected(error: Exception) -> str:
    """What to say about an error that nobody foresaw, after its traceback was kept in a file."""
    what = f"unexpected {type(error).__name__}: {first_line(error)}"
    try:
        handle, name = tempfile.mkstemp(prefix="manyhands-error-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
            traceback.print_exception(error, file=stream)
    except OSError:
        return what
    return f"{what}; please report it with the file {name}"


def _machine_error(error: OSError | MemoryError) -> int:
    if isinstance(error, MemoryError):
        return _complain(f"not enough memory: {error}", FAILED)
    where = error.filename or ("standard output" if error.errno in _UNWRITTEN else None)
    named = "" if where is None else f"{where}: "
    text = f"{named}{error.strerror or error}; existing files are unchanged"
    return _complain(text, WRONG_REQUEST if error.errno in _NAMES_WRONG else FAILED)


def _complain(text: str, code: int) -> int:
    """Print an error as one line on standard error; return the exit code.

    Of the processes of torchrun the first to fail prints it: the others fail with it.
    """
    if is_first_to_fail():
        remark("manyhands: " + " ".join(text.splitlines()))
    return code


def _flushed() -> bool:
    """Whether everything was written to standard output; if not, Python must not try again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
