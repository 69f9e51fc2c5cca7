"""Time of training a tagger from crowd labels, relative to training on one tag per token.

    python -m benchmarks.tagging [--sentences N] [--epochs N] [--rounds N]

The fits take turns, and the fastest epoch of all fits of a method counts, in processor seconds.
Records the numbers and writes docs/sequence-speed.md. Exits with 1 if a method takes more than 1.3
times as long as single tags, or a tagger with a CRF head more than 1.5 times as long as without.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.benchmark import CHAINS, TAGGING, Row, command_given, parser
from benchmarks.sequence_page import PAGE, make_page
from manyhands.annotations import Sentences, TokenLabels
from manyhands.core.settings import generator
from manyhands.estimators import CrowdTagger
from manyhands.experiments import write_page

PLAIN = "truth"
METHODS = ("two-stage-majority", "crowd-layer-mw", "speelfc", "conal", "em", "doctor-net")
TAGS = ["O", *(f"{mark}-{kind}" for kind in ("LOC", "MISC", "ORG", "PER") for mark in "BI")]
N_WORDS, N_ANNOTATORS, PER_SENTENCE = 5000, 47, 5
MOST = 1.3  # times as long as with single tags
HEADS = ("two-stage-majority", "speelfc")  # methods whose networks are also given transitions
MOST_OF_HEADS = 1.5  # times as long as the same tagger without transitions


def random_crowd(n_sentences: int) -> tuple[TokenLabels, list[str]]:
    """Sentences of random words and tags, and annotators with an accuracy of 0.8."""
    rng = generator(0, "tagged sentences")
    lengths = rng.integers(3, 30, n_sentences)
    words = [f"w{code}" for code in rng.integers(N_WORDS, size=lengths.sum())]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    sentences = Sentences.from_tokens(words, offsets)
    truth_t = rng.integers(len(TAGS), size=len(words))
    annotator_sa = rng.permuted(np.tile(np.arange(N_ANNOTATORS), (n_sentences, 1)), axis=1)[
        :, :PER_SENTENCE
    ]
    token = np.repeat(np.arange(len(words)), PER_SENTENCE)
    annotator = annotator_sa[sentences.sentence_of_token].ravel()
    wrong = rng.uniform(size=len(token)) < 0.2
    label = np.where(wrong, rng.integers(len(TAGS), size=len(token)), truth_t[token])
    labels = TokenLabels.from_codes(sentences, token, annotator, label, range(N_ANNOTATORS), TAGS)
    return labels, [TAGS[code] for code in truth_t]


def epoch_seconds(
    method: str, labels: TokenLabels, truth: list[str], epochs: int, transitions: Any = "none"
) -> float:
    """Processor seconds of the fastest epoch of a fit, of those after the first."""
    ends: list[float] = []

    def note(_: Any) -> dict[str, float]:
        ends.append(time.process_time())
        return {}

    model = CrowdTagger(
        method=method, epochs=epochs, validation_fraction=0.0, warm_up=0, progress=False, threads=1,
        transitions=transitions,
    )  # fmt: skip
    tags = np.array(truth, dtype=object) if method == PLAIN else None
    model.fit(labels, labels, truth=tags, callback=note)
    return float(np.diff(ends).min())


def measure_all(n_sentences: int, epochs: int, rounds: int, command: str) -> Iterator[Row]:
    """The rows of one run."""
    labels, truth = random_crowd(n_sentences)
    n_tokens = labels.sentences.n_tokens
    yield {"kind": "run", "command": command, "n_tokens": n_tokens, "n_tags": len(TAGS),
           "per_sentence": PER_SENTENCE, "n_annotators": N_ANNOTATORS}  # fmt: skip
    names = [PLAIN, *METHODS]
    best = dict.fromkeys(names, np.inf)
    with_head = dict.fromkeys(HEADS, np.inf)
    for _ in range(rounds):
        for name in names:
            best[name] = min(best[name], epoch_seconds(name, labels, truth, epochs))
        for name in HEADS:
            seconds = epoch_seconds(name, labels, truth, epochs, "learned-bio")
            with_head[name] = min(with_head[name], seconds)
    for name, seconds in best.items():
        yield {"kind": "epoch", "method": name, "seconds": seconds,
               "tokens_per_second": round(n_tokens / seconds),
               "ratio": seconds / best[PLAIN]}  # fmt: skip
    for name, seconds in with_head.items():
        yield {"kind": "head", "method": name, "seconds": seconds,
               "tokens_per_second": round(n_tokens / seconds),
               "head_ratio": seconds / best[name]}  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page; 1 if a method is too slow."""
    made = parser("tagging", __doc__)
    made.add_argument("--sentences", type=int, default=600)
    made.add_argument("--epochs", type=int, default=3)
    made.add_argument("--rounds", type=int, default=3)
    options = made.parse_args(arguments)
    command = command_given("tagging", arguments)
    measured = measure_all(options.sentences, options.epochs, options.rounds, command)
    rows = TAGGING.keep(measured, options.docs)
    write_page(options.docs / PAGE, make_page(CHAINS.read(options.docs), rows))
    slow = any(row.get("ratio", 0.0) > MOST for row in rows)
    return int(slow or any(row.get("head_ratio", 0.0) > MOST_OF_HEADS for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
