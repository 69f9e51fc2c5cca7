"""Figures for notebooks: every function draws on matplotlib axes and returns them.

Without `ax`, a new figure of matplotlib's pyplot is made.

>>> import manyhands as mh
>>> crowd = mh.SCENARIOS["confusions"]()
>>> axes = mh.plot.confusion(mh.aggregate(crowd.annotations), 0)
>>> axes.get_xlabel()
'label said'
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.agreement.tables import class_columns
from manyhands.annotations import Labels, as_annotations
from manyhands.core import drawing
from manyhands.core.arrays import AnyArray
from manyhands.core.drawing import BLUE, INK, ORANGE, RED, SOFT, Axes
from manyhands.core.errors import DataError, SettingError
from manyhands.evaluation import calibration_curve, normalize_counts
from manyhands.evaluation.scorecard import match_truth
from manyhands.report.cells import believed_counts, class_names, confusion_cells, is_right
from manyhands.report.profiles import UNTRUSTED, Profiles, profile_annotators
from manyhands.report.shown import shown

if TYPE_CHECKING:
    import matplotlib.axes

MaybeAxes: TypeAlias = "matplotlib.axes.Axes | None"
MAX_CLASSES = 30
_WRITTEN = 12  # classes up to which the cells of a matrix have numbers
_NAMED = 40  # annotators up to which names are written


def confusion(consensus: Consensus, annotator: Any = None, *, ax: MaybeAxes = None) -> Axes:
    """Confusions with the consensus: of one annotator by name, or of all together.

    Row = consensus, column = label said; rows add up to 1.
    """
    ann = consensus.annotations
    if consensus.probabilities is None:
        raise DataError("labels are numbers: they have no confusions")
    cells = confusion_cells(consensus)
    at = slice(None)
    if annotator is not None:
        at = cells.of(ann.annotator_vocabulary.code(annotator))
    classes = class_names(consensus)
    counts_kl = np.zeros((len(classes), len(classes)))
    np.add.at(counts_kl, (cells.consensus[at], cells.label[at]), cells.count[at])
    kept = np.sort(np.argsort(-counts_kl.sum(axis=0), kind="stable")[:MAX_CLASSES])
    share_kl = normalize_counts(counts_kl[np.ix_(kept, kept)])
    share_kl[counts_kl[np.ix_(kept, kept)].sum(axis=1) == 0] = np.nan
    axes = _axes(ax, 1.5 + 0.4 * len(kept), 1.5 + 0.4 * len(kept))
    names = [shown(classes[k], 24) for k in kept]
    numbers = ".2f" if len(kept) <= _WRITTEN else ""
    drawing.heat_map(axes, share_kl, highest=1.0, names=names, numbers=numbers)
    who = "all annotators" if annotator is None else shown(annotator, 40)
    drawing.label(axes, across="label said", up="consensus", title=f"Confusions of {who}")
    return axes


def annotators(
    consensus: Consensus, *, profiles: Profiles | None = None, ax: MaybeAxes = None
) -> Axes:
    """Quality of annotators with its 95 % interval, the best at the top; flags are coloured."""
    profiles = profile_annotators(consensus) if profiles is None else profiles
    quality, ann = consensus.quality, consensus.annotations
    order = np.argsort(quality.value, kind="stable")
    axes = _axes(ax, 6.0, min(1.2 + 0.2 * len(order), 14.0))
    y = np.arange(len(order))
    kinds = [[flag.kind for flag in profiles.flags_of.get(int(a), [])] for a in order]
    colours = [_colour(each) for each in kinds]
    axes.hlines(y, quality.low[order], quality.high[order], colors=colours, alpha=0.5, linewidth=3)
    axes.scatter(quality.value[order], y, c=colours, s=20, zorder=3)
    names = [shown(ann.annotators[a], 24) for a in order]
    marked = [f"{name} ({', '.join(each)})" if each else name
              for name, each in zip(names, kinds, strict=True)]  # fmt: skip
    axes.set_yticks(y, marked) if len(order) <= _NAMED else axes.set_yticks([])
    axes.set_xlim(0.0, 1.0)
    drawing.tidy(axes, across="quality, with its 95 % interval", up="", title="Annotators")
    return axes


def _colour(kinds: list[str]) -> str:
    if any(kind in UNTRUSTED for kind in kinds):
        return RED
    if "copies" in kinds:
        return ORANGE
    return SOFT if kinds else BLUE


def agreement_by_class(labels: Labels, *, ax: MaybeAxes = None) -> Axes:
    """If one annotator says a class, how often another says it too, with its interval."""
    found = as_annotations(labels)
    columns = class_columns(found if found.kind == "multilabel" else found.as_kind("classes"))
    order = np.argsort(columns["n_labels"], kind="stable")[-MAX_CLASSES:]
    axes = _axes(ax, 6.0, 1.0 + 0.3 * len(order))
    y = np.arange(len(order))
    axes.hlines(y, columns["low"][order], columns["high"][order], colors=SOFT, linewidth=3)
    axes.scatter(columns["agreement"][order], y, c=BLUE, s=24, zorder=3)
    axes.set_yticks(y, [shown(name, 24) for name in columns["class"][order]])
    axes.set_xlim(0.0, 1.0)
    drawing.tidy(axes, across="agreement, with its 95 % interval", up="", title="By class")
    return axes


def reliability(
    consensus: Consensus, truth: Mapping[Any, Any], *, n_bins: int = 10, ax: MaybeAxes = None
) -> Axes:
    """Share of right labels by confidence; on the diagonal the confidence is right."""
    classes = consensus.annotations.class_vocabulary
    if classes is None:
        raise DataError("only the confidence of classes can be compared with truths")
    row, names = match_truth(consensus.annotations.item_vocabulary, truth)
    right = is_right(consensus, row, names)
    curve = calibration_curve(consensus.confidence[row], right, n_bins=n_bins)
    axes = _axes(ax, 4.5, 4.5)
    axes.plot([0, 1], [0, 1], color=SOFT, linestyle="--", linewidth=1)
    axes.plot(curve.confidence, curve.accuracy, color=BLUE, marker="o")
    for x, y, n in zip(curve.confidence, curve.accuracy, curve.count, strict=True):
        axes.annotate(f"{n:,}", (x, y), textcoords="offset points", xytext=(6, -10), fontsize=7,
                      color=INK)  # fmt: skip
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    title = f"Calibration error {curve.calibration_error:.3f}"
    drawing.tidy(axes, across="confidence", up="share of right labels", title=title)
    return axes


def label_distribution(
    labels: Labels, *, consensus: Consensus | None = None, ax: MaybeAxes = None
) -> Axes:
    """How often each class was said, beside the consensus if it is given; or a histogram."""
    ann = as_annotations(labels)
    if ann.kind == "numbers":
        axes = _axes(ax, 6.0, 3.5)
        axes.hist(ann.label, bins=min(30, len(np.unique(ann.label))), color=BLUE)
        drawing.tidy(axes, across="label", up="labels", title="Distribution of labels")
        return axes
    said_k = ann.label_counts().sum(axis=0) / max(ann.n_annotations, 1)
    order = np.argsort(said_k, kind="stable")[-MAX_CLASSES:]
    axes = _axes(ax, 6.0, 1.2 + 0.3 * len(order))
    y, height = np.arange(len(order)), 0.8 if consensus is None else 0.4
    axes.barh(y, said_k[order], height=height, color=BLUE, label="labels")
    if consensus is not None:
        share_k = believed_counts(consensus) / max(ann.n_items, 1)
        axes.barh(y - height, share_k[order], height=height, color=ORANGE, label="consensus")
        axes.set_xlim(0.0, 1.3 * max(said_k.max(initial=0.0), share_k.max(initial=0.0), 1e-9))
        axes.legend(frameon=False, fontsize=8, loc="lower right")  # beside the bars
    axes.set_yticks(y - (0 if consensus is None else height / 2),
                    [shown(name, 24) for name in ann.classes[order]])  # fmt: skip
    drawing.tidy(axes, across="share", up="", title="Distribution of labels")
    return axes


def learning_curves(
    model: Any, *, metrics: tuple[str, ...] | None = None, ax: MaybeAxes = None
) -> Axes:
    """What every epoch of a fitted estimator reported, such as the loss; one line per metric.

    `model` is a fitted estimator, or its `history_`.
    """
    history: list[dict[str, Any]] = list(getattr(model, "history_", model))
    if not history:
        raise DataError("there are no epochs to draw; fit the estimator first")
    found = [
        name
        for name, value in history[-1].items()
        if isinstance(value, float) and name not in ("seconds", "epoch")
    ]
    unknown = [name for name in metrics or () if name not in found]
    if unknown:
        raise SettingError(f"no metric {unknown[0]!r} in the history; there are {', '.join(found)}")
    axes = _axes(ax, 6.0, 3.5)
    for name in metrics or found:
        entries = [(each["epoch"], each[name]) for each in history if name in each]
        axes.plot(*zip(*entries, strict=True), label=name, marker="." if len(entries) < 30 else "")
    axes.legend(frameon=False, fontsize=8)
    drawing.tidy(axes, across="epoch", up="", title="Learning curves")
    return axes


def item_map(consensus: Consensus, *, ax: MaybeAxes = None) -> Axes:
    """Items by the agreement of their labels and the confidence of their consensus.

    Items at the bottom right are those about which annotators disagree and the model is sure
    because it trusts some of them; at the bottom left nobody knows.
    """
    known = np.isfinite(consensus.agreement) & np.isfinite(consensus.confidence)
    axes = _axes(ax, 5.5, 4.5)
    x: AnyArray = consensus.confidence[known]
    image = axes.hexbin(x, consensus.agreement[known], gridsize=25, cmap="Blues", bins="log",
                        mincnt=1, extent=(0, 1, 0, 1))  # fmt: skip
    axes.figure.colorbar(image, ax=axes, label="items", fraction=0.04)
    drawing.tidy(axes, across="confidence", up="labels that agree with the consensus",
                 title="Items")  # fmt: skip
    return axes


def _axes(given: MaybeAxes, width: float, height: float) -> Axes:
    """The given axes, or those of a new figure."""
    if given is not None:
        return given
    pyplot = drawing.matplotlib_module("matplotlib.pyplot")
    axes: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return axes
