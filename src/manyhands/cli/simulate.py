"""manyhands simulate: a crowd of known behaviour, written to a folder."""

from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import Json, Seed
from manyhands.cli.output import say, say_json


def simulate(
    scenario: Annotated[
        str, typer.Argument(help="symmetric, confusions, spammers or adversaries.")
    ],
    out: Annotated[str, typer.Option("--out", help="Folder to write; made when missing.")],
    items: Annotated[int, typer.Option(help="How many items.")] = 1000,
    annotators: Annotated[int, typer.Option(help="How many annotators.")] = 50,
    classes: Annotated[int, typer.Option(help="How many classes.")] = 3,
    labels_per_item: Annotated[int, typer.Option(help="Labels that each item gets.")] = 5,
    lowest: Annotated[float, typer.Option(help="Lowest accuracy of the honest.")] = 0.5,
    highest: Annotated[float, typer.Option(help="Highest accuracy of the honest.")] = 0.9,
    share: Annotated[float, typer.Option(help="Part of the crowd that misbehaves.")] = 0.3,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Simulate a crowd: labels.csv, truth.csv, annotators.csv and scenario.json in a folder.

    Example: manyhands simulate spammers --out crowd --items 500 --share 0.4
    """
    settings = mh.simulation.CrowdSettings(
        n_items=items,
        n_annotators=annotators,
        n_classes=classes,
        labels_per_item=labels_per_item,
        lowest=lowest,
        highest=highest,
        share=share,
        seed=seed,
    )
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
    say(f"next: manyhands aggregate {written[0]} --truth {written[1]} --out consensus.csv")
