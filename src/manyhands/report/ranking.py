"""The report of a ranking: its content as plain values, and the page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import manyhands
from manyhands.aggregation import Ranking
from manyhands.annotations.vocabulary import Vocabulary
from manyhands.io.atomic import atomic_write
from manyhands.report.page import content_policy, page_environment, template_text
from manyhands.report.ranking_words import UNSURE, chance_above_next, ranking_summary, verdicts
from manyhands.report.shown import number, shown

MAX_ROWS = 500


def ranking_content(
    ranking: Ranking, *, title: str = "Ranking", anonymous: bool = False
) -> dict[str, Any]:
    """The content of the report of a ranking: sizes, a summary in words, items and annotators.

    With `anonymous` items and annotators have numbers in place of names.

    >>> import manyhands as mh
    >>> pairs = mh.Comparisons.from_arrays(list("xxy"), list("yzz"), None, list("xxy"))
    >>> ranking_content(mh.aggregate(pairs))["items"]["rows"][0]["name"]
    'x'
    """
    if anonymous:
        ranking = _without_names(ranking)
    pairs = ranking.comparisons
    source = pairs.source
    return {
        "title": shown(title), "version": manyhands.__version__, "method": ranking.method_name,
        "source": shown(source) if source is not None else "",
        "kind": "pairs",
        "sizes": {
            "labels": len(pairs), "items": pairs.n_items, "annotators": pairs.n_annotators,
            "ties": pairs.n_ties,
        },
        "summary": ranking_summary(ranking),
        "items": _item_rows(ranking), "annotators": _annotator_rows(ranking),
        "several_groups": ranking.n_groups > 1, "sided": len(ranking.position) > 0,
    }  # fmt: skip


def render_ranking(content: dict[str, Any]) -> str:
    """The report of a ranking as one HTML file, without scripts and without requests."""
    page = page_environment().get_template("ranking.html")
    return page.render(content, style=template_text("report.css"), policy=content_policy([]))


def write_ranking_report(content: dict[str, Any], path: str | Path) -> int:
    """Write the page to a file, complete or not at all; return its size in bytes."""
    encoded = render_ranking(content).encode("utf-8", errors="xmlcharrefreplace")
    with atomic_write(Path(path)) as stream:
        stream.write(encoded)
    return len(encoded)


def _item_rows(ranking: Ranking) -> dict[str, Any]:
    columns, order = ranking.item_columns(), ranking.order
    known = columns["score_low"][order], columns["score_high"][order]
    ends = np.concatenate([*known, ranking.scores])
    low, high = (float(f(ends[np.isfinite(ends)])) for f in (np.min, np.max))
    width = max(high - low, 1e-9)
    neighbour = chance_above_next(ranking)
    rows = []
    for place, code in enumerate(order[:MAX_ROWS].tolist()):
        marks = (columns[name][code] for name in ("score_low", "score", "score_high"))
        rows.append(
            {
                "name": shown(ranking.items[code]),
                "rank": int(columns["rank"][code]),
                "rank_low": int(columns["rank_low"][code]),
                "rank_high": int(columns["rank_high"][code]),
                "score": number(columns["score"][code], 2),
                "score_low": number(columns["score_low"][code], 2),
                "score_high": number(columns["score_high"][code], 2),
                "group": int(ranking.group[code]) + 1,
                "marks": [number(100.0 * (each - low) / width, 1) for each in marks],
                "above_next": number(neighbour[place], 2),
                "unsure": bool(neighbour[place] < UNSURE),
                **{name: int(columns[name][code]) for name in ("wins", "losses", "ties")},
            }
        )
    return {"rows": rows, "n": len(order)}


def _annotator_rows(ranking: Ranking) -> dict[str, Any]:
    columns = ranking.annotator_columns()
    order, told = np.argsort(columns["quality"], kind="stable"), verdicts(ranking)
    rows = [
        {
            "name": shown(columns["annotator"][code]),
            "labels": int(columns["n_annotations"][code]),
            "verdict": told[code],
            **{
                name: number(columns[name][code], 3)
                for name in ("quality", "quality_low", "quality_high")
            },
            "left": number(columns["p_left"][code], 3) if "p_left" in columns else None,
        }
        for code in order[:MAX_ROWS].tolist()
    ]
    return {"rows": rows, "n": len(order)}


def _without_names(ranking: Ranking) -> Ranking:
    pairs = ranking.comparisons
    items = [f"item {code + 1}" for code in range(pairs.n_items)]
    people = [f"annotator {code + 1}" for code in range(pairs.n_annotators)]
    numbered = replace(
        pairs, item_vocabulary=Vocabulary.of(items, "item"), source=None,
        annotator_vocabulary=Vocabulary.of(people, "annotator"),
    )  # fmt: skip
    kept = tuple(text for text in ranking.warnings if "{" not in text)  # groups name their items
    return replace(ranking, comparisons=numbered, warnings=kept)
