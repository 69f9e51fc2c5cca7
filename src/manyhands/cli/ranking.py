"""What aggregate and compare do with comparisons of two items."""

import sys
from typing import Any

import manyhands as mh
from manyhands.cli import output
from manyhands.cli.pair_options import (
    names_of,
    pair_lines,
    pair_source,
    refuse_options,
    score_line,
)
from manyhands.core.errors import SettingError

_WHAT = "comparisons of two items"


def aggregate_pairs(request: Any, file: "mh.io.PairFile") -> None:
    """Rank the items of a file of comparisons; `request` is that of the command aggregate."""
    refuse_options(
        _WHAT, device=request.device, spans=request.spans, known=request.known,
        calibrate=request.calibrate, suggestions=request.tools.suggestions,
        relabel=request.tools.relabel,
    )  # fmt: skip
    if request.engine.engine in ("stream", "spark"):
        raise SettingError(f"--engine {request.engine.engine} is for labels of items; leave it out")
    to_stream = "-" if request.json and request.annotators == "-" else None
    output.require_targets(
        request.out, request.annotators, to_stream, read=[*file.names, request.truth]
    )
    method = request.method or mh.aggregation.PAIR_DEFAULT
    settings = mh.aggregation.parse_pair_settings(method, request.set_ or [])
    truth = request.reading.truth(request.truth)
    with output.working(f"ranking {file.shown}"):
        pairs = file.read()
        ranking = mh.aggregate(pairs, method, **settings)
    scores = None if truth is None else ranking.score(truth)
    columns = ranking.ranked_columns()
    if request.annotators:
        output.put_table(ranking.annotator_columns(), request.annotators)
    if request.out != "-" or not request.json:
        output.put_table(columns, request.out)
    if request.json:
        facts = {"source": pair_source(pairs), "summary": ranking_summary(ranking)}
        facts["scores"] = {} if scores is None else scores.as_dict()
        rows = {"ranking": output.records(columns)} if request.out == "-" else {}
        output.say_json(facts | rows)
        return
    lines = [*pair_lines(pairs), *ranking_lines(ranking)]
    lines += [] if scores is None else [score_line(scores)]
    for line in lines:
        (output.remark if request.out == "-" else output.say)(line)


def ranking_summary(ranking: "mh.aggregation.Ranking") -> dict[str, object]:
    """A ranking in a few plain values."""
    return {
        "method": ranking.method_name, "task": "ranking", "kind": "pairs",
        "items": ranking.comparisons.n_items, "annotators": ranking.comparisons.n_annotators,
        "comparisons": len(ranking.comparisons), "ties": ranking.comparisons.n_ties,
        "groups": ranking.n_groups, "iterations": ranking.n_iterations,
        "converged": ranking.converged, "warnings": list(ranking.warnings),
    }  # fmt: skip


def ranking_lines(ranking: "mh.aggregation.Ranking") -> list[str]:
    """A ranking in a few sentences."""
    pairs, order = ranking.comparisons, ranking.order
    low, high = ranking.rank_interval
    best = order[0]
    open_to = f", rank {low[best]} to {high[best]} by 95 % intervals"
    lines = [
        f"{ranking.method_name}: {output.counted(len(pairs), 'comparison')} of {pairs.n_items} "
        f"items by {output.counted(pairs.n_annotators, 'annotator')}",
        f"best: {ranking.items[best]}{open_to}",
    ]
    if len(ranking.position) == 1:
        lines.append(f"the left one of two equal items wins {100 * ranking.p_left[0]:.0f} %")
    return lines + [f"WARNING: {text}" for text in ranking.warnings]


def compare_pairs(request: Any, file: "mh.io.PairFile") -> None:
    """Rank aggregators of comparisons, by truth or by comparisons held out."""
    refuse_options(_WHAT, features=request.features, select=request.select)
    output.require_targets(request.out, read=[*file.names, request.truth])
    names = names_of(request.names)
    truth = request.reading.truth(request.truth)
    pairs = file.read()
    for line in pair_lines(pairs):
        output.remark(line)
    table = mh.aggregation.compare_rankings(pairs, names, truth=truth, seed=request.seed)
    if request.json:
        facts = {"source": pair_source(pairs), "ranked_by": table.ranked_by}
        output.say_json(facts | {"methods": table.records()})
    elif request.out == "-":
        output.show_table("", table.records(), table.columns)
        output.remark(f"ranked by {table.ranked_by}")
    if request.out != "-":
        output.put_table(table.columns, request.out)


def report_pairs(request: Any, file: "mh.io.PairFile") -> None:
    """Write the page of a ranking; `request` is that of the command report."""
    refuse_options(_WHAT, features=request.features, truth=request.truth)
    with output.working(f"ranking {file.shown}"):
        pairs = file.read()
        ranking = mh.aggregate(pairs, request.method)
    for line in pair_lines(pairs):
        output.remark(line)
    content = mh.report.ranking_content(ranking, title=request.heading, anonymous=request.anonymous)
    if request.out == "-":
        sys.stdout.write(mh.report.render_ranking(content))
        n_bytes = 0
    else:
        n_bytes = mh.report.write_ranking_report(content, request.out)
    if request.json and request.out != "-":
        facts = {"report": request.out, "bytes": n_bytes, "method": content["method"]}
        output.say_json(facts | content["sizes"] | {"summary": content["summary"]})
        return
    say = output.remark if request.out == "-" else output.say
    for line in ranking_lines(ranking):
        say(line)
    if request.out != "-":
        say(f"report in {request.out} ({n_bytes / 1e6:.2f} MB); open it in a browser")
