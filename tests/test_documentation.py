"""The examples and tables of the documentation are right as they are written."""

import contextlib
import doctest
import importlib
import importlib.util
import io
import os
import re
import shlex
import sys
import types
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from command_line import call

import manyhands as mh
from manyhands.cli import app
from manyhands.core.settings import settings_of
from manyhands.engine.optimiser_settings import OptimiserOptions
from manyhands.io.exports import EXPORTS, TOOL_IMPORTS
from manyhands.report import page as report_page

HOME = Path(__file__).parent.parent
DOCS = HOME / "docs"
BLOCK = re.compile(r"^```(python|shell|output)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(
    r"^```\{code-block\} python\n:caption: (src/\S+)\n\n(.*?)^```", re.MULTILINE | re.DOTALL
)
PARTS = re.MULTILINE | re.DOTALL
SECTIONS = ("tutorials", "how-to", "design")
ROOMS = (
    "core", "annotations", "io", "simulation", "datasets", "evaluation", "agreement", "aggregation",
    "checks", "noise", "networks", "engine", "methods", "estimators", "selection", "experiments",
    "report", "scale", "cli",
)  # fmt: skip
WORDS_OF_0_1 = re.compile(
    r"\b(portraits?|portray\w*|foret\w+|aside|strangers?)\b|--judge\b|\bjudge=", re.IGNORECASE
)  # a judge is now who labels, no longer what chooses an epoch


def blocks(path):
    return BLOCK.findall((HOME / path).read_text())


def written_pages():
    """The pages that are written by hand, relative to the repository."""
    found = [page for section in SECTIONS for page in sorted((DOCS / section).rglob("*.md"))]
    made = DOCS / "reference/training-methods.md"
    found += [page for page in sorted((DOCS / "reference").glob("*.md")) if page != made]
    roots = [HOME / "README.md", HOME / "CONTRIBUTING.md", DOCS / "index.md"]
    return [str(page.relative_to(HOME)) for page in (*roots, *found)]


# The loops of these pages have tests of their own below.
LOOPS = ("own-loop.md", "transformer-loops.md")
RUNNABLE = [
    page
    for page in written_pages()
    if page.startswith("docs/") and not page.endswith(LOOPS) and blocks(page)
]


def run_page(path, names):
    """Run all blocks of a page in order, in the present folder.

    The lines of a block of output are among those that the block before it printed.
    """
    printed = ""
    for language, text in blocks(path):
        if language == "output":
            require_lines(text, printed)
        elif language == "python":
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile(text, path, "exec"), names)
            printed = stream.getvalue()
            sys.stdout.write(printed)
        else:
            printed = "".join(map(run_line, text.strip().splitlines()))


def run_line(line):
    """Run a line of a shell; what it prints."""
    piped, _, command = line.rpartition(" | ")
    program, *words = shlex.split(command)
    assert program == "manyhands"
    with mock.patch.object(sys, "stdin", standard_input(piped)):
        done = call(*words)
    assert done.code == 0, f"{line}\n{done.err}"
    return done.out + done.err


def require_lines(shown, printed):
    """Every shown line was printed, in this order; "..." stands for other lines."""
    lines = iter(printed.splitlines())
    for line in shown.splitlines():
        assert line.strip() == "..." or line.rstrip() in map(str.rstrip, lines), (
            f"{line}\nis not in\n{printed}"
        )


def standard_input(command):
    """What the words before a pipe write: the content of a file."""
    if not command:
        return sys.stdin
    program, name = shlex.split(command)
    assert program == "cat"
    return io.TextIOWrapper(io.BytesIO(Path(name).read_bytes()))


