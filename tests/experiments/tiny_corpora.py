"""Tiny corpora in the formats of the public ones."""

import json

import numpy as np

from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import honest

TRAIN, TEST, PEOPLE = 60, 20, 7


def write_corpora(home):
    """LabelMe, music, sentiment and CIFAR-10, each in a folder of its own."""
    writers = {
        "labelme": write_labelme,
        "music": write_music,
        "sentiment": write_sentiment,
        "cifar10": write_cifar10,
    }
    for name, write in writers.items():
        (home / name).mkdir()
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
        np.save(home / f"LabelMe_VGG_avg_{part}.npy", features[rows])
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
