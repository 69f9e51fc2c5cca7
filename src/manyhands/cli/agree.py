"""manyhands agree: how far annotators agree, with intervals and in words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np

import manyhands as mh
from manyhands.cli import options, output
from manyhands.cli.options import in_output, option
from manyhands.cli.pair_options import PairOptions, pair_lines, pair_source, refuse_options
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import SettingError

Table = Literal["coefficient", "class", "annotator", "pair", "item"]
_MOST_ROWS = 10
_SHOWN = ("value", "low", "high", "n_items", "n_annotators")
# By which column the rows of a table that is too long are chosen, the lowest first.
_WORST = ("kappa", "f1", "correlation", "agreement")


@options.takes_groups
def agree(
    labels: options.AnyLabelsFiles,
    reading: options.LabelOptions,
    pairs: PairOptions,
    level: Annotated[
        Literal["nominal", "ordinal", "interval", "ratio", "sets"] | None,
        option("How two labels differ: classes (nominal), ordered classes or ratings (ordinal), "
               "numbers (interval), numbers with a true zero (ratio), several classes per item "
               "(sets).", metavar="LEVEL",
               show_default="nominal; for numbers interval"),
    ] = None,
    coefficients: Annotated[
        str | None,
        option("Coefficients to compute: alpha, percent, fleiss, cohen, scott, gwet, "
               "brennan-prediger, icc1, icc1k, icc2, icc2k, icc3, icc3k.",
               metavar="NAME,NAME", show_default="those that fit the labels"),
    ] = None,
    weights: Annotated[
        Literal["linear", "quadratic", "ordinal"] | None,
        option("Weights of kappas at the level ordinal.", show_default="quadratic"),
    ] = None,
    interval: Annotated[
        Literal["analytic", "items", "annotators", "none"],
        option("Intervals by formulas (analytic), or by a bootstrap over items or annotators."),
    ] = "analytic",
    confidence: Annotated[
        float, option("Probability that intervals are made for.", metavar="NUMBER")
    ] = 0.95,
    resamples: Annotated[
        int, option("Number of bootstrap samples.", "--resamples", min=10, metavar="NUMBER")
    ] = 1000,
    seed: options.Seed = 0,
    by: Annotated[
        Table,
        in_output("Which table --out gets: of coefficients, or agreement by class, annotator, pair "
                  "of annotators or item.", metavar="NAME"),
    ] = "coefficient",
    out: Annotated[
        str | None,
        in_output("Table to write (.csv .tsv .parquet .jsonl); - is standard output.",
                  metavar="FILE"),
    ] = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Measure how far annotators agree.

    Prints coefficients of agreement with their intervals, what they mean and what they hide, and
    where annotators agree: by class, annotator and pair. Any item may lack labels.

    The labels decide what is computed. For classes: Krippendorff's alpha, per cent agreement,
    kappas, Gwet's AC1. For numbers: alpha and intraclass correlations. For sets of classes (--kind
    multilabel): alpha with MASI. For tags of tokens: F1 of spans, exact and by overlap, and alpha
    of single tokens. Ratings such as 1 to 5 are classes unless --level says more about them.
    --classes gives the order of words for --level ordinal.

    Of comparisons of two items, a pair of items is what annotators agree about, whichever side the
    items were on.

    Example: manyhands agree labels.csv

    Example: manyhands agree pairs.csv --by item --out pairs-of-items.csv

    Example: manyhands agree ratings.csv --level ordinal --interval items

    Example: manyhands agree labels.csv --level ordinal --classes bad,fair,good

    Example: manyhands agree topics.csv --level sets --separator "|"

    Example: manyhands agree labels.csv --by item --out items.csv
    """
    separator = reading.separator
    if level == "sets" and reading.kind is None and separator is not None:
        reading = replace(reading, kind="multilabel")
    file = reading.file(labels)
    output.require_targets(out, read=[*file.names])
    if out == "-" and json:
        raise SettingError("--json and --out - are both standard output; name a file for --out")
    settings: dict[str, Any] = {
        "interval": interval, "confidence": confidence, "n_resamples": resamples, "seed": seed,
    }  # fmt: skip
    ann: Any
    with output.working(f"comparing annotators of {file.shown}"):
        compared = pairs.file(file)
        if compared is not None:
            refuse_options(
                "comparisons of two items", level=level, coefficients=coefficients,
                weights=weights, separator=separator,
            )  # fmt: skip
            ann = compared.read()
            lines = pair_lines(ann)
            found = mh.agreement.summarize_pairs(ann, **settings)
        elif file.tokens is not None:
            _refuse(level=level, coefficients=coefficients, weights=weights, separator=separator)
            marked = file.read_tokens()
            ann = marked.labels.annotations
            lines = [
                f"{ann.n_annotations} tags of {ann.n_items} tokens in {len(marked.labels)} "
                f"sentences by {ann.n_annotators} annotators",
                *(f"note: {note}" for note in output.token_notes(marked, reading.orphan_tags)),
            ]
            found = mh.agreement.summarize_tokens(marked.labels, **settings)
        else:
            ann = file.read_items()
            lines = output.reading_lines(ann)
            settings |= {"level": level, "weights": weights}
            names = None if coefficients is None else [n.strip() for n in coefficients.split(",")]
            found = mh.agreement.summarize(ann, coefficients=names, **settings)
    if out is not None:
        output.put_table(_table(found, by), out)
    if json:
        source = pair_source(ann) if ann.kind == "pairs" else output.source_of(ann, file)
        output.say_json({"source": source} | _content(found, by))
    else:
        _print(found, lines, to_stderr=out == "-")


