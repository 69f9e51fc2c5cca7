"""The summary of a ranking in words: what is best, whose comparisons help, what to do next."""

import numpy as np

from manyhands.aggregation import Ranking
from manyhands.agreement import summarize_pairs
from manyhands.checks import Finding, check
from manyhands.core.arrays import AnyArray
from manyhands.report.shown import percent, shown
from manyhands.report.wording import counted, names_of

UNSURE = 0.9  # the chance that the first of two neighbours is better
MAX_NAMES = 4  # of a finding
MAX_WIDTH = 0.4  # of an interval of a quality; a wider one tells nothing
BY_SCORES, GUESSES, AGAINST, TOO_FEW = (
    "judges by the scores", "cannot be told from guesses", "judges against the scores",
    "too few comparisons to say",
)  # fmt: skip


def verdicts(ranking: Ranking) -> list[str]:
    """What the interval of the quality tells of every annotator; 50 % is a guess."""
    quality = ranking.quality
    ends = zip(quality.low.tolist(), quality.high.tolist(), strict=True)
    return [_verdict(low, high) for low, high in ends]


def _verdict(low: float, high: float) -> str:
    """What an interval tells.

    >>> [_verdict(*ends) for ends in ((0.6, 0.9), (0.4, 0.6), (0.1, 0.4), (0.2, 0.9))]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['judges by the scores', 'cannot be told from guesses', 'judges against the scores',
     'too few comparisons to say']
    """
    if low > 0.5:
        return BY_SCORES
    if high < 0.5:
        return AGAINST
    return GUESSES if high - low <= MAX_WIDTH else TOO_FEW


def chance_above_next(ranking: Ranking) -> AnyArray:
    """The chance that every item, from the best, is truly above the next one; NaN at the end."""
    order, chance = ranking.order, ranking.chance_above
    return np.append(chance[order[:-1], order[1:]], np.nan)


def ranking_summary(ranking: Ranking) -> dict[str, list[str]]:
    """Sentences on what there is, how far annotators agree, whom to trust, and what to do."""
    pairs = ranking.comparisons
    findings = check(pairs).findings
    agreement = summarize_pairs(pairs)
    serious = [each.message for each in findings if each.severity != "note"]
    if AGAINST in verdicts(ranking):  # these are named
        serious = [text for text in serious if "disagree" not in text]
    lines = {
        "have": [*_have(ranking), *(pairs.source.notes if pairs.source else ())],
        "agree": [f"{each}." for each in agreement.coefficients] + list(agreement.words[:1]),
        "trust": [*_whom(ranking), *(f"Beware: {text}." for text in (*ranking.warnings, *serious))],
        "next": [*map(_step, findings), *_steps(ranking)] or ["Nothing wrong was found."],
    }
    return {name: [shown(line, 400) for line in each] for name, each in lines.items()}


def _have(ranking: Ranking) -> list[str]:
    pairs = ranking.comparisons
    ties = f"; {percent(pairs.n_ties / len(pairs))} are ties" if pairs.n_ties else ""
    lines = [
        f"{counted(len(pairs), 'comparison')} of {counted(pairs.n_items, 'item')} by "
        f"{counted(pairs.n_annotators, 'annotator')}{ties}."
    ]
    if ranking.n_groups == 1:
        best, (low, high) = int(ranking.order[0]), ranking.rank_interval
        ranks = f"rank {low[best]}" if low[best] == high[best] else f"rank 1 to {high[best]}"
        lines.append(f"The best is {shown(ranking.items[best], 60)} ({ranks} by the data).")
    return lines


def _of(ranking: Ranking, verdict: str) -> list[int]:
    """The annotators of a verdict, the lowest quality first."""
    found = np.flatnonzero(np.array(verdicts(ranking), dtype=object) == verdict)
    order = np.argsort(ranking.annotator_quality[found], kind="stable")
    return [int(a) for a in found[order]]


def _whom(ranking: Ranking) -> list[str]:
    names, lines = ranking.comparisons.annotators, []
    good = _of(ranking, BY_SCORES)
    if good:
        verb = "judges" if len(good) == 1 else "judge"
        lines.append(
            f"{len(good):,} of {counted(len(names), 'annotator')} {verb} by the scores: the "
            "interval of the quality is above 50 %, which a guess would have."
        )
    for verdict, many in ((AGAINST, "judge against the scores"), (GUESSES, GUESSES)):
        codes = _of(ranking, verdict)
        if codes:
            said = verdict if len(codes) == 1 else many
            lines.append(f"{len(codes):,} {said}: {names_of(names, codes)}.")
    few = len(_of(ranking, TOO_FEW))
    if few:
        lines.append(f"{counted(few, 'annotator')} gave too few comparisons to say.")
    return lines


def _step(finding: Finding) -> str:
    """A finding with what to do and the first names."""
    names = [shown(name, 40) for name in finding.names[:MAX_NAMES]]
    more = finding.count - len(names) if len(finding.names) > len(names) else 0
    listed = f" ({', '.join(names)}{' and others' if more else ''})" if names else ""
    return f"{finding.message}{listed}: {finding.remedy}."


def _steps(ranking: Ranking) -> list[str]:
    """What to do with annotators who guess, and which neighbours to compare more often."""
    steps, names = [], ranking.comparisons.annotators
    guess = _of(ranking, GUESSES)
    if guess:
        steps.append(
            f"Look at some comparisons of {names_of(names, guess)}, whose judgements cannot be "
            "told from guesses: explain the task, or leave them out with --exclude."
        )
    chance, order = chance_above_next(ranking), ranking.order
    open_ = np.flatnonzero(chance < UNSURE)
    if len(open_) and ranking.n_groups == 1:
        one, two = (shown(ranking.items[order[open_[0] + n]], 40) for n in (0, 1))
        steps.append(
            f"Compare more often: the order of {len(open_):,} of "
            f"{counted(len(order) - 1, 'pair')} of neighbours is open, first that of {one} and "
            f"{two}; manyhands next says which pairs tell most."
        )
    return steps
