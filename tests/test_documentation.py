"""What the README and the guide say works, as it stands."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import manyhands as mh

HOME = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(python|shell)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(path):
    return BLOCK.findall((HOME / path).read_text())


def test_the_guide_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for language, text in blocks("docs/guide.md"):
        if language == "python":
            exec(compile(text, "guide.md", "exec"), names)
            continue
        for line in text.strip().splitlines():
            command = [sys.executable, "-m", *shlex.split(line)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert (
        "Annotations(1500 labels of 300 items by 20 annotators, 3 classes)"
        in capsys.readouterr().out
    )
    assert (tmp_path / "consensus.csv").exists()
    assert (tmp_path / "calibrated.parquet").exists()


def test_the_readme_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, first in (("labels", 0), ("more", 20), ("unseen", 40)):
        item = [f"img{i}" for i in range(first, first + 20) for _ in range(3)]
        people = [f"p{a}" for a in rng.integers(0, 6, 60)]
        label = rng.choice(["cat", "dog"], 60)
        mh.io.write_annotations(
            mh.Annotations.from_arrays(item, people, label), tmp_path / f"{name}.csv"
        )
    features = {"item": [f"img{i}" for i in range(40)], "size": rng.normal(size=40)}
    mh.io.write_table(features | {"hue": rng.normal(size=40)}, tmp_path / "features.csv")
    write_words(tmp_path, rng)
    names = {}
    for language, text in blocks("README.md"):
        assert language == "python"
        exec(compile(text, "README.md", "exec"), names)
    assert names["c"].annotations.n_items == 40
    assert names["clf"].predict_proba(names["X"]).shape == (40, 2)
    assert names["reg"].predict(names["texts"]).shape == (30,)
    assert names["tagger"].predict([["Rome"]])[0][0] in ("O", "B-PER", "B-LOC")


def write_words(home, rng):
    """Reviews and their ratings, sentences and their tags, and vectors of words."""
    words = ["Anna", "Rome", "saw", "a", "film"]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(30)]
    (home / "reviews.txt").write_text("\n".join(texts) + "\n")
    np.savetxt(home / "ratings.txt", rng.integers(1, 11, size=(30, 3)), fmt="%d")
    tag = {"Anna": "B-PER", "Rome": "B-LOC"}
    lines = [f"{word} {tag.get(word, 'O')} O" for text in texts for word in [*text.split(), ""]]
    (home / "tags.conll").write_text("\n".join("" if line[0] == " " else line for line in lines))
    vectors = [
        " ".join([word.lower(), *(f"{v:.3f}" for v in rng.normal(size=8))]) for word in words
    ]
    (home / "glove.txt").write_text("\n".join(vectors) + "\n")


# What Lightning warns of here is its own affair or the machine's, never the example's:
# it calls a class that torch 2.13 deprecates, wants worker processes for data that lie in memory,
# and wants the GPU where there is one.
@pytest.mark.filterwarnings(
    r"ignore:.isinstance\(treespec, LeafSpec\). is deprecated:FutureWarning",
    "ignore:The 'train_dataloader' does not have many workers:UserWarning",
    "ignore:GPU available but not used:UserWarning",
)
def test_the_training_loops_of_the_documentation_beat_the_majority():
    names, accuracies = {}, []
    for language, text in blocks("docs/own-loop.md"):
        assert language == "python"
        exec(compile(text, "own-loop.md", "exec"), names)
        accuracies.append(names["accuracy"])
    majority = np.mean(
        mh.aggregate(names["ann"], method="majority").labels == names["demo"].crowd.truth
    )
    assert 0.6 < majority < 0.62  # as the page says
    assert len(accuracies) == 2
    assert min(accuracies) > 0.93
    check_lightning(names["module"], names["trainer"], names["loader"])


def check_lightning(module, trainer, loader):
    """Every parameter stands in one of the two groups, was trained, and batches are moved."""
    [optimiser] = trainer.optimizers
    grouped = [{id(p) for p in group["params"]} for group in optimiser.param_groups]
    assert grouped == [
        {id(p) for p in part.parameters()} for part in (module.network, module.layer)
    ]
    assert all(parameter in optimiser.state for parameter in module.parameters())
    inputs, batch = module.transfer_batch_to_device(next(iter(loader)), torch.device("meta"), 0)
    assert inputs.is_meta
    assert batch.label.is_meta


def test_the_page_on_selection_runs(capsys):
    names = {}
    for language, text in blocks("docs/selection.md"):
        assert language == "python"
        exec(compile(text, "selection.md", "exec"), names)
    assert names["model"].predict(names["X"]).shape == (300,)
    assert "Majority voting is" in capsys.readouterr().out
    page = (HOME / "docs/selection.md").read_text()
    assert all(f"| `{name}` |" in page for name in mh.evaluation.CRITERIA)


def test_every_noise_model_stands_in_the_documentation():
    text = (HOME / "docs/own-loop.md").read_text()
    assert all(f"`{name}`" in text for name in mh.NOISE if not name.startswith("crowd-layer-"))


@pytest.mark.parametrize("name", sorted(mh.AGGREGATORS))
def test_every_method_stands_in_the_documentation(name):
    text = (HOME / "docs/methods.md").read_text()
    assert f"| `{name}` |" in text
    assert f"manyhands.aggregation.{mh.AGGREGATORS[name].__name__}\n" in text


def test_links_between_pages_hold():
    for page in [HOME / "README.md", HOME / "CONTRIBUTING.md", *HOME.glob("docs/*.md")]:
        prose = re.sub(r"`[^`]*`", "", page.read_text())  # code is no link
        for target in re.findall(r"\]\((?!http)([^)#]+)", prose):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"
