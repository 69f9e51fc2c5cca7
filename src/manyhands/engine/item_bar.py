"""A progress bar over items, for what comes before the first epoch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def item_bar(text: str, n_items: int, wanted: bool) -> Iterator[Callable[[int], object]]:
    """What to call with the number of items just done; a terminal or notebook shows a bar."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not wanted or not (console.is_terminal or console.is_jupyter):
        yield lambda _: None
        return
    columns = TextColumn(text), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        row = bar.add_task("", total=n_items)
        yield lambda n: bar.advance(row, n)
