"""Options follow from what the library declares; --help shows them in panels, at once."""

import inspect
import os
import re
import subprocess
import sys
from dataclasses import dataclass, fields
from typing import Literal, get_args

import pytest
import typer
from command_line import HEADER, SMALL, assert_refused, call, plain_json, start

import manyhands as mh
from manyhands.annotations.grouping import DUPLICATES
from manyhands.annotations.labels import KINDS
from manyhands.annotations.tags import ORPHAN_TAGS
from manyhands.cli import app, options
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import AT_LEAST_ONE, setting, settings_of
from manyhands.engine.settings import FeatureOptions, TaggingOptions
from manyhands.io.labels import LAYOUTS
from manyhands.io.read import TASKS
from manyhands.io.spans import ALIGNMENTS

COMMANDS = [each.callback.__name__ for each in app.app.registered_commands]


@dataclass(kw_only=True)
class MoreOptions(FeatureOptions):
    """The settings of an estimator, and two more."""

    n_heads: int = setting(4, "Number of heads.", rule=AT_LEAST_ONE, group="Network")
    pooling: Literal["mean", "max"] = setting("mean", "How words are pooled.", by_method=True)


def test_a_declared_setting_is_an_option_without_further_code():
    found = options.declared_options(MoreOptions)
    new = {name: found[name] for name in found.keys() - options.declared_options(FeatureOptions)}
    assert new.keys() == {"n_heads", "pooling"}
    kind, option = get_args(new["n_heads"].annotation)
    assert (kind, new["n_heads"].default) == (int | None, None)
    assert (option.help, option.rich_help_panel) == ("Number of heads.", "Network")
    assert option.show_default == "4"
    kind, option = get_args(new["pooling"].annotation)
    assert get_args(get_args(kind)[0]) == ("mean", "max")
    assert option.show_default == "the method's"


class MoreTraining(options.TrainOptions):
    __signature__ = inspect.Signature(list(options.declared_options(MoreOptions).values()))


def test_a_declared_setting_is_in_the_help_of_a_command():
    little = typer.Typer()

    @little.command()
    @options.takes_groups
    def train(training: MoreTraining) -> None:
        received.update(training.given)

    received: dict[str, object] = {}
    little(
        ["--n-heads", "2", "--noise", "omega=0", "--network-setting", "hidden=[8,4]",
         "--network-setting", "dropout=0.1", "--milestones", "60,0.75"],
        standalone_mode=False,
    )  # fmt: skip
    assert received == {
        "n_heads": 2, "noise": {"omega": 0}, "milestones": [60, 0.75],
        "network_settings": {"hidden": [8, 4], "dropout": 0.1},
    }  # fmt: skip


def test_every_setting_of_an_estimator_is_an_option():
    declared = settings_of(FeatureOptions) | settings_of(TaggingOptions)
    by_command = {"method", "seed", "checkpoint", "progress"}
    assert {each.name for each in options.options_of(options.TrainOptions)} == (
        declared.keys() - by_command
    )
    for command in ("train", "compare"):
        text = call(command, "--help").out
        assert "--learning-rate" in text


def test_options_of_labels_are_the_arguments_of_read():
    arguments = inspect.signature(mh.read).parameters.keys() - {"path"}
    own = {"exclude_from"}  # a file of what `exclude` lists
    assert {each.name for each in fields(options.TimedLabelOptions)} - own == arguments
    timed = {"seconds", "time"}  # only a report and a conversion look at times
    assert {each.name for each in fields(options.LabelOptions)} - own == arguments - timed
    read = {each.name for each in fields(mh.io.LabelFile)} - {"path"}
    assert read == arguments - {"levels"}  # they are classes of the kind "ordinal"


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("layout", LAYOUTS),
        ("kind", KINDS),
        ("task", TASKS),
        ("duplicates", DUPLICATES),
        ("orphan_tags", ORPHAN_TAGS),
        ("alignment", ALIGNMENTS),
    ],
)
def test_choices_are_those_of_the_library(name, choices):
    found = {each.name: each.annotation for each in options.options_of(options.LabelOptions)}
    kind = get_args(found[name])[0]
    literal = kind if name == "duplicates" else get_args(kind)[0]
    assert set(get_args(literal)) == set(choices)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_examples(command):
    text = call(command, "--help").out
    assert f"Example: manyhands {command}" in text
    assert "Output" in text or command == "datasets"


