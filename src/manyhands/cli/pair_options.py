"""Options of tables of comparisons, and what commands say about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import manyhands as mh
from manyhands.cli import options, output
from manyhands.core.errors import SettingError

_PANEL = "Comparisons of two items"


def _option(help: str, *names: str, **settings: Any) -> Any:
    return options.option(help, *names, panel=_PANEL, **settings)


@dataclass(frozen=True)
class PairOptions(options.OptionGroup):
    """How to read comparisons; a table is taken for one by its columns, or with --kind pairs."""

    left: Annotated[
        str | None, _option("Column of the left item. By default columns of two items are found "
                            "by their names, such as left and right, or model_a and model_b.",
                            metavar="NAME"),
    ] = None  # fmt: skip
    right: Annotated[str | None, _option("Column of the right item.", metavar="NAME")] = None
    winner: Annotated[
        str | None, _option("Column of the winner: an item of the row, a side, or a tie.",
                            metavar="NAME"),
    ] = None  # fmt: skip
    winner_is: Annotated[
        Literal["item", "side"] | None,
        _option("What a winner is, where names of items may as well be sides."),
    ] = None
    outcomes: Annotated[
        list[str] | None,
        _option("What another word for the winner means, such as 0=left, 1=right or X=tie. "
                "Repeatable.", "--outcome", metavar="WORD=SIDE"),
    ] = None  # fmt: skip

    def file(self, labels: "mh.io.LabelFile") -> "mh.io.PairFile | None":
        """The file as one of comparisons; None if it has labels of items."""
        if not labels.has_pairs:
            self.require_unused(labels.shown)
            return None
        return labels.pairs(
            left=self.left, right=self.right, winner=self.winner or labels.label,
            winner_is=self.winner_is, outcomes=self._outcomes(),
        )  # fmt: skip

    def require_unused(self, shown: str) -> None:
        """Raise an error for an option that only comparisons have."""
        given = {
            "--left": self.left, "--right": self.right, "--winner": self.winner,
            "--winner-is": self.winner_is, "--outcome": self.outcomes,
        }  # fmt: skip
        for name, value in given.items():
            if value:
                raise SettingError(
                    f"{name} is for comparisons of two items, and {shown} is not read as such; "
                    "give --kind pairs, or leave it out"
                )

    def _outcomes(self) -> dict[str, str] | None:
        words = {}
        for text in self.outcomes or ():
            word, equals, side = text.rpartition("=")
            if not equals or not word:
                raise SettingError(f"--outcome must be WORD=SIDE, such as 0=left; got {text!r}")
            words[word] = side
        return words or None


def pair_lines(pairs: "mh.Comparisons") -> list[str]:
    """What a file of comparisons was taken for, and notes about it."""
    source = pairs.source
    if source is None:
        return [repr(pairs)]
    ties = f", {output.counted(pairs.n_ties, 'tie')}" if pairs.n_ties else ""
    return [
        f"{source}; {output.counted(len(pairs), 'comparison')} of "
        f"{output.counted(pairs.n_items, 'item')}{ties}",
        *(f"note: {note}" for note in source.notes),
    ]


def pair_source(pairs: "mh.Comparisons") -> dict[str, object]:
    """What a file of comparisons was taken for, for JSON."""
    taken = {} if pairs.source is None else pairs.source.as_dict()
    return taken | {
        "n_labels": len(pairs), "n_items": pairs.n_items, "n_annotators": pairs.n_annotators,
        "n_ties": pairs.n_ties,
    }  # fmt: skip


def refuse_options(what: str, **given: object) -> None:
    """Raise an error for options that comparisons have no use for."""
    for name, value in given.items():
        if value:
            flag = f"--{name.replace('_', '-')}"
            raise SettingError(f"{flag} is not for {what}; leave it out")


def score_line(scores: "mh.evaluation.RankingScorecard") -> str:
    """How well a ranking agrees with true scores, in one line."""
    return (
        f"{scores.n} items with a true score: rank correlation {scores.spearman:.4f} (Spearman), "
        f"{scores.kendall:.4f} (Kendall); {100 * scores.pair_accuracy:.1f} % of their pairs are in "
        "the right order"
    )


def names_of(methods: Sequence[str] | None) -> list[str]:
    """Names of aggregators of comparisons; all without names."""
    return [mh.PAIR_AGGREGATORS[name].name for name in methods or mh.PAIR_AGGREGATORS]
