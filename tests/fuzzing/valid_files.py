"""Valid files, models and checkpoints of every kind: what mutations start from."""

import json
import os
import re
import shutil
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas as pd

import manyhands as mh

HOME = Path(__file__).resolve().parents[2]
_TOOLS = HOME / "docs" / "how-to" / "tools"
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
_NO_FILES = {"cleanlab", "crowd-kit", "hugging-face", "index"}  # pages about frames in memory


def write_valid_files(folder):
    """Write one of everything into the folder, the same bytes every time."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 40)
    rows = _labels(rng, truth)
    _tables(folder / "labels", rows)
    _numbers(folder / "ratings", rng)
    _tokens(folder / "tokens")
    _tools(folder / "tools")
    _features(folder / "features", rng, truth)
    _texts(folder / "texts")
    _truths(folder / "truths", truth)
    _models(folder / "models")
    _corpora(folder / "corpora")
    (folder / "records").mkdir()
    words = ("p0/table-3", "--jobs", "1", "--data", folder / "corpora", "--runs", "1")
    _call("reproduce", *words, "--out", folder / "records" / "run")


def _labels(rng, truth):
    """Rows of item, annotator, label and time; six annotators, three labels an item."""
    rows = []
    for item, right in enumerate(truth):
        for who in rng.choice(6, 3, replace=False):
            said = right if rng.random() < 0.7 else rng.integers(0, 3)
            rows.append((f"i{item}", f"ann {who}", ("cat", "dog", "été")[said], 1700000000 + item))
    return pd.DataFrame(rows, columns=["item", "annotator", "label", "time"])


def _tables(folder, rows):
    folder.mkdir()
    rows.to_csv(folder / "long.csv", index=False)
    rows.to_csv(folder / "long.tsv", index=False, sep="\t")
    rows.to_parquet(folder / "long.parquet")
    rows.to_json(folder / "long.jsonl", orient="records", lines=True)
    rows.to_excel(folder / "long.xlsx", index=False)
    rows.to_csv(folder / "long.csv.gz", index=False, compression={"method": "gzip", "mtime": 0})
    wide = rows.pivot(index="item", columns="annotator", values="label").reset_index()
    wide.to_csv(folder / "wide.csv", index=False)
    codes = rows.assign(label=rows["label"].factorize()[0])
    dense = codes.pivot(index="item", columns="annotator", values="label").fillna(-1)
    np.save(folder / "dense.npy", dense.to_numpy().astype(np.int64))
    np.savetxt(folder / "dense.txt", dense.to_numpy(), fmt="%d")
    by_item = rows.groupby("item")
    nested = {item: some.set_index("annotator").label.to_dict() for item, some in by_item}
    (folder / "nested.json").write_text(json.dumps(nested), encoding="utf-8")
    shutil.make_archive(str(folder / "packed"), "zip", folder, "long.csv")


def _numbers(folder, rng):
    folder.mkdir()
    rows = [
        (f"i{item}", f"ann {who}", round(float(item % 5 + 1 + rng.normal()), 2))
        for item in range(40)
        for who in rng.choice(6, 3, replace=False)
    ]
    table = pd.DataFrame(rows, columns=["item", "annotator", "score"])
    table.to_csv(folder / "ratings.csv", index=False)
    table.to_parquet(folder / "ratings.parquet")
    table.to_json(folder / "ratings.jsonl", orient="records", lines=True)


_SENTENCES = [
    (["Anna", "lives", "in", "Paris", "."], ["B-PER", "O", "O", "B-LOC", "O"]),
    (["The", "Red", "Cross", "helps", "Ben"], ["O", "B-ORG", "I-ORG", "O", "B-PER"]),
    (["Rain", "in", "New", "York"], ["O", "O", "B-LOC", "I-LOC"]),
] * 4


def _tokens(folder):
    folder.mkdir()
    columns = [
        "\n".join(
            f"{token} {tag} {tag if n % 3 else 'O'} {tag if n % 2 else '?'}"
            for token, tag in zip(*sentence, strict=True)
        )
        for n, sentence in enumerate(_SENTENCES)
    ]
    (folder / "tags.conll").write_text("\n\n".join(columns) + "\n")
    truth = ["\n".join(map(" ".join, zip(*sentence, strict=True))) for sentence in _SENTENCES]
    (folder / "truth.bio").write_text("\n\n".join(truth) + "\n")
    spans = [
        {"item": f"d{n}", "annotator": who, "start": 0, "end": 4, "label": "PER"}
        for n in range(4)
        for who in ("u", "v")
    ]
    pd.DataFrame(spans).to_csv(folder / "spans.csv", index=False)
    texts = [{"item": f"d{n}", "text": "Anna lives in Paris ."} for n in range(4)]
    pd.DataFrame(texts).to_csv(folder / "documents.csv", index=False)


def _tools(folder):
    """The examples of the pages about annotation tools."""
    folder.mkdir()
    for page in sorted(_TOOLS.glob("*.md")):
        if page.stem in _NO_FILES:
            continue
        (folder / page.stem).mkdir()
        block = _BLOCK.search(page.read_text(encoding="utf-8"))
        with chdir(folder / page.stem):
            exec(compile(block.group(1), page.name, "exec"), {})


def _features(folder, rng, truth):
    folder.mkdir()
    values = rng.normal(size=(40, 4)) + np.eye(4)[truth]
    table = pd.DataFrame(values.round(4), columns=["a", "b", "c", "d"])
    table.insert(0, "item", [f"i{n}" for n in range(40)])
    table.to_csv(folder / "features.csv", index=False)
    table.to_parquet(folder / "features.parquet")
    table.to_json(folder / "features.jsonl", orient="records", lines=True)
    np.save(folder / "features.npy", values)
    np.savez(folder / "features.npz", values)


def _texts(folder):
    folder.mkdir()
    texts = [f"a {('good', 'bad', 'plain')[n % 3]} thing, number {n}" for n in range(40)]
    table = pd.DataFrame({"item": [f"i{n}" for n in range(40)], "text": texts})
    table.to_csv(folder / "texts.csv", index=False)
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    (folder / "vectors.txt").write_text("good 0.1 0.2\nbad -0.1 0.3\nthing 0.5 0.5\n")


def _truths(folder, truth):
    folder.mkdir()
    named = [("cat", "dog", "été")[k] for k in truth]
    table = pd.DataFrame({"item": [f"i{n}" for n in range(40)], "truth": named})
    table.to_csv(folder / "truth.csv", index=False)
    table.head(10).to_json(folder / "some.jsonl", orient="records", lines=True)
    numbers = table.assign(truth=[n % 5 + 1.0 for n in range(40)])
    numbers.to_csv(folder / "numbers.csv", index=False)


def _corpora(folder):
    """A corpus of tagged sentences, and vectors of its words."""
    (folder / "word_vectors").mkdir(parents=True)
    (folder / "word_vectors" / "vectors.txt").write_text("anna 0.1 0.2\noslo 0.3 -0.1\n")
    home = folder / "ner"
    home.mkdir(parents=True)
    (home / "answers_union.txt").write_text(
        "Anna B-PER ? O\nBerg I-PER ? I-PER\n\nyes ? ? ?\n\nOslo ? B-LOC B-ORG\n\n"
    )
    (home / "gold_union.txt").write_text("Anna B-PER\nBerg I-PER\n\nyes O\n\nOslo B-LOC\n\n")
    (home / "test_3250.bio").write_text("Rome B-LOC\n\nno O\nno O\n\n")


def _models(folder):
    home = folder.parent
    trained = {
        "classifier": ("features/features.csv", "labels/long.csv", "--method", "conal"),
        "validated": ("features/features.npy", "labels/dense.npy", "--validation-fraction", "0.2"),
        "regressor": ("features/features.csv", "ratings/ratings.csv"),
        "texts": ("texts/texts.csv", "labels/long.csv", "--method", "two-stage-majority"),
        "tagger": ("tokens/tags.conll",),
    }
    folder.mkdir()
    with chdir(home):
        for name, words in trained.items():
            _call("train", *words, "--epochs", "2", "--out", folder / name)
        consensus = mh.aggregate(mh.read_annotations("labels/long.csv"))
    consensus.save(folder / "consensus")


def _call(*words):
    from fuzzing.sandbox import run_command

    code = run_command([str(each) for each in words], os.devnull, os.devnull)
    if code != 0:
        raise RuntimeError(f"no valid file: {words} ended with {code}")
