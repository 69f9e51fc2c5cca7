"""manyhands simulate: a crowd of known behaviour, written to a folder."""

from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import Json, Seed, completed, in_output, option
from manyhands.cli.output import say, say_json
from manyhands.cli.values import named_values


def simulate(
    scenario: Annotated[
        str,
        typer.Argument(
            help="symmetric, confusions, spammers, adversaries, copycats, planted (all of "
            "these), shared-mistakes, judge-panel, or preferences (comparisons of two items); or "
            "the crowd of a paper: sensitivities, common-noise, perturbed-networks, "
            "perturbed-networks-images.",
            autocompletion=completed("SCENARIOS"),
        ),
    ],
    out: Annotated[
        str, in_output("Folder to write; it is created if it does not exist.", metavar="DIR")
    ],
    items: Annotated[int | None, option("Number of items.")] = None,
    annotators: Annotated[int | None, option("Number of annotators.")] = None,
    classes: Annotated[int | None, option("Number of classes.")] = None,
    labels_per_item: Annotated[int | None, option("Number of labels per item.")] = None,
    lowest: Annotated[float | None, option("Lowest accuracy of honest annotators.")] = None,
    highest: Annotated[float | None, option("Highest accuracy of honest annotators.")] = None,
    share: Annotated[float | None, option("Share of the annotators that misbehave.")] = None,
    set_: Annotated[
        list[str] | None,
        option("A setting of the scenario, such as common_share=0.3. Repeatable. An unknown name "
               "lists the known ones.", "--set", metavar="NAME=VALUE"),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Write the labels of a simulated crowd to a folder.

    The folder has labels.csv (pairs.csv for preferences), truth.csv, annotators.csv and
    scenario.json, and features.csv and test items if the items have features. Settings that are
    left out are those of the scenario; for the crowd of a paper they are those of the paper.

    Example: manyhands simulate spammers --out crowd --items 500 --share 0.4

    Example: manyhands simulate preferences --out pairs --set n_pairs=500

    Example: manyhands simulate common-noise --out crowd --set common_share=0.3
    """
    options = {
        "n_items": items, "n_annotators": annotators, "n_classes": classes,
        "labels_per_item": labels_per_item, "lowest": lowest, "highest": highest, "share": share,
    }  # fmt: skip
    chosen = {name: value for name, value in options.items() if value is not None}
    chosen |= {"seed": seed} | named_values("--set", set_)
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
