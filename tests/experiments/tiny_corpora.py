"""Tiny corpora in the formats of the public ones."""

import json

import numpy as np

from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import honest

TRAIN, TEST, PEOPLE = 60, 20, 7


def write_corpora(home):
    """All corpora that experiments use, each in a folder of its own, and vectors of words."""
    writers = {
        "labelme": write_labelme,
        "music": write_music,
        "sentiment": write_sentiment,
        "cifar10": write_cifar10,
        "moviereviews": write_moviereviews,
        "moviereviews/bag_of_words": write_counts_of_words,
        "ner": write_ner,
        "word_vectors": write_word_vectors,
    }
    for name, write in writers.items():
        (home / name).mkdir(parents=True)
        write(home / name)


def tiny_crowd(n_classes, seed):
    """Truth and features of all items, and what people said of those to train on."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(TRAIN + TEST) % n_classes)
    features = 3 * np.eye(n_classes)[truth] + rng.normal(size=(len(truth), n_classes))
    people = honest(np.linspace(0.5, 0.9, PEOPLE), n_classes)
    crowd = simulate_crowd(truth[:TRAIN], people, labels_per_item=4, seed=seed).annotations
    return truth, features.astype(np.float32), crowd


def write_labelme(home):
    truth, features, crowd = tiny_crowd(3, 0)
    parts = {"train": slice(0, TRAIN), "valid": slice(TRAIN, None), "test": slice(TRAIN, None)}
    for part, rows in parts.items():
        np.save(home / f"LabelMe_VGG_avg_{part}.npy", np.abs(features[rows]))
        np.savetxt(home / f"LabelMe_Z_{part}.txt", truth[rows], fmt="%d")
    np.savetxt(home / "answers.txt", crowd.to_dense(), fmt="%d")


def write_music(home):
    truth, features, crowd = tiny_crowd(3, 1)
    columns = ",".join(f"feature{j}" for j in range(3))
    cells = [",".join(f"{value:.4f}" for value in row) for row in features]
    songs = [f"song{i},{cells[i]},g{truth[i]}" for i in range(len(truth))]
    said = [
        f"song{i},{a},{cells[i]},g{label}"
        for i, a, label in zip(crowd.item, crowd.annotator, crowd.label, strict=True)
    ]
    tables = {
        "gold": (f"id,{columns},class", songs[:TRAIN]),
        "test": (f"id,{columns},class", songs[TRAIN:]),
        "mturk": (f"id,annotator,{columns},class", said),
    }
    for name, (head, rows) in tables.items():
        (home / f"music_genre_{name}.csv").write_text("\n".join([head, *rows]) + "\n")


def write_sentiment(home):
    truth, features, crowd = tiny_crowd(2, 2)
    np.savetxt(home / "Sentiment_Z_train.txt", truth[:TRAIN], fmt="%d")
    np.savetxt(home / "answers.txt", crowd.to_dense(), fmt="%d")
    np.savez(home / "minilm_emb.npz", train=features[:TRAIN], test=features[TRAIN:])
    rows = [f"sentence {i},{truth[i]}" for i in range(TRAIN, TRAIN + TEST)]
    head = "Input.original_sentence,Input.true_sent"
    (home / "test_answer.csv").write_text("\n".join([head, *rows]) + "\n")


def write_cifar10(home):
    rng = np.random.default_rng(3)
    for name in ("train_15000", "test_10000_from_jpeg"):
        code = rng.permutation(np.arange(40) % 10)
        image = rng.integers(0, 256, (40, 32, 32, 3))
        np.savez(home / f"{name}.npz", x=image.astype(np.uint8), y=code)
    said = {str(i): {f"p{a}": int(rng.integers(10)) for a in range(5)} for i in range(20, 30)}
    (home / "answers_idx9500-9999_by_worker.json").write_text(json.dumps(said))
    np.save(home / "cifar10h-counts.npy", rng.integers(1, 9, (40, 10)))


GOOD, DULL, OTHERS = ("good", "fun"), ("dull", "long"), ("a", "film", "it", "was")


def tiny_ratings(seed):
    """Ratings of all items in 0..1, and the table of what people said of those to train on."""
    rng = np.random.default_rng(seed)
    rating = np.linspace(0.1, 0.9, TRAIN + TEST)[rng.permutation(TRAIN + TEST)].round(1)
    bias = np.linspace(-0.2, 0.2, PEOPLE)
    said = rating[:TRAIN, None] + bias + 0.05 * rng.normal(size=(TRAIN, PEOPLE))
    missing = rng.permuted(np.tile(np.arange(PEOPLE) < 3, (TRAIN, 1)), axis=1)
    return rating, np.clip(said, 0.0, 1.0).round(1), missing


def write_moviereviews(home):
    rating, said, missing = tiny_ratings(4)
    rng = np.random.default_rng(5)
    texts = [
        " ".join([*rng.choice(OTHERS, 3), *rng.choice(GOOD if r > 0.5 else DULL, 3)])
        for r in rating
    ]
    np.savetxt(home / "answers.txt", np.where(missing, -1.0, said), fmt="%g")
    np.savetxt(home / "ratings_train.txt", rating[:TRAIN], fmt="%g")
    (home / "texts_train.txt").write_text("\n".join(texts[:TRAIN]) + "\n")
    rows = [f"{i}\tnobody\t{rating[i]:g}\t{texts[i]}" for i in range(TRAIN, TRAIN + TEST)]
    (home / "test_rebuilt.tsv").write_text("\n".join(["id\tauthor\trating\ttext", *rows]) + "\n")


def write_counts_of_words(home):
    rating, said, missing = tiny_ratings(6)
    lines = [f"3 0:{1 + int(8 * r)} 1:{1 + int(8 * (1 - r))} 2:3" for r in rating]
    np.savetxt(home / "answers.txt", np.where(missing, 999999999, said), fmt="%.10g")
    (home / "data_train_amt.txt").write_text("\n".join(lines[:TRAIN]) + "\n")
    (home / "data_test.txt").write_text("\n".join(lines[TRAIN:]) + "\n")
    np.savetxt(home / "labels_train_amt.txt", rating[:TRAIN], fmt="%g")
    np.savetxt(home / "labels_test.txt", rating[TRAIN:], fmt="%g")


def write_ner(home):
    rng = np.random.default_rng(7)
    words = {"Anna": "B-PER", "Oslo": "B-LOC", "ran": "O", "in": "O"}
    sentences = [rng.choice(list(words), size=3).tolist() for _ in range(30)]

    def column(sentence, right):
        tags = [words[word] for word in sentence]
        return [tag if rng.uniform() < right else "O" for tag in tags]

    crowd, truth = [], []
    for sentence in sentences[:20]:
        columns = [column(sentence, right) for right in (0.95, 0.9, 0.7)]
        crowd += [" ".join([word, *tags]) for word, *tags in zip(sentence, *columns, strict=True)]
        truth += [f"{word} {words[word]}" for word in sentence]
        crowd.append("")
        truth.append("")
    test = [line for each in sentences[20:] for line in (*(f"{w} {words[w]}" for w in each), "")]
    for name, lines in (("answers_union.txt", crowd), ("gold_union.txt", truth)):
        (home / name).write_text("\n".join(lines) + "\n")
    (home / "test_3250.bio").write_text("\n".join(test) + "\n")


def write_word_vectors(home):
    words = np.array([*GOOD, *DULL, *OTHERS, "anna", "oslo", "ran", "in"])
    vectors = np.random.default_rng(8).normal(size=(len(words), 6)).astype(np.float16)
    np.savez(home / "vectors.npz", words=words, vec=vectors)
