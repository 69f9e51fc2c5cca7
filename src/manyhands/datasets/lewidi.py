"""LeWiDi 2023: four corpora of texts whose annotators disagree, in one JSON format.

They are those of SemEval-2023 task 11, learning with disagreements.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Vocabulary, reindex_items
from manyhands.core.arrays import Floats, object_array
from manyhands.core.errors import DataError
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io import read_annotations
from manyhands.io.json_text import parse_json

_CLASSES = (0, 1)
_BINARY = {0: 0, 1: 1}
_SEVERITY = {-3: 1, -2: 1, -1: 1, 0: 0, 1: 0}  # of abuse: below 0 is abusive
_UTTERANCES = ("prev_agent", "prev_user", "agent", "user")
_TOLERANCE = 1e-3  # shares are rounded to three digits
_NOTE = "the truth is the majority of the same labels, ties broken by chance; use soft scores"

Entries = Mapping[str, Mapping[str, Any]]


def load_lewidi(
    home: Path, features: str, *, name: str, class_of: Mapping[int, int], dialogues: bool = False
) -> Corpus:
    """Texts with labels by annotator for training, and others for validation and testing.

    Classes are 0 and 1, which is offensive, abusive, hateful or misogynistic. All splits have
    the `label_distribution` of their annotators. The labels of ConvAbuse are severities, of which
    -3, -2 and -1 are abusive; its features `texts` are whole dialogues, an utterance per line, and
    `utterances` the last one, which was labelled.
    """
    paths = {part: home / f"{name}_{part}.json" for part in ("train", "dev", "test")}
    entries = {part: _read_entries(path) for part, path in paths.items()}
    splits = {
        part: Split(
            object_array([
                _text(paths[part], item, entry, features if dialogues else None)
                for item, entry in entries[part].items()
            ]),
            np.array([_truth(paths[part], item, entry) for item, entry in entries[part].items()]),
            np.array([_shares(paths[part], item, entry) for item, entry in entries[part].items()]),
        )
        for part in paths
    }  # fmt: skip
    train = splits["train"]
    annotations = _read_labels(paths["train"], entries["train"], class_of)
    return Corpus(
        name, train.features, annotations, train.truth, splits["test"], splits["dev"], (_NOTE,)
    )


def _read_entries(path: Path) -> Entries:
    """The items of a file by name."""
    content = parse_json(path.read_bytes(), path)
    if not isinstance(content, dict) or not content:
        raise DataError(f"{path}: expected an object of item: {{text, annotations, ...}}")
    for item, entry in content.items():
        needed = ("text", "annotators", "annotations", "hard_label", "soft_label")
        missing = [each for each in needed if each not in entry] if isinstance(entry, dict) else []
        if missing or not isinstance(entry, dict):
            lack = f"has no {missing[0]}" if missing else "is no object"
            raise DataError(f"{path}: item {item!r} {lack}; an item has {', '.join(needed)}")
    return content


def _read_labels(path: Path, entries: Entries, class_of: Mapping[int, int]) -> Annotations:
    """The labels of the annotators as classes, in the order of the items of the file."""
    labels = read_annotations(path, kind="classes")
    unknown = sorted({str(label) for label in labels.classes.tolist() if label not in class_of})
    if unknown:
        known = ", ".join(map(str, sorted(class_of)))
        raise DataError(f"{path}: the label {unknown[0]!r} is not one of {known}; correct it")
    code_k = np.array([class_of[label] for label in labels.classes.tolist()])
    classes = Annotations.from_arrays(
        labels.items[labels.item], labels.annotators[labels.annotator], code_k[labels.label],
        kind="classes", items=labels.items, annotators=labels.annotators, classes=_CLASSES,
    )  # fmt: skip
    return reindex_items(classes, Vocabulary.of(entries, "item"))


def _text(path: Path, item: str, entry: Mapping[str, Any], features: str | None) -> str:
    """The text of an item; of a dialogue all utterances, or the last one, as `features` says."""
    text = entry["text"]
    if not isinstance(text, str):
        raise DataError(f"{path}: item {item!r}: expected a text; got {text!r:.40}")
    if features is None:
        return text
    said = parse_json(text, f"{path}: text of item {item!r}")
    if not isinstance(said, dict) or not all(isinstance(said.get(u), str) for u in _UTTERANCES):
        raise DataError(
            f"{path}: item {item!r}: expected the utterances {', '.join(_UTTERANCES)} as JSON"
        )
    return said["user"] if features == "utterances" else "\n".join(said[u] for u in _UTTERANCES)


def _truth(path: Path, item: str, entry: Mapping[str, Any]) -> int:
    """The hard label, which some files write as text and others as a number."""
    if str(entry["hard_label"]) not in ("0", "1"):
        raise DataError(
            f"{path}: item {item!r} has the hard_label {entry['hard_label']!r}; it must be 0 or 1 "
            "(files of the competition itself have none; use those published after it)"
        )
    return int(entry["hard_label"])


def _shares(path: Path, item: str, entry: Mapping[str, Any]) -> Floats:
    """The share of annotators of each class."""
    soft = entry["soft_label"]
    try:
        share_k = np.array([float(soft[str(code)]) for code in _CLASSES])
    except (TypeError, ValueError, KeyError):
        share_k = np.array([np.nan])
    if not (share_k >= 0).all() or abs(share_k.sum() - 1) > _TOLERANCE:
        raise DataError(f"{path}: item {item!r}: expected shares of 0 and 1; got {soft!r:.60}")
    return np.asarray(share_k / share_k.sum())


def _reader(
    name: str, about: str, class_of: Mapping[int, int], *, dialogues: bool = False
) -> Reader[Corpus]:
    return Reader(
        f"lewidi_2023/{name}_dataset",
        about,
        [f"{name}_{part}.json" for part in ("train", "dev", "test")],
        {"texts": [], "utterances": []} if dialogues else {"texts": []},
        partial(load_lewidi, name=name, class_of=class_of, dialogues=dialogues),
    )


MD_AGREEMENT = _reader("MD-Agreement", "offensive or not, 6592 tweets, 670 annotators", _BINARY)
CONVABUSE = _reader(
    "ConvAbuse", "abusive or not, 2398 dialogues, 8 annotators", _SEVERITY, dialogues=True
)
HS_BREXIT = _reader("HS-Brexit", "hateful or not, 784 tweets, 6 annotators", _BINARY)
ARMIS = _reader("ArMIS", "misogynistic or not, 657 Arabic tweets, 3 annotators", _BINARY)
