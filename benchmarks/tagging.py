"""What a crowd costs a tagger: `python -m benchmarks.tagging`.

Seconds of an epoch of the same network on the same sentences: trained on one tag per token, and
through the labels of a crowd. The fastest epoch of every fit counts, fits take turns.
"""

import argparse

import numpy as np

from benchmarks.table import count, markdown_table, number
from manyhands.annotations import Sentences, TokenLabels
from manyhands.core.seeds import generator
from manyhands.estimators import CrowdTagger

PLAIN = "truth"
METHODS = ("two-stage-majority", "crowd-layer-mw", "speelfc", "conal", "em", "doctor-net")
TAGS = ["O", *(f"{mark}-{kind}" for kind in ("LOC", "MISC", "ORG", "PER") for mark in "BI")]
N_WORDS, N_PEOPLE, PER_SENTENCE = 5000, 47, 5


def random_crowd(n_sentences: int) -> tuple[TokenLabels, list[str]]:
    """Sentences of any words, any tags, and people who are right in four of five cases."""
    rng = generator(0, "tagged sentences")
    lengths = rng.integers(3, 30, n_sentences)
    words = [f"w{code}" for code in rng.integers(N_WORDS, size=lengths.sum())]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    sentences = Sentences.from_tokens(words, offsets)
    truth_t = rng.integers(len(TAGS), size=len(words))
    who_sa = rng.permuted(np.tile(np.arange(N_PEOPLE), (n_sentences, 1)), axis=1)[:, :PER_SENTENCE]
    token = np.repeat(np.arange(len(words)), PER_SENTENCE)
    who = who_sa[sentences.sentence_of_token].ravel()
    wrong = rng.uniform(size=len(token)) < 0.2
    said = np.where(wrong, rng.integers(len(TAGS), size=len(token)), truth_t[token])
    labels = TokenLabels.from_codes(sentences, token, who, said, range(N_PEOPLE), TAGS)
    return labels, [TAGS[code] for code in truth_t]


def epoch_seconds(method: str, labels: TokenLabels, truth: list[str], epochs: int) -> float:
    model = CrowdTagger(
        method=method, epochs=epochs, validation_fraction=0.0, warm_up=0, progress=False, threads=1
    )
    model.fit(labels, labels, truth=np.array(truth, dtype=object) if method == PLAIN else None)
    return min(entry["seconds"] for entry in model.history_)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 when a method takes more than 1.3 times as long as single labels."""
    parser = argparse.ArgumentParser(description="Taggers from crowds beside single labels.")
    parser.add_argument("--sentences", type=int, default=600)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    labels, truth = random_crowd(options.sentences)
    names = [PLAIN, *METHODS]
    best = dict.fromkeys(names, np.inf)
    for _ in range(options.rounds):
        for name in names:
            best[name] = min(best[name], epoch_seconds(name, labels, truth, options.epochs))
    n_tokens = labels.sentences.n_tokens
    print(
        f"{count(n_tokens)} tokens, {len(TAGS)} tags, {PER_SENTENCE} of {N_PEOPLE} people each, "
        "one thread\n"
    )
    rows = [
        [name, number(seconds), count(round(n_tokens / seconds)), f"{seconds / best[PLAIN]:.2f}"]
        for name, seconds in best.items()
    ]
    print(
        markdown_table(["method", "s per epoch", "tokens per s", "to single labels"], rows, left=1)
    )
    return int(max(best.values()) > 1.3 * best[PLAIN])


if __name__ == "__main__":
    raise SystemExit(main())
