"""Consensus of ordinal labels on two real crowds, and how far it is off.

    python -m benchmarks.ordinal DATA

DATA holds the folders `emotion_numeric` and `moviereviews`. Emotions from -100 to 100 are cut into
five levels of equal width. Film ratings from 0 to 1 are cut into five levels of equal width, or
rounded to tenths. Prints a table in Markdown: the ranked probability score of every method, and in
brackets how many levels its median is off.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np

import manyhands as mh
from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats
from manyhands.evaluation import ranked_probability_score
from manyhands.experiments import markdown_table

METHODS = (
    "ordinal-thresholds",
    "ordinal-dawid-skene",
    "majority",
    "dawid-skene",
    "annotator-types",
    "one-coin",
)
ROUNDED = {"mean, rounded": np.mean, "median, rounded": np.median}
Crowd = tuple[Annotations, Codes]


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("data", type=Path, help="folder of the corpora")
    crowds = read_crowds(arguments.parse_args().data)
    rows = [
        [name, *(cell(truth, predict(name, ann)) for ann, truth in crowds.values())]
        for name in (*METHODS, *ROUNDED)
    ]
    print(markdown_table(["consensus", *crowds], rows))


def read_crowds(data: Path) -> dict[str, Crowd]:
    """The ordinal labels and true levels of every set, by its title."""
    emotions = mh.read_annotations(data / "emotion_numeric" / "answer.csv", kind="numbers")
    true = mh.read_truth(data / "emotion_numeric" / "truth.csv")
    emotion_i = np.array([float(true[item]) for item in emotions.items.tolist()])
    films = mh.read_annotations(data / "moviereviews" / "answers.txt", kind="numbers")
    rating_i = np.loadtxt(data / "moviereviews" / "ratings_train.txt")
    return {
        "emotions, 5 levels": cut(emotions, emotion_i, 5, -100.0, 100.0),
        "films, 5 levels": cut(films, rating_i, 5, 0.0, 1.0),
        "films, 11 levels": cut(films, rating_i, 11, -0.05, 1.05),
    }


def cut(numbers: Annotations, truth_i: Floats, n_levels: int, low: float, high: float) -> Crowd:
    """Numbers and truths as levels of equal width; what lies outside is at the end."""

    def level(value: Floats) -> Codes:
        # a rating such as 0.6 is at the lower end of its level, and rounding must not lower it
        place = np.floor((value - low) / (high - low) * n_levels + 1e-9)
        return np.clip(place, 0, n_levels - 1).astype(np.int32)

    names = numbers.items[numbers.item], numbers.annotators[numbers.annotator]
    ann = Annotations.from_arrays(
        *names, level(numbers.label), levels=range(n_levels), items=numbers.items
    )
    return ann, level(truth_i)


def predict(name: str, annotations: Annotations) -> Floats:
    """The probabilities of levels; a rounded number is certain."""
    if name not in ROUNDED:
        probabilities: Floats = mh.AGGREGATORS[name]().fit(annotations).probabilities
        return probabilities
    ends = annotations.item_offsets
    labels = [annotations.label[first:end] for first, end in pairwise(ends)]
    code_i = np.round([ROUNDED[name](each) for each in labels]).astype(int)
    return np.eye(annotations.n_classes)[code_i]


def cell(truth: Codes, probabilities: Floats) -> str:
    """The ranked probability score, and how many levels the median is off."""
    median_i = (np.cumsum(probabilities, axis=1)[:, :-1] < 0.5).sum(axis=1)
    off = float(np.abs(median_i - truth).mean())
    return f"{ranked_probability_score(truth, probabilities):.3f} ({off:.3f})"


if __name__ == "__main__":
    main()