# What some pages say that their blocks print.
PRINTED = {
    "docs/tutorials/consensus.md": (
        "Annotations(1500 labels of 300 items by 20 annotators, 3 classes)"
    ),
    "docs/how-to/choose-a-method.md": "Majority voting is",
}
LONG = {
    "docs/how-to/better-labels.md",
    "docs/how-to/choose-a-method.md",
    "docs/how-to/command-line.md",
    "docs/how-to/report.md",
    "docs/how-to/resume-training.md",
    "docs/tutorials/classifier.md",
    "docs/tutorials/preferences.md",
}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page in LONG)) for page in RUNNABLE],
)
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # no processes of their own
    if page not in LONG:  # the library of charts takes seconds to bundle
        monkeypatch.setattr(report_page, "chart_library", lambda: "")
    names = {}
    run_page(page, names)
    assert PRINTED.get(page, "") in capsys.readouterr().out
    for text in re.findall(r"--out (\S+\.\w+)", "".join(text for _, text in blocks(page))):
        assert (tmp_path / text).exists(), text
    if page.endswith("choose-a-method.md"):
        assert names["model"].predict(names["X"]).shape == (300,)


RECIPES = [page for page in written_pages() if FILE.search((HOME / page).read_text())]


@pytest.mark.parametrize("page", RECIPES)
def test_the_file_of_a_recipe_works(page):
    for path, text in FILE.findall((HOME / page).read_text()):
        module = types.ModuleType(f"manyhands_recipe_{Path(path).stem}")
        sys.modules[module.__name__] = module  # dataclasses look their module up
        try:
            exec(compile(text, path, "exec"), module.__dict__)
            assert doctest.testmod(module).failed == 0
        finally:
            del sys.modules[module.__name__]


def test_every_kind_of_extension_has_a_recipe():
    recipes = {Path(page).stem for page in RECIPES}
    assert {"add-an-aggregator", "add-a-noise-model", "add-a-method", "add-a-dataset"} <= recipes


