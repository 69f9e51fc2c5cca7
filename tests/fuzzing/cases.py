"""A number makes a case: a command, its files, and the damage done to them."""

import random
import shutil
from dataclasses import dataclass

from fuzzing.mutations import damage

_FOR_CLASSES = [
    "majority", "dawid-skene", "one-coin", "glad", "worker-clustering", "common-noise", "mixture",
    "annotator-types", "ebcc", "auto",
]  # fmt: skip
_FOR_NUMBERS = ["mean", "median", "gaussian", "auto"]
_METHODS = [
    "conal", "conal-em", "conal-groups", "speelfc", "speelfc-d", "crowd-layer-mw", "em", "mixture",
    "two-stage-majority", "two-stage-glad", "max-mig", "trace-reg", "geocrowdnet", "raykar", "pc",
    "ma-lr", "doctor-net", "ma-slda-c", "crf-ma",
]  # fmt: skip
_REGRESSION = ["crowd-layer-b", "crowd-layer-sb", "em-regression", "two-stage-mean", "ma-slda-r"]
_TABLES = [".csv", ".tsv", ".jsonl", ".parquet"]
_SUFFIXES = [*_TABLES, ".json", ".txt", ".npy", ".bio", ".conll"]
_NUMBERS = ["0", "-1", "1", "2", "7", "1e-9", "1e30", "nan", "inf", "x", "", "1" * 400, "3.5"]


@dataclass
class Case:
    """A command in a folder, and the entries that it may write."""

    words: list[str]
    may_write: set[str]
    done: list[str]


def make_case(seed, valid, folder):
    """The case of this number, in a new folder; `valid` has the files to damage."""
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    (folder / "others.txt").write_text("not ours")
    # Cases that were found before there were later commands keep their numbers.
    maker = rng.choice(_MAKERS if seed % 10 != 2 else _LATER_MAKERS)
    maker = _judges if seed % 20 == 9 else maker
    case = maker(rng, valid, folder)
    inputs = [each for each in case.done if (folder / each).exists()]
    n_damaged = min(len(inputs), rng.choice([0, 1, 1, 1, 1, 2, 3]))
    files = [path for path in (valid / "labels").iterdir() if path.is_file()]
    case.done = [
        what
        for each in rng.sample(inputs, n_damaged)
        for what in damage(folder / each, rng, sorted(files))
    ]
    return case


def _take(rng, valid, folder, *kinds):
    """A copy of a valid file of one of these kinds, by its name in the folder."""
    home = valid / rng.choice(kinds)
    found = sorted(path for path in home.rglob("*") if path.is_file())
    chosen = rng.choice(found)
    shutil.copyfile(chosen, folder / chosen.name)
    return chosen.name


_FEATURES = {  # what a model predicts from
    "classifier": "features", "validated": "features", "regressor": "features", "texts": "texts",
    "tagger": "tokens", "consensus": "features",
}  # fmt: skip


def _model(rng, valid, folder):
    """A copy of a valid model in the folder "model", by its kind."""
    kind = rng.choice(sorted(_FEATURES))
    shutil.copytree(valid / "models" / kind, folder / "model")
    if rng.random() < 0.3:
        (folder / "model" / "others.txt").write_text("not ours")
        (folder / "model" / "others-00001-of-00002.safetensors").write_text("not ours")
    return kind


def _maybe(rng, share, *words):
    return list(words) if rng.random() < share else []


_LABELS = ("labels", "labels", "tools", "ratings", "tokens")


def _reading(rng):
    """Options that say how a file is read; few, as most make a file wrong."""
    choices = {
        "--item": ["item", "label", "x", "1", ""],
        "--annotator": ["annotator", "item", "file name"],
        "--label": ["label", "score", "time"],
        "--layout": ["long", "wide", "dense"],
        "--kind": ["classes", "numbers"],
        "--format": ["csv", "npy", "json", "xlsx", "conll"],
        "--encoding": ["latin-1", "utf-16", "zip", "x"],
        "--classes": ["cat,dog", "a,a", "", "cat,dog,été"],
        "--missing": ["NA", "", "cat"],
        "--duplicates": ["keep", "first", "last", "refuse"],
    }
    options = rng.sample(sorted(choices), rng.choice([0, 0, 0, 1, 2]))
    return [word for each in options for word in (each, rng.choice(choices[each]))]


