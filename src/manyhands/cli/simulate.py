"""manyhands simulate: a crowd of known behaviour, written to a folder."""

import json as json_text
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import Json, Seed
from manyhands.cli.output import say, say_json
from manyhands.core.errors import SettingError


def simulate(
    scenario: Annotated[
        str,
        typer.Argument(
            help="symmetric, confusions, spammers, adversaries, copycats; or a paper's crowd: "
            "sensitivities, common-noise, perturbed-networks, perturbed-networks-images."
        ),
    ],
    out: Annotated[str, typer.Option("--out", help="Folder to write; made when missing.")],
    items: Annotated[int | None, typer.Option(help="How many items.")] = None,
    annotators: Annotated[int | None, typer.Option(help="How many annotators.")] = None,
    classes: Annotated[int | None, typer.Option(help="How many classes.")] = None,
    labels_per_item: Annotated[int | None, typer.Option(help="Labels that each item gets.")] = None,
    lowest: Annotated[float | None, typer.Option(help="Lowest accuracy of the honest.")] = None,
    highest: Annotated[float | None, typer.Option(help="Highest accuracy of the honest.")] = None,
    share: Annotated[float | None, typer.Option(help="Part of the crowd that misbehaves.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the scenario, such as common_share=0.3. Repeatable; a name that is "
            "none lists them.",
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Simulate a crowd: labels.csv, truth.csv, annotators.csv and scenario.json in a folder.

    There are features.csv and a test part too where the items have features. What is left out is
    as the scenario has it, which for a paper's crowd is as the paper has it.

    Example: manyhands simulate spammers --out crowd --items 500 --share 0.4
    """
    options = {
        "n_items": items,
        "n_annotators": annotators,
        "n_classes": classes,
        "labels_per_item": labels_per_item,
        "lowest": lowest,
        "highest": highest,
        "share": share,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    chosen |= {"seed": seed} | dict(_setting(text) for text in set_ or [])
    settings = mh.SCENARIOS[scenario].make_settings(chosen)
    crowd = mh.SCENARIOS[scenario](settings)
    written = mh.simulation.write_crowd(crowd, out, scenario, settings)
    if json:
        say_json(
            {"scenario": scenario, "files": written, "labels": crowd.annotations.n_annotations}
        )
        return
    say(f"{crowd.annotations!r}")
    for name in written:
        say(f"  {name}")
    labels, truth = written[:2]
    say(f"next: manyhands aggregate {labels} --truth {truth} --out consensus.csv")
    for name in written:
        if name.endswith("features.csv") and not name.endswith("test_features.csv"):
            say(f"or: manyhands train {name} {labels} --truth {truth} --out model")


def _setting(text: str) -> tuple[str, Any]:
    """A name and its value: a number, true, false, a list in brackets, or a word."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise SettingError(f"--set must be NAME=VALUE; got {text!r}")
    try:
        return name, json_text.loads(value)
    except ValueError:
        return name, value
