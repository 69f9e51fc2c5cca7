"""Options that write files for annotation tools."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import manyhands as mh
from manyhands.cli.options import OptionGroup, in_output
from manyhands.core.errors import SettingError

BELOW = 0.7


@dataclass(frozen=True, kw_only=True)
class ToolFiles(OptionGroup):
    """Files with the consensus, and with items to relabel, as annotation tools import them."""

    suggestions: Annotated[
        str | None,
        in_output("For the export of an annotation tool: the consensus as the tool imports it, "
                  ".json for Label Studio and Argilla, .jsonl for Prodigy and doccano, .csv for "
                  "Mechanical Turk.", metavar="FILE"),
    ] = None  # fmt: skip
    relabel: Annotated[
        str | None,
        in_output("Items that need more labels, the least confident first: as the tool imports "
                  "them, or a table.", metavar="FILE"),
    ] = None  # fmt: skip
    relabel_below: Annotated[
        float | None,
        in_output("Confidence below which an item is in --relabel.", min=0, max=1,
                  metavar="NUMBER", show_default=str(BELOW)),
    ] = None  # fmt: skip

    @property
    def names(self) -> list[str | None]:
        """The files to write."""
        return [self.suggestions, self.relabel]

    def require_use(self) -> None:
        """Raise an error for options that contradict each other."""
        for option in ("suggestions", "relabel"):
            if getattr(self, option) == "-":
                raise SettingError(f"--{option} needs the name of a file, not -")
        if self.relabel_below is not None and self.relabel is None:
            raise SettingError("--relabel-below needs --relabel FILE")

    def require_targets(self, annotations: "mh.Annotations") -> None:
        """Raise an error for files that cannot be written for these labels."""
        if self.suggestions is not None:
            mh.io.require_suggestions_target(annotations, self.suggestions)
        if self.relabel is not None:
            mh.io.require_relabel_target(annotations, self.relabel)

    def write(self, consensus: "mh.Consensus") -> dict[str, Any]:
        """Write the files; what was written, for the summary."""
        return self._write(consensus, mh.io.write_suggestions, mh.io.write_relabel)

    def require_span_targets(self, annotations: "mh.Annotations") -> None:
        """Raise an error for files that cannot be written for these labels of tokens."""
        for name in self.names:
            if name is not None:
                mh.io.require_span_target(annotations, name)

    def write_spans(self, found: "mh.aggregation.TokenConsensus") -> dict[str, Any]:
        """Write the files of a consensus of tokens; what was written, for the summary."""
        return self._write(found, mh.io.write_span_suggestions, mh.io.write_span_relabel)

    def _write(
        self, found: Any, suggest: Callable[..., int], relabel: Callable[..., int]
    ) -> dict[str, Any]:
        written: dict[str, Any] = {}
        if self.suggestions is not None:
            n_items = suggest(found, self.suggestions)
            written["suggestions"] = {"file": self.suggestions, "items": n_items}
        if self.relabel is not None:
            below = BELOW if self.relabel_below is None else self.relabel_below
            n_items = relabel(found, self.relabel, below=below)
            written["relabel"] = {"file": self.relabel, "items": n_items, "below": below}
        return written


def written_lines(written: dict[str, Any]) -> list[str]:
    """What was written, in lines."""
    lines = []
    if "suggestions" in written:
        found = written["suggestions"]
        lines.append(f"suggestions: {found['items']} items in {found['file']}")
    if "relabel" in written:
        found = written["relabel"]
        lines.append(
            f"to relabel: {found['items']} items with confidence below {found['below']:g} in "
            f"{found['file']}"
        )
    return lines