def _aggregate(rng, valid, folder):
    kind = rng.choice(_LABELS)
    taken = [_take(rng, valid, folder, kind) for _ in range(rng.choice([1] * 9 + [2]))]
    words = ["aggregate", *taken, *_reading(rng)]
    methods = _FOR_NUMBERS if kind == "ratings" else _FOR_CLASSES
    words += _maybe(rng, 0.7, "--method", rng.choice(methods))
    words += _maybe(rng, 0.1, "--set", f"max_iter={rng.choice(_NUMBERS)}")
    for option in ("--truth", "--known", "--calibrate"):
        if rng.random() < 0.1:
            taken.append(_take(rng, valid, folder, "truths"))
            words += [option, taken[-1]]
    outputs = set()
    suffix = rng.choice(_TABLES if rng.random() < 0.9 else _SUFFIXES)
    for option, name, share in (
        ("--out", f"out{suffix}", 0.6),
        ("--annotators", f"who{suffix}", 0.3),
        ("--suggestions", rng.choice(["said.json", "said.jsonl"]), 0.4 * (kind == "tools")),
        ("--relabel", "again.csv", 0.2),
        ("--spans", "spans-out.csv", 0.3 * (kind == "tokens")),
    ):
        if rng.random() < share:
            words += [option, name]
            outputs.add(name)
    return Case(words + _maybe(rng, 0.3, "--json"), outputs, taken)


def _check(rng, valid, folder):
    taken = [_take(rng, valid, folder, *_LABELS)]
    words = ["check", *taken, *_reading(rng), *_maybe(rng, 0.3, "--json")]
    return Case(words, set(), taken)


def _convert(rng, valid, folder):
    taken = _take(rng, valid, folder, *_LABELS)
    out = f"out{rng.choice(_SUFFIXES)}"
    words = ["convert", taken, out, *_reading(rng), *_maybe(rng, 0.3, "--json")]
    words += _maybe(rng, 0.3, "--to", rng.choice(["long", "wide"]))
    return Case(words, {out}, [taken])


def _compare(rng, valid, folder):
    kind = rng.choice(["labels", "labels", "ratings", "tools"])
    taken = [_take(rng, valid, folder, kind)]
    methods = _FOR_NUMBERS if kind == "ratings" else _FOR_CLASSES
    words = ["compare", taken[0], *_reading(rng), *_maybe(rng, 0.3, "--json")]
    words += ["--methods", ",".join(rng.sample(methods[:-1], 2))]
    if rng.random() < 0.3:
        taken.append(_take(rng, valid, folder, "truths"))
        words += ["--truth", taken[-1]]
    if rng.random() < 0.3:
        taken.append(_take(rng, valid, folder, "features", "texts"))
        words += ["--features", taken[-1], "--epochs", "1"]
        words[words.index("--methods") + 1] = ",".join(rng.sample(_METHODS, 2))
    return Case(words, set(), taken)


def _train(rng, valid, folder):
    kinds = (("features", "labels"), ("features", "ratings"), ("texts", "labels"), ("tokens",))
    chosen = rng.choice(kinds)
    taken = [_take(rng, valid, folder, each) for each in chosen]
    words = ["train", *taken, "--epochs", rng.choice(["1", "2"]), "--out", "model"]
    methods = _REGRESSION if chosen[-1] == "ratings" else _METHODS
    words += _maybe(rng, 0.6, "--method", rng.choice(methods)) + _maybe(rng, 0.3, "--json")
    words += _maybe(rng, 0.1, "--batch-size", rng.choice(_NUMBERS))
    words += _maybe(rng, 0.1, "--learning-rate", rng.choice(_NUMBERS))
    words += _maybe(rng, 0.2, "--validation-fraction", rng.choice(["0.2", "0.99", "1"]))
    words += _maybe(rng, 0.05, "--noise", rng.choice(["omega=0", "rank=x", "x=1", "kind=MW"]))
    words += _maybe(rng, 0.1, "--network", rng.choice(["mlp", "cnn", "logistic", "text-cnn"]))
    if rng.random() < 0.2:
        taken.append(_take(rng, valid, folder, "truths"))
        words += ["--truth", taken[-1]]
    if rng.random() < 0.1:
        taken.append(_take(rng, valid, folder, "texts"))
        words += ["--word-vectors", taken[-1]]
    if rng.random() < 0.3:
        _model(rng, valid, folder)
        taken.append("model")
        words += _maybe(rng, 0.5, "--resume")
    return Case(words, {"model"}, taken)


_RESUMED = {
    "classifier": ["features.csv", "long.csv", "--method", "conal"],
    "validated": ["features.npy", "dense.npy", "--validation-fraction", "0.2"],
    "regressor": ["features.csv", "ratings.csv"],
    "texts": ["texts.csv", "long.csv", "--method", "two-stage-majority"],
    "tagger": ["tags.conll"],
}


def _resume(rng, valid, folder):
    """Training goes on from a checkpoint that was damaged."""
    kind = rng.choice(sorted(_RESUMED))
    for name in _RESUMED[kind]:
        for found in valid.glob(f"*/{name}"):
            shutil.copyfile(found, folder / name)
    shutil.copytree(valid / "models" / kind, folder / "model")
    (folder / "model" / "others.txt").write_text("not ours")
    words = ["train", *_RESUMED[kind], "--epochs", "2", "--out", "model", "--resume"]
    return Case(words, {"model"}, [rng.choice(["model", "model/checkpoint"])])


