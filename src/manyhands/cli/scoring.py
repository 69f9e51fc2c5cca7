"""Scores of a consensus or of predictions against the table of --truth."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import manyhands as mh
from manyhands.cli.options import LabelOptions
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError


@dataclass(frozen=True)
class Truths:
    """What a truth table has: a truth per item, shares of classes (p_<class>), both or neither."""

    hard: dict[Any, Any] | None = None
    soft: dict[Any, dict[Any, float]] | None = None

    @classmethod
    def read(cls, reading: LabelOptions, path: str | None) -> "Truths":
        """Read the table, if one is given."""
        if path is None:
            return cls()
        sheet = mh.io.sheet_of(path, reading.sheet)
        names = mh.io.column_names(path, encoding=reading.encoding, sheet=sheet)
        hard, soft = mh.io.truth_kinds(names)
        shares = None
        if soft:
            shares = mh.io.read_soft_truth(path, encoding=reading.encoding, sheet=sheet)
        return cls(reading.truth(path) if hard else None, shares)

    def of_consensus(self, consensus: "mh.Consensus") -> dict[str, Any]:
        """The scores of a consensus: `scores`, and `soft_scores` where there are shares.

        `score_notes` say which truths could not be found, if there are some.
        """
        soft = self._soft_for(consensus.annotations.kind)
        hard = self.hard
        found: dict[str, Any] = {"scores": {} if hard is None else consensus.score(hard).as_dict()}
        notes = [] if hard is None else _notes(hard, consensus.annotations)
        found |= {"score_notes": notes} if notes else {}
        return found | ({"soft_scores": consensus.score_soft(soft).as_dict()} if soft else {})

    def of_predictions(
        self, trained: Any, columns: Mapping[str, AnyArray]
    ) -> dict[str, dict[str, float]]:
        """The scores of a table of predictions."""
        soft = self._soft_for(trained.kind)
        items = mh.annotations.Vocabulary.of(columns["item"].tolist(), "item")
        if trained.kind == "numbers":
            card = mh.evaluation.regression_scorecard(items, columns["label"], self.hard or {})
            return {"scores": card.as_dict()}
        if trained.kind == "multilabel":
            return {"scores": _scores_of_sets(trained, items, columns, self.hard)}
        classes = mh.annotations.Vocabulary.of(trained.classes_.tolist(), "class")
        p_ik = np.stack([columns[f"p_{name}"] for name in trained.classes_], axis=1)
        found: dict[str, dict[str, float]] = {"scores": {}}
        if self.hard is not None:
            found["scores"] = mh.evaluation.classification_scorecard(
                items, classes, p_ik, columns["label"], columns["confidence"], self.hard
            ).as_dict()
        if soft:
            card_of = mh.evaluation.soft_scorecard
            found["soft_scores"] = card_of(items, classes, p_ik, columns["label"], soft).as_dict()
        return found

    def _soft_for(self, kind: str) -> dict[Any, dict[Any, float]] | None:
        """The shares of classes; labels that are numbers have none."""
        if kind == "numbers" and self.soft is not None and self.hard is None:
            raise DataError(
                "--truth has shares of classes, and the labels are numbers; give a column truth"
            )
        if kind == "multilabel" and self.soft is not None and self.hard is None:
            raise DataError(
                "--truth has shares of classes, and the labels are sets; give a column truth"
            )
        return self.soft if kind == "classes" else None


def _notes(truth: Mapping[Any, Any], ann: "mh.Annotations") -> list[str]:
    """Which truths are of other items, or of classes that nobody said."""
    here = ann.item_vocabulary.codes(truth) >= 0
    notes = []
    if not here.all():
        notes.append(
            f"{int((~here).sum())} of {len(here)} items of the truth table have no labels and are "
            "not scored"
        )
    if ann.kind == "classes" and ann.class_vocabulary is not None:
        names = [name for name, kept in zip(truth.values(), here, strict=True) if kept]
        unsaid = np.array(names, dtype=object)[ann.class_vocabulary.codes(names) < 0].tolist()
        if unsaid:
            distinct = ", ".join(map(str, dict.fromkeys(unsaid).keys()))
            notes.append(
                f"the truth of {len(unsaid)} of {len(names)} items is a class that nobody said "
                f"({distinct}): these count as errors of probability 0"
            )
    return notes


def _scores_of_sets(
    trained: Any,
    items: "mh.annotations.Vocabulary",
    columns: Mapping[str, AnyArray],
    truth: dict[Any, Any] | None,
) -> dict[str, float]:
    if truth is None:
        return {}
    sets = trained.crowd_.class_vocabulary
    p_ik = np.stack([columns[f"p_{name}"] for name in trained.classes_], axis=1)
    members = sets.members(columns["label"].tolist())
    return mh.evaluation.set_scorecard(
        items, sets.classes, sets.separator, members, p_ik, truth
    ).as_dict()


def score_lines(found: Mapping[str, Any]) -> list[str]:
    """A line of scores, and one of soft scores; then the notes on them."""
    told = {"scores": "", "soft_scores": "against the shares of labels: "}
    notes = [f"note: {text}" for text in found.get("score_notes", ())]
    return notes + [
        prefix + ", ".join(f"{key} {_number(value)}" for key, value in found[name].items())
        for name, prefix in told.items()
        if found.get(name)
    ]


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"
