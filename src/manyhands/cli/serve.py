"""manyhands serve: the report, live on this computer."""

from dataclasses import dataclass
from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli import options, output
from manyhands.cli.options import in_output


@dataclass(frozen=True, kw_only=True)
class Request(options.OptionGroup):
    """What to open, and where the page is."""

    labels: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABELS", help="Labels of items to begin with; comparisons of two "
                       "items have no page. Files are opened on the page too.", show_default=False),
    ] = None  # fmt: skip
    port: Annotated[
        int,
        options.option("Port of the page on 127.0.0.1.", min=0, max=65535, metavar="NUMBER",
                       show_default="a free one"),
    ] = 0  # fmt: skip
    no_browser: Annotated[
        bool, options.option("Open no browser; print the address only.", "--no-browser")
    ] = False
    max_size: Annotated[
        float,
        options.option("Largest file that may be opened on the page, in MB.", metavar="NUMBER"),
    ] = 200.0
    json: Annotated[
        bool, in_output("Print the address as a JSON object when the page is there.", "--json")
    ] = False
    reading: options.LabelOptions


@options.takes_groups
def serve(request: Request) -> None:
    """Open a page to look at labels, without typing commands.

    On the page you open or drop a file, see which columns were taken and change them, choose a
    method, browse items and annotators, compare methods, and download the consensus and the
    report. The page is on this computer alone: its address has a secret token, and no request
    leaves the computer. Ctrl-C ends it, and everything that was uploaded or computed is deleted.

    Example: manyhands serve

    Example: manyhands serve labels.csv

    Example: manyhands serve export.json --port 8765 --no-browser
    """
    named = [path for path in request.labels or [] if path != mh.io.STANDARD_INPUT]
    if named:  # a file that is missing is told here, not on the page
        mh.io.input_files(named, request.reading.sheet)

    def announce(start: str, page: str) -> None:
        if request.json:
            output.say_json({"url": start, "page": page})
        else:
            output.say(f"The page is at {page}")
            output.say("Only this computer can open it. Ctrl-C ends it and deletes what it keeps.")
        output.flush()

    mh.report.serve(
        request.labels or None, settings=request.reading.settings(), port=request.port,
        browser=not request.no_browser, max_size=request.max_size, announce=announce,
    )  # fmt: skip
