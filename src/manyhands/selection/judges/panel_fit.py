"""The consensus of a panel: a model of groups, fitted to gold and other items, then calibrated."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special
from scipy.optimize import minimize_scalar

from manyhands.aggregation.em import run_em
from manyhands.annotations import Annotations
from manyhands.core.arrays import Bools, Codes, Floats, symmetric_confusions
from manyhands.evaluation import apply_temperature, confusion_counts, log_loss
from manyhands.selection.judges.dependence import gold_labels, measure_dependence
from manyhands.selection.judges.group_model import (
    Grouping,
    LabelColumns,
    class_log_likelihood,
    find_groups,
    label_columns,
    labels_log_likelihood,
)
from manyhands.selection.judges.judge_labels import Gold

_SYMMETRIC = 30.0  # pseudo-labels per class of the average judge, all errors equally probable
_PRIOR = 10.0  # pseudo-labels per class of an average judge, in the confusion of every judge
_PRIORS = (10.0, 30.0, 100.0, 300.0)  # the same to choose from, if errors are shared
_UNLABELLED = 3.0  # items without gold count at most so many times as much, if errors are shared
_TEMPERATURE_SPREAD = 0.25  # standard deviation of the prior of the log-temperature
_MAX_ITER, _TOL = 100, 1e-6
_BOUNDS = (-2.0, 3.0)  # of the log-temperature


@dataclass(frozen=True, eq=False)
class PanelFit:
    """A fitted panel: groups, class prior, confusions (a, k, l), and the temperature.

    `counts_akl` are the label counts that the confusions come from, `average_kl` is the confusion
    that they are shrunk towards by `prior` pseudo-labels per class, and `objective` is that of
    every EM step.
    """

    annotations: Annotations
    gold: Gold
    grouping: Grouping
    log_prior_k: Floats
    confusion_akl: Floats
    counts_akl: Floats
    average_kl: Floats
    prior: float
    temperature: float
    objective: tuple[float, ...]

    def probabilities(self, judges: Bools | None = None) -> Floats:
        """Calibrated class probabilities (i, k), by all judges or by some of them.

        The row of a gold item is computed without its own gold.
        """
        log_ik = self.log_posterior(judges)
        return apply_temperature(special.softmax(log_ik, axis=1), self.temperature)

    def log_posterior(self, judges: Bools | None = None) -> Floats:
        """The same before calibration and without normalization."""
        log_ik = self._log_posterior(label_columns(self.annotations), judges)
        log_ik[self.gold.row_g, self.gold.truth_g] = self._left_out(judges)
        return log_ik

    def gold_posterior(self, judges: Bools | None = None) -> Floats:
        """The rows of the gold items of `log_posterior`."""
        log_gk = self._log_posterior(gold_label_columns(self.annotations, self.gold), judges)
        log_gk[np.arange(len(self.gold)), self.gold.truth_g] = self._left_out(judges)
        return log_gk

    def _log_posterior(self, said: LabelColumns, judges: Bools | None) -> Floats:
        if judges is not None:
            said = said.of(judges[said.judge])
        return class_log_likelihood(said, self.grouping, self.log_prior_k, self.confusion_akl)

    def _left_out(self, judges: Bools | None) -> Floats:
        """The value of log p(true class, labels) of gold items, each by counts without it (g,).

        Leaving an item out changes the rows of its true class only.
        """
        gold, (n_judges, n_classes) = self.gold, self.confusion_akl.shape[:2]
        label_ga = gold_labels(self.annotations, gold)
        said_gal = label_ga[:, :, None] == np.arange(n_classes)
        counts_gal = self.counts_akl[:, gold.truth_g].transpose(1, 0, 2) - said_gal
        counts_gal = np.maximum(counts_gal, 0.0)
        counts_gal += self.prior * self.average_kl[gold.truth_g][:, None]
        row_gal = counts_gal / counts_gal.sum(axis=2, keepdims=True)
        shared_mgl = np.stack(
            [row_gal[:, members].mean(axis=1) for members in self.grouping.members]
        )
        used_a = np.ones(n_judges, dtype=bool) if judges is None else judges
        place, judge = np.nonzero((label_ga >= 0) & used_a)
        said = LabelColumns(place, judge, label_ga[place, judge], len(gold))
        own_n1 = row_gal[place, judge, said.label][:, None]
        log_g1 = labels_log_likelihood(said, self.grouping, own_n1, shared_mgl[:, :, None])
        return np.asarray(log_g1[:, 0] + self.log_prior_k[gold.truth_g])


def fit_panel(ann: Annotations, gold: Gold, no_verdict_k: Bools) -> PanelFit:
    """Fit groups, confusions and the temperature.

    Groups are found on the gold. Confusions are fitted by EM to all items: the truth of gold items
    is known, that of the others has the posterior of the model. If no errors are shared this is
    Dawid-Skene with known truths. If some are, items without gold have less weight, because then
    the model is an approximation: together at most three times that of the gold. Confusions of
    judges are then shrunk to the average as much as the gold says that judges are alike. The
    temperature maximises the probability of the gold, each item by counts without it, with a prior
    around 1.
    """
    gold_counts_akl = _gold_counts(ann, gold)
    average_kl = _average(ann, gold, gold_counts_akl)
    start_akl = _confusions(gold_counts_akl, average_kl, _PRIOR)
    correlation_ab = measure_dependence(ann, gold).correlation
    grouping = find_groups(gold_label_columns(ann, gold), gold.truth_g, start_akl, correlation_ab)
    prior = _PRIOR if grouping.is_independent else _likeness(gold_counts_akl, average_kl)
    weight_i = _weights(ann, gold, grouping)
    log_prior_k = _log_prior(
        np.bincount(gold.truth_g, minlength=ann.n_classes).astype(np.float64), no_verdict_k
    )
    said, first = label_columns(ann), (
        log_prior_k, _confusions(gold_counts_akl, average_kl, prior), gold_counts_akl,
    )  # fmt: skip

    def step(
        state: tuple[Floats, Floats, Floats],
    ) -> tuple[tuple[Floats, Floats, Floats], float]:
        log_k, confusion_akl, _ = state
        log_ik = class_log_likelihood(said, grouping, log_k, confusion_akl)
        posterior_ik, log_i = _posterior(log_ik, gold)
        weighted_ik = weight_i[:, None] * posterior_ik
        counts_akl = _expected_counts(said, weighted_ik, ann)
        objective = float(weight_i @ log_i) + _log_density(log_k, confusion_akl, prior * average_kl)
        after = _log_prior(weighted_ik.sum(axis=0), no_verdict_k)
        return (after, _confusions(counts_akl, average_kl, prior), counts_akl), objective

    run = run_em(first, step, max_iter=_MAX_ITER, tol=_TOL * ann.n_annotations)
    log_prior_k, confusion_akl, counts_akl = run.state
    fit = PanelFit(
        ann, gold, grouping, log_prior_k, confusion_akl, counts_akl, average_kl, prior, 1.0,
        run.objective,
    )  # fmt: skip
    return replace(fit, temperature=_temperature(fit))


def gold_label_columns(ann: Annotations, gold: Gold) -> LabelColumns:
    """The labels of the gold items, by their places in the gold."""
    label_ga = gold_labels(ann, gold)
    place, judge = np.nonzero(label_ga >= 0)
    return LabelColumns(place, judge, label_ga[place, judge], len(gold))


def _gold_counts(ann: Annotations, gold: Gold) -> Floats:
    said = gold_label_columns(ann, gold)
    return confusion_counts(
        said.judge.astype(np.int32), gold.truth_g[said.item], said.label.astype(np.int32),
        ann.n_annotators, ann.n_classes,
    )  # fmt: skip


def _average(ann: Annotations, gold: Gold, counts_akl: Floats) -> Floats:
    """The confusion of an average judge, shrunk towards one whose errors are equally probable.

    Judges who share errors together count as the number of effective judges.
    """
    effective = measure_dependence(ann, gold).effective_judges.value
    total_kl = counts_akl.sum(axis=0) * effective / len(counts_akl)
    accuracy = (np.trace(total_kl) + 1.0) / (total_kl.sum() + 2.0)
    even_kl = symmetric_confusions(np.array([accuracy]), len(total_kl))[0]
    average_kl = total_kl + _SYMMETRIC * np.maximum(even_kl, 1e-9)
    return np.asarray(average_kl / average_kl.sum(axis=1, keepdims=True))


def _likeness(counts_akl: Floats, average_kl: Floats) -> float:
    """The number of pseudo-labels under which the gold labels of all judges are most probable.

    Confusions of judges are drawn around that of all judges together (Dirichlet): the more alike
    judges are, the larger the number.
    """
    pooled_kl = counts_akl.sum(axis=0) + average_kl
    pooled_kl /= pooled_kl.sum(axis=1, keepdims=True)
    n_ak = counts_akl.sum(axis=2)

    def log_likelihood(prior: float) -> float:
        pseudo_kl = prior * pooled_kl
        cells = special.gammaln(counts_akl + pseudo_kl) - special.gammaln(pseudo_kl)
        return float(cells.sum() - (special.gammaln(n_ak + prior) - special.gammaln(prior)).sum())

    return max(_PRIORS, key=log_likelihood)


def _confusions(counts_akl: Floats, average_kl: Floats, prior: float) -> Floats:
    shrunk_akl = counts_akl + prior * average_kl
    return np.asarray(shrunk_akl / shrunk_akl.sum(axis=2, keepdims=True))


def _log_prior(mass_k: Floats, no_verdict_k: Bools) -> Floats:
    """The log class prior with one pseudo-item per class; abstentions are no class of an item."""
    mass_k = np.where(no_verdict_k, 0.0, mass_k + 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(mass_k / mass_k.sum()))


def _log_density(log_prior_k: Floats, confusion_akl: Floats, pseudo_kl: Floats) -> float:
    possible_k = np.isfinite(log_prior_k)
    shrinking = (pseudo_kl * np.log(confusion_akl)).sum()
    return float(shrinking + log_prior_k[possible_k].sum())


def _weights(ann: Annotations, gold: Gold, grouping: Grouping) -> Floats:
    """The weight of every item in the fit: 1 with gold, and up to 1 without."""
    n_others = ann.n_items - len(gold)
    weight = 1.0
    if not grouping.is_independent and n_others:
        weight = min(1.0, _UNLABELLED * len(gold) / n_others)
    weight_i = np.full(ann.n_items, weight)
    weight_i[gold.row_g] = 1.0
    return weight_i


def _posterior(log_ik: Floats, gold: Gold) -> tuple[Floats, Floats]:
    """The posterior of every item, certain for gold; and log p of its labels (and gold)."""
    log_i = np.asarray(special.logsumexp(log_ik, axis=1))
    posterior_ik = np.exp(log_ik - log_i[:, None])
    posterior_ik[gold.row_g] = 0.0
    posterior_ik[gold.row_g, gold.truth_g] = 1.0
    log_i[gold.row_g] = log_ik[gold.row_g, gold.truth_g]
    return posterior_ik, log_i


def _expected_counts(said: LabelColumns, weighted_ik: Floats, ann: Annotations) -> Floats:
    shape = ann.n_annotators, ann.n_classes
    cell_n = said.judge.astype(np.int64) * ann.n_classes + said.label
    weight_nk = weighted_ik[said.item]
    return np.stack(
        [
            np.bincount(cell_n, weight_nk[:, k], shape[0] * shape[1]).reshape(shape)
            for k in range(ann.n_classes)
        ],
        axis=1,
    )


def _temperature(fit: PanelFit) -> float:
    """The temperature that maximises log p(gold) + the log of its prior."""
    p_gk, n_gold = special.softmax(fit.gold_posterior(), axis=1), len(fit.gold)
    truth: Codes = fit.gold.truth_g

    def loss(log_temperature: float) -> float:
        tempered_gk = apply_temperature(p_gk, float(np.exp(log_temperature)))
        prior = 0.5 * (log_temperature / _TEMPERATURE_SPREAD) ** 2
        return n_gold * log_loss(truth, tempered_gk) + prior

    return float(np.exp(minimize_scalar(loss, bounds=_BOUNDS, method="bounded").x))