def _refuse(**given: str | None) -> None:
    for name, value in given.items():
        if value is not None:
            raise SettingError(f"--{name} is for labels of items; leave it out for tagged tokens")


def _table(found: "mh.agreement.AgreementSummary", by: Table) -> dict[str, AnyArray]:
    if by == "coefficient":
        return found.coefficient_columns()
    tables = {
        "class": found.classes, "annotator": found.annotators, "pair": found.pairs,
        "item": found.items,
    }  # fmt: skip
    if not tables[by]:
        raise SettingError(f"--by {by} is not for labels of the level {found.level}")
    return tables[by]


def _content(found: "mh.agreement.AgreementSummary", by: Table) -> dict[str, Any]:
    """Everything for JSON; items are many, and listed only if they are asked for."""
    tables = {
        "classes": found.classes, "annotators": found.annotators, "pairs": found.pairs,
        "items": found.items if by == "item" else {},
    }  # fmt: skip
    return {
        "level": found.level,
        "words": list(found.words),
        "coefficients": [each.to_json() for each in found.coefficients],
    } | {name: output.records(table) for name, table in tables.items() if table}


def _print(found: "mh.agreement.AgreementSummary", lines: list[str], *, to_stderr: bool) -> None:
    if to_stderr:
        for line in [*lines, *found.words]:
            output.remark(line)
        return
    for line in lines:
        output.say(line)
    output.say()
    rows = [{"coefficient": each.title, **each.to_json()} for each in found.coefficients]
    output.show_table("", rows, ["coefficient", *_SHOWN])
    output.say(_how(found))
    output.say()
    for line in found.words:
        output.say(f"- {line}")
    for each in found.coefficients:
        if not each.is_defined and each.words[0] not in found.words:
            output.say(f"- {each.title} is undefined: {each.words[0]}")
    for title, table, words in (
        ("By class", found.classes, found.column_words("classes")),
        ("By annotator", found.annotators, found.column_words("annotators")),
        ("By pair of annotators", found.pairs, found.column_words("pairs")),
    ):
        _show(title, table, words)


def _how(found: "mh.agreement.AgreementSummary") -> str:
    """How the intervals were computed."""
    ways = dict.fromkeys(each.interval for each in found.coefficients if each.interval)
    confidence = found.coefficients[0].confidence
    return f"{confidence:.0%} intervals: {'; '.join(ways)}" if ways else "no intervals"


def _show(title: str, table: Mapping[str, AnyArray], words: tuple[str, ...]) -> None:
    """Print a table, and what it holds; of a long one the rows with the lowest agreement."""
    n_rows = len(next(iter(table.values()))) if table else 0
    if n_rows == 0:
        return
    chosen = np.arange(n_rows)
    key = next((name for name in _WORST if name in table), None)
    if n_rows > _MOST_ROWS and key is not None:
        chosen = np.argsort(table[key], kind="stable")[:_MOST_ROWS]
        title = f"{title} (the {_MOST_ROWS} of {n_rows} with the lowest {key})"
    rows = output.records({name: column[chosen] for name, column in table.items()})
    plain = [
        {name: None if isinstance(v, float) and np.isnan(v) else v for name, v in row.items()}
        for row in rows
    ]
    output.say()
    output.say(title)
    output.show_table("", plain)
    for line in words:
        output.say(f"  {line}")