def test_a_summary_of_every_command_fits_its_line():
    lines = call("--help").out.splitlines()
    for command in COMMANDS:
        line = next(each for each in lines if re.match(rf"│ {command} ", each))
        summary = line.strip("│ ").removeprefix(command).strip()
        assert summary.endswith(".")
        assert len(summary) <= 60


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["compare", "--help"]])
def test_help_loads_no_heavy_library(words):
    program = (
        "import sys; from manyhands.cli import app\n"
        f"sys.argv = ['manyhands', *{words}]\n"
        "try:\n    app.main()\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        "print([name for name in ('torch', 'numba', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_train_and_compare_have_panels():
    for command in ("train", "compare"):
        text = call(command, "--help").out
        for panel in ("Labels", "Training", "Optimiser", "Network", "Output"):
            assert f"─ {panel} ─" in text
        assert "<labels|items>" in text or "[labels|items]" in text


def test_the_shell_completes_names_of_methods():
    complete = {"_MANYHANDS_COMPLETE": "complete_bash", "COMP_CWORD": "4"}
    complete["COMP_WORDS"] = "manyhands aggregate x.csv --method dawid"
    outcome = start(env=os.environ | complete)
    assert outcome.code == 0
    assert "dawid-skene" in outcome.out.split()


def test_names_after_a_comma_are_completed():
    complete = options.completed("AGGREGATORS", "METHODS")
    assert complete("majority,dawid") == ["majority,dawid-skene"]
    assert "conal" in complete("con")


def test_the_help_lists_all_aggregators():
    shown = " ".join(call("aggregate", "--help").out.replace("│", " ").split())
    known = [name for name, each in mh.AGGREGATORS.items() if each.kind == "classes"]
    assert f"Aggregator: {', '.join(known[:-1])} or {known[-1]}; for ordinal labels also" in shown
    assert "ordinal-thresholds or ordinal-dawid-skene; for sets of classes" in shown
    assert "multilabel-dawid-skene or multilabel-mixture; for numbers mean" in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_no_help_has_the_name_of_a_table_in_place_of_its_names(command):
    shown = call(command, "--help").out
    assert not [name for name in re.findall(r"\{([A-Z_]+)", shown) if hasattr(mh, name)]


def test_long_choices_are_in_the_text_of_the_help():
    shown = call("train", "--help").out
    assert "likelihood|majority" not in shown
    assert "confidence, log-odds" in " ".join(shown.replace("│", " ").split())


def test_errors_name_options_and_keep_names_that_are_none():
    commands = typer.main.get_command(app.app).commands
    spelled = commands["aggregate"].spelled
    assert spelled(SettingName("orphan_tags")) == "--orphan-tags"
    assert spelled(SettingName("missing", "")) == '--missing ""'
    assert spelled(SettingName("bounds", (1.0, 5.0))) == "--range 1:5"
    assert spelled(SettingName("item", ...)) == "--item ..."
    assert spelled(SettingName("columns", ...)) == "columns=..."
    assert commands["train"].spelled(SettingName("refit", False)) == "--no-refit"
    error = DataError("name it with ", SettingName("label", ...))
    assert error.at("x.csv").spelled(spelled) == "x.csv: name it with --label ..."


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(HEADER + "a,u,x\na,v,y\nb,u,y\nb,v,y\nb,w,x\nc,w,x\nc,v,x\n")
    return path


def test_settings_of_an_aggregator_are_set_by_name(labels):
    one = plain_json(call("aggregate", labels, "--set", "max_iter=1", "--json").out)
    assert (one["summary"]["iterations"], one["summary"]["converged"]) == (1, False)
    words = ("--set", "max_iter=3", "--set", "group_strength=5", "--json")
    assert plain_json(call("aggregate", labels, *words).out)["summary"]["iterations"] <= 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "max_itr=5"), "did you mean max_iter"),
        (("--set", "max_iter"), "a setting must be NAME=VALUE"),
        (("--set", "max_iter=0"), "max_iter must be a whole number >= 1; got 0"),
        (("--method", "majority", "--set", "max_iter=5"), "majority has no setting 'max_iter'"),
    ],
)
def test_wrong_settings_of_an_aggregator_are_one_line(words, message, labels):
    refused = call("aggregate", labels, *words)
    assert_refused(refused)
    assert message in refused.err


def test_an_option_with_one_value_is_given_once(tmp_path):
    (tmp_path / "labels.csv").write_text(SMALL)
    outcome = call("aggregate", tmp_path / "labels.csv", "--item", "item", "--item", "label")
    assert_refused(outcome)
    assert "--item is given twice" in outcome.err
    assert call("aggregate", tmp_path / "labels.csv", "--missing", "NA", "--missing", "").code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_paragraphs_of_help_fill_their_lines(command):
    description = call(command, "--help").out.split("╭")[0]
    paragraphs = [part.strip().splitlines() for part in re.split(r"\n\s*\n", description)]
    broken = [line for lines in paragraphs for line in lines[:-1] if len(line.strip()) < 50]
    assert broken == []
