"""The command line: parse, call, print."""

import errno
import sys

import click
import typer

from manyhands import __version__
from manyhands.cli import aggregate, check, compare, convert, demo, simulate
from manyhands.cli.output import remark
from manyhands.core.errors import ManyhandsError

DONE, FAILED, WRONG_REQUEST = 0, 1, 2

app = typer.Typer(
    name="manyhands",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn from labels that many imperfect people gave: a consensus with its confidence, a "
    "portrait of every annotator, and a clear word about what is wrong with the data.",
)

for command in (
    demo.demo,
    check.check,
    aggregate.aggregate,
    compare.compare,
    convert.convert,
    simulate.simulate,
):
    app.command()(command)


@app.callback()
def _start(
    version: bool = typer.Option(False, "--version", help="Show the version.", is_eager=True),
) -> None:
    if version:
        sys.stdout.write(f"manyhands {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Run the command line; a wrong request is one line on standard error and exit code 2."""
    sys.exit(_run())


def _run() -> int:
    try:
        outcome = app(standalone_mode=False)
    except ManyhandsError as error:
        remark(f"manyhands: {error}")
        return WRONG_REQUEST
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        remark(f"manyhands: {error.format_message()}{hint}")
        return WRONG_REQUEST
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; nothing more can be said
        return FAILED
    except OSError as error:
        return _system_error(error)
    except (KeyboardInterrupt, click.Abort):
        remark("manyhands: interrupted; nothing was written")
        return FAILED
    return outcome if isinstance(outcome, int) else DONE


def _system_error(error: OSError) -> int:
    where = f"{error.filename}: " if error.filename else ""
    remark(f"manyhands: {where}{error.strerror or error}; files that were there are unchanged")
    return WRONG_REQUEST if error.errno in {errno.EACCES, errno.EISDIR, errno.ENOENT} else FAILED