def _predict(rng, valid, folder):
    kind = _model(rng, valid, folder)
    taken = ["model"]
    taken.append(_take(rng, valid, folder, _FEATURES[kind]))
    out = f"out{rng.choice(_TABLES if rng.random() < 0.9 else _SUFFIXES)}"
    words = ["predict", *taken, *_maybe(rng, 0.5, "--out", out), *_maybe(rng, 0.3, "--json")]
    return Case(words, {out}, taken if rng.random() < 0.3 else taken[:1])


def _simulate(rng, valid, folder):
    del valid
    scenarios = ["symmetric", "confusions", "spammers", "adversaries", "copycats", "x"]
    words = ["simulate", rng.choice(scenarios), "--out", rng.choice(["crowd", "", "others.txt"])]
    for option in ("--items", "--annotators", "--classes", "--labels-per-item", "--lowest"):
        words += _maybe(rng, 0.4, option, rng.choice([*_NUMBERS, "50", "1000000000"]))
    if rng.random() < 0.4:
        (folder / "crowd").mkdir()
        (folder / "crowd" / "others.csv").write_text("item,annotator,label\n")
    return Case(words + _maybe(rng, 0.3, "--json"), {"crowd"}, [])


def _reproduce(rng, valid, folder):
    for each in ("records", "corpora"):
        shutil.copytree(valid / each, folder / each)
    names = rng.choice([["p0/table-3"], ["p0/table-3"], ["p0/table-3", "p9/x"], []])
    words = ["reproduce", *names, "--out", "records/run", "--data", "corpora", "--jobs", "1"]
    words += ["--runs", rng.choice(["1", "1", "0", "x"]), *_maybe(rng, 0.3, "--json")]
    words += _maybe(rng, 0.3, "--list")
    return Case(words, {"records/run"}, [rng.choice(["records", "records", "corpora"])])


def _datasets(rng, valid, folder):
    shutil.copytree(valid / "corpora", folder / "corpora")
    words = ["datasets", "check", "corpora", *_maybe(rng, 0.3, "--json")]
    return Case(words, set(), ["corpora"])


def _demo(rng, valid, folder):
    del valid
    if rng.random() < 0.3:
        (folder / "demo").mkdir()
        (folder / "demo" / "others.csv").write_text("not ours")
    words = [
        "demo",
        "--task",
        rng.choice(["classification", "regression", "x", ""]),
        "--out",
        "demo",
    ]
    return Case(words, {"demo"}, [])


def _agree(rng, valid, folder):
    taken = [_take(rng, valid, folder, *_LABELS)]
    words = ["agree", *taken, *_reading(rng), *_maybe(rng, 0.3, "--json")]
    levels = ["nominal", "ordinal", "interval", "ratio", "sets", "x"]
    words += _maybe(rng, 0.4, "--level", rng.choice(levels))
    words += _maybe(rng, 0.2, "--interval", rng.choice(["items", "annotators", "none"]))
    return Case(words, set(), taken)


def _report(rng, valid, folder):
    taken = [_take(rng, valid, folder, *_LABELS)]
    out = rng.choice(["page.html"] * 9 + ["page.pdf"])
    words = ["report", *taken, "--out", out, *_reading(rng), *_maybe(rng, 0.3, "--json")]
    words += _maybe(rng, 0.3, "--anonymous")
    words += _maybe(rng, 0.1, "--method", rng.choice([*_FOR_CLASSES, *_FOR_NUMBERS]))
    words += _maybe(rng, 0.2, "--seconds", rng.choice(["time", "score", "label", "x", ""]))
    words += _maybe(rng, 0.2, "--time", rng.choice(["time", "created_at", "item", "x"]))
    if rng.random() < 0.2:
        taken.append(_take(rng, valid, folder, "truths"))
        words += ["--truth", taken[-1]]
    return Case(words, {out}, taken)


def _judges(rng, valid, folder):
    taken = [_take(rng, valid, folder, *_LABELS)]
    words = ["judges", *taken, *_reading(rng), *_maybe(rng, 0.3, "--json")]
    if rng.random() < 0.6:
        taken.append(_take(rng, valid, folder, "truths"))
        words += ["--gold", taken[-1]]
    words += _maybe(rng, 0.2, "--samples", rng.choice(["#", "_", ""]))
    words += _maybe(rng, 0.2, "--abstain", rng.choice(["cat", "unsure", ""]))
    words += _maybe(rng, 0.2, "--abstentions", rng.choice(["missing", "label", "x"]))
    outputs = set()
    if rng.random() < 0.4:
        out = f"out{rng.choice(_TABLES)}"
        words += ["--out", out, "--by", rng.choice(["items", "judges", "pairs", "subsets", "x"])]
        outputs.add(out)
    return Case(words, outputs, taken)


_MAKERS = (
    [_aggregate] * 12 + [_check] * 5 + [_convert] * 5 + [_compare] * 3 + [_train] * 6
    + [_resume] * 5 + [_predict] * 8 + [_simulate] * 2 + [_reproduce] * 2 + [_datasets, _demo]
)  # fmt: skip
_LATER_MAKERS = [_agree, _report]