def test_the_readme_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, first in (("labels", 0), ("more", 20), ("unseen", 40)):
        item = [f"img{i}" for i in range(first, first + 20) for _ in range(3)]
        annotators = [f"p{a}" for a in rng.integers(0, 6, 60)]
        label = rng.choice(["cat", "dog"], 60)
        mh.io.write_annotations(
            mh.Annotations.from_arrays(item, annotators, label), tmp_path / f"{name}.csv"
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


# These warnings of Lightning are not about the example: it calls a class that torch 2.13
# deprecates, wants worker processes for data in memory, and wants the GPU if there is one.
@pytest.mark.filterwarnings(
    r"ignore:.isinstance\(treespec, LeafSpec\). is deprecated:FutureWarning",
    "ignore:The 'train_dataloader' does not have many workers:UserWarning",
    "ignore:GPU available but not used:UserWarning",
)
@pytest.mark.slow
def test_the_training_loops_of_the_documentation_beat_the_majority():
    names, accuracies = {}, []
    for language, text in blocks("docs/how-to/own-loop.md"):
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
    """Every parameter is in one of the two groups, was trained, and batches are moved."""
    [optimiser] = trainer.optimizers
    grouped = [{id(p) for p in group["params"]} for group in optimiser.param_groups]
    assert grouped == [
        {id(p) for p in part.parameters()} for part in (module.network, module.layer)
    ]
    assert all(parameter in optimiser.state for parameter in module.parameters())
    inputs, batch = module.transfer_batch_to_device(next(iter(loader)), torch.device("meta"), 0)
    assert inputs.is_meta
    assert batch.label.is_meta


# Lightning warns as above, and torch of a loader that pins memory without a GPU.
@pytest.mark.filterwarnings(
    r"ignore:.isinstance\(treespec, LeafSpec\). is deprecated:FutureWarning",
    "ignore:The 'train_dataloader' does not have many workers:UserWarning",
    "ignore:GPU available but not used:UserWarning",
)
@pytest.mark.slow
def test_the_loops_with_transformers_learn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    run_page("docs/how-to/transformer-loops.md", names)
    assert [names[loop] for loop in ("plain", "lightning", "hugging_face")] == [1.0, 1.0, 1.0]


def test_the_page_on_choosing_names_every_criterion():
    page = (DOCS / "how-to/choose-a-method.md").read_text()
    assert all(f"| `{name}` |" in page for name in mh.evaluation.CRITERIA)


def test_every_noise_model_is_in_the_documentation():
    text = (DOCS / "how-to/own-loop.md").read_text()
    assert all(f"`{name}`" in text for name in mh.NOISE if not name.startswith("crowd-layer-"))


def test_every_network_and_its_settings_are_in_the_documentation():
    text = (DOCS / "how-to/networks-and-optimisers.md").read_text()
    for name, entry in mh.NETWORKS.items():
        line = next(line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        if name != "dogs-cats-cnn":  # those of cnn
            assert re.findall(r"`(\w+)`", line.split("|")[4]) == list(entry.settings)


def test_every_setting_of_the_optimiser_is_in_the_documentation():
    text = (DOCS / "how-to/networks-and-optimisers.md").read_text()
    assert [name for name in settings_of(OptimiserOptions) if f"`{name}`" not in text] == []


def test_every_export_has_a_page():
    folder = DOCS / "how-to" / "tools"
    pages = {"label-studio-table": "label-studio", "list-columns": "hugging-face"}
    table = (folder / "index.md").read_text()
    for name in EXPORTS:
        assert (folder / f"{pages.get(name, name)}.md").exists(), name
        row = next(line for line in table.splitlines() if f"({pages.get(name, name)}.md)" in line)
        if name in TOOL_IMPORTS:
            assert f"`{TOOL_IMPORTS[name].suffix}`" in row


@pytest.mark.parametrize("name", sorted(mh.AGGREGATORS))
def test_every_aggregator_is_in_the_documentation(name):
    assert f"| `{name}` |" in (DOCS / "reference/aggregators.md").read_text()


def documented(room):
    """The names that the directives of a page of the reference document."""
    text = (DOCS / f"reference/{room}.md").read_text()
    return set(re.findall(r"^\.\. auto\w+:: (manyhands\.\S+)$", text, re.MULTILINE))


@pytest.mark.parametrize("room", ROOMS)
def test_the_reference_names_every_public_name(room):
    module = importlib.import_module(f"manyhands.{room}")
    public = {f"manyhands.{room}.{name}" for name in getattr(module, "__all__", ())}
    found = documented(room)
    assert public <= found, sorted(public - found)
    for name in found:
        place, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(place), last), name


def test_the_reference_names_every_public_class_of_the_engine():
    found = documented("engine")
    for name in ("settings", "task", "tasks", "loop", "batches", "inputs"):
        module = importlib.import_module(f"manyhands.engine.{name}")
        own = {
            f"{module.__name__}.{key}"
            for key, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__ and key[0] != "_"
        }
        assert own - found <= {"manyhands.engine.inputs.Moments", "manyhands.engine.inputs.Scaling"}


def test_the_reference_names_every_name_of_the_package():
    text = (DOCS / "reference/index.md").read_text()
    for name in mh.__all__:
        assert f"`{name}`" in text or f"`mh.{name}`" in text, name


def test_the_reference_shows_every_command():
    commands = {each.callback.__name__ for each in app.app.registered_commands}
    text = (DOCS / "reference/cli.md").read_text()
    assert set(re.findall(r"\{command-help\} (\w+)", text)) == commands
    examples = (DOCS / "how-to/command-line.md").read_text()
    assert set(re.findall(r"^## (\w+): ", examples, re.MULTILINE)) == commands


def test_links_between_pages_hold():
    for name in written_pages():
        page = HOME / name
        prose = re.sub(r"`[^`]*`", "", page.read_text())  # code is no link
        for target in re.findall(r"\]\((?!http)([^)#]+)", prose):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


@pytest.mark.parametrize("page", written_pages())
def test_pages_use_the_words_of_the_design(page):
    found = WORDS_OF_0_1.search((HOME / page).read_text())
    assert found is None, found


def test_every_file_of_the_page_where_things_are_exists():
    named = set(re.findall(r"`([a-z_]+/[\w./]*)`", (DOCS / "design" / "where.md").read_text()))
    missing = [name for name in named if not (HOME / "src" / "manyhands" / name).exists()]
    assert len(named) > 40
    assert missing == []
