"""EBCC: the bound, the steps, crowds whose mistakes depend on the item, and nameless draws."""

import numpy as np
import pytest
from scipy.special import gammaln, psi
from scipy.stats import dirichlet

from manyhands.aggregation import DawidSkene, Ebcc, Majority
from manyhands.aggregation.evidence import gather_evidence, majority_posterior
from manyhands.aggregation.kernels.dirichlet_rows import expect_logs
from manyhands.aggregation.kernels.nameless_draws import draw_shares, fingerprints
from manyhands.annotations import Annotations
from random_tables import random_labels


class DenseEbcc:
    """The model with every distribution written out, on arrays (items, annotators, labels)."""

    def __init__(self, annotations, known=None, right=4.0, wrong=1.0, tau=0.1, pi=1.0):
        self.known = known or {}
        self.pi, self.tau = pi, tau
        self.b_kl = np.where(np.eye(annotations.n_classes) > 0, right, wrong)
        self.y_ial = np.zeros((annotations.n_items, annotations.n_annotators, len(self.b_kl)))
        np.add.at(self.y_ial, (annotations.item, annotations.annotator, annotations.label), 1.0)

    def parameters(self, q_ikm):
        """Pseudo-counts of the posteriors of pi (k), tau (k, m) and V (a, k, m, l)."""
        counts = np.einsum("ikm,ial->akml", q_ikm, self.y_ial)
        mass_km = q_ikm.sum(axis=0)
        return mass_km.sum(axis=1) + self.pi, mass_km + self.tau, counts + self.b_kl[:, None]

    def items(self, pi_k, tau_km, v_akml):
        """The posterior of classes and subtypes."""
        score = np.einsum("ial,akml->ikm", self.y_ial, log_mean(v_akml))
        score += log_mean(pi_k)[:, None] + log_mean(tau_km)
        for i, k in self.known.items():
            score[i, np.arange(len(pi_k)) != k] = -np.inf
        q = np.exp(score - score.max(axis=(1, 2), keepdims=True))
        return q / q.sum(axis=(1, 2), keepdims=True)

    def bound(self, q_ikm, pi_k, tau_km, v_akml):
        """E log p(everything) - E log q."""
        total = np.einsum("ikm,ial,akml->", q_ikm, self.y_ial, log_mean(v_akml))
        total += (q_ikm * (log_mean(pi_k)[:, None] + log_mean(tau_km))).sum()
        total -= (q_ikm * np.log(np.where(q_ikm > 0, q_ikm, 1.0))).sum()
        total += gain(pi_k, np.full_like(pi_k, self.pi))
        for tau_m in tau_km:
            total += gain(tau_m, np.full_like(tau_m, self.tau)) if len(tau_m) > 1 else 0.0
        for v_kml in v_akml:
            total += sum(gain(v, self.b_kl[k]) for k in range(len(v_kml)) for v in v_kml[k])
        return total


def log_mean(pseudo):
    return psi(pseudo) - psi(pseudo.sum(axis=-1, keepdims=True))


def gain(posterior, prior):
    """E log p - E log q of a Dirichlet q; the entropy is that of scipy."""
    log_p = ((prior - 1) * log_mean(posterior)).sum() + gammaln(prior.sum()) - gammaln(prior).sum()
    return log_p + dirichlet(posterior).entropy()


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("n_subtypes", [1, 2, 4])
@pytest.mark.parametrize("with_known", [False, True])
def test_bound_and_steps_are_those_of_dense_arrays(n_classes, n_subtypes, with_known):
    annotations = Annotations.from_arrays(*random_labels(n_subtypes, n_classes=n_classes))
    known = {0: n_classes - 1, 3: 0} if with_known else {}
    rows = annotations.item_vocabulary.codes(known)
    dense = DenseEbcc(annotations, dict(zip(rows.tolist(), known.values(), strict=True)))
    settings = {"n_subtypes": n_subtypes, "tol": 0.0}
    short = Ebcc(max_iter=4, **settings).fit(annotations, known)
    longer = Ebcc(max_iter=5, **settings).fit(annotations, known)

    before = short.parameters
    state = (
        before.mass_km.sum(axis=1) + 1.0,
        before.mass_km + 0.1,
        before.counts_alkm.transpose(0, 2, 3, 1) + dense.b_kl[:, None],
    )
    q_ikm = dense.items(*state)
    _, tau_km, v_akml = dense.parameters(q_ikm)

    np.testing.assert_allclose(short.probabilities, q_ikm.sum(axis=2), atol=1e-9)
    assert longer.objective[-1] == pytest.approx(dense.bound(q_ikm, *state), rel=1e-9)
    np.testing.assert_allclose(longer.parameters.mass_km, tau_km - 0.1, atol=1e-8)
    np.testing.assert_allclose(
        longer.parameters.counts_alkm.transpose(0, 2, 3, 1) + dense.b_kl[:, None], v_akml, atol=1e-8
    )
    share_km = tau_km / tau_km.sum(axis=1, keepdims=True)
    mean_akml = v_akml / v_akml.sum(axis=3, keepdims=True)
    confusion = np.einsum("km,akml->akl", share_km, mean_akml)
    np.testing.assert_allclose(longer.confusion, confusion, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_one_subtype_is_bayesian_dawid_skene(seed):
    annotations = Annotations.from_arrays(*random_labels(seed))
    dense = DenseEbcc(annotations)
    q_ikm = majority_posterior(gather_evidence(annotations))[:, :, None]
    bounds = []
    for _ in range(7):
        state = dense.parameters(q_ikm)
        q_ikm = dense.items(*state)
        bounds.append(dense.bound(q_ikm, *state))
    ours = Ebcc(n_subtypes=1, n_restarts=3, tol=0.0, max_iter=6).fit(annotations)
    np.testing.assert_allclose(ours.probabilities, q_ikm[:, :, 0], atol=1e-9)
    np.testing.assert_allclose(ours.objective, bounds[:6], rtol=1e-9)


RIGHT_MA = np.array([[0.95] * 4 + [0.8] * 8, [0.1] * 4 + [0.8] * 8])  # easy items, hard items
HARD = 0.3


def crowd_with_hard_items(seed, n_items=1500):
    """Four annotators are wrong together on hard items; eight are fair on all of them."""
    rng = np.random.default_rng(seed)
    truth_i, hard_i = rng.integers(2, size=n_items), rng.random(n_items) < HARD
    right_ia = rng.random((n_items, 12)) < RIGHT_MA[hard_i.astype(int)]
    return Annotations.from_dense(
        np.where(right_ia, truth_i[:, None], 1 - truth_i[:, None])
    ), truth_i


def best_guess(annotations):
    """The more probable class of every item under the parameters that drew the labels."""
    label_ia = annotations.label.reshape(annotations.n_items, 12)
    likelihood_k = []
    for k in range(2):
        p_mia = np.where(label_ia == k, RIGHT_MA[:, None], 1 - RIGHT_MA[:, None])
        likelihood_k.append(np.array([1 - HARD, HARD]) @ p_mia.prod(axis=2))
    return np.argmax(likelihood_k, axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_mistakes_that_annotators_share_do_not_mislead(seed):
    annotations, truth_i = crowd_with_hard_items(seed)
    right = {
        model.name: (model.fit(annotations).labels == truth_i).mean()
        for model in (Ebcc(), DawidSkene(), Majority())
    }
    assert right["ebcc"] > right["dawid-skene"] + 0.015
    assert right["ebcc"] > right["majority"] + 0.04
    assert right["ebcc"] > (best_guess(annotations) == truth_i).mean() - 0.01


def test_subtypes_are_those_of_the_items():
    annotations, _ = crowd_with_hard_items(0, n_items=4000)
    consensus = Ebcc(n_subtypes=2).fit(annotations)
    mass_km = consensus.parameters.mass_km
    share_km = np.sort(mass_km / mass_km.sum(axis=1, keepdims=True), axis=1)
    np.testing.assert_allclose(share_km[:, 0], HARD, atol=0.03)
    right_a = np.array([1 - HARD, HARD]) @ RIGHT_MA
    found_ak = np.einsum("akk->ak", consensus.confusion)
    np.testing.assert_allclose(found_ak, np.stack([right_a, right_a], axis=1), atol=0.04)


def test_more_starts_never_end_lower():
    annotations = Annotations.from_arrays(*random_labels(4, n_items=40, n_annotations=200))
    ends = [Ebcc(n_restarts=n).fit(annotations).objective[-1] for n in (1, 3, 9)]
    assert ends[0] <= ends[1] <= ends[2]
    assert ends[0] < ends[2], "starts differ"


def test_items_with_the_same_labels_have_the_same_probabilities():
    annotations, _ = crowd_with_hard_items(1, n_items=60)
    columns = (annotations.item, annotations.annotator, annotations.label)
    twice = [np.concatenate([each, each]) for each in columns]
    twice[0][len(columns[0]) :] += annotations.n_items
    probabilities = Ebcc().fit(Annotations.from_arrays(*twice)).probabilities
    np.testing.assert_allclose(probabilities[:60], probabilities[60:], atol=1e-9)


def test_many_annotators_with_one_label_each_finish():
    rng = np.random.default_rng(0)
    n = 50_000
    truth_i = rng.integers(2, size=n // 5)
    item = np.repeat(np.arange(n // 5), 5)
    label = np.where(rng.random(n) < 0.75, truth_i[item], 1 - truth_i[item])
    consensus = Ebcc(max_iter=10).fit(Annotations.from_arrays(item, np.arange(n), label))
    assert (consensus.labels == truth_i).mean() > 0.88


def test_expected_logs_are_those_of_dirichlet_distributions():
    rng = np.random.default_rng(0)
    prior_lk = rng.uniform(0.05, 5.0, (3, 4))
    counts_alk = rng.gamma(0.3, 20.0, (6, 3, 4)) * (rng.random((6, 3, 4)) < 0.5)
    counts_alk[2] = 0.0
    log_alk, divergence = expect_logs(counts_alk, prior_lk)
    posterior_akl = (counts_alk + prior_lk).transpose(0, 2, 1)
    np.testing.assert_allclose(log_alk.transpose(0, 2, 1), log_mean(posterior_akl), atol=1e-8)
    gains = [gain(posterior_akl[a, k], prior_lk[:, k]) for a in range(6) for k in range(4)]
    assert divergence == pytest.approx(-sum(gains), abs=1e-7)


def test_fingerprints_follow_items_and_classes_through_every_renaming():
    item, annotator, label = random_labels(0, n_items=30, n_annotations=150)
    rng = np.random.default_rng(1)
    new_item, new_annotator, new_class = (rng.permutation(n) for n in (30, 5, 3))
    order = rng.permutation(len(item))
    known = {0: 1, 7: 2}
    before = fingerprints(gather_evidence(Annotations.from_arrays(item, annotator, label), known))
    moved = Annotations.from_arrays(
        new_item[item][order], new_annotator[annotator][order], new_class[label][order]
    )
    moved_known = {new_item[i]: new_class[k] for i, k in known.items()}
    after = fingerprints(gather_evidence(moved, moved_known))
    np.testing.assert_array_equal(after[0][new_item], before[0])
    np.testing.assert_array_equal(after[1][new_class], before[1])
    assert len(set(before[0].tolist())) == 30
    assert len(set(before[1].tolist())) == 3


def test_drawn_shares_are_evenly_distributed_and_depend_on_the_seed():
    item_i, class_k = np.arange(5000, dtype=np.uint64), np.arange(2, dtype=np.uint64)
    shares, other = (draw_shares(item_i, class_k, 4, seed) for seed in (0, 1))
    np.testing.assert_allclose(shares.sum(axis=2), 1.0, atol=1e-12)
    flat = shares.reshape(-1, 4)
    np.testing.assert_allclose(flat.mean(axis=0), 0.25, atol=0.01)
    covariance = np.cov(flat.T)
    np.testing.assert_allclose(covariance, dirichlet(np.ones(4)).cov(), atol=0.003)
    assert abs(np.corrcoef(shares.ravel(), other.ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(shares[:, 0, 0], shares[:, 1, 0])[0, 1]) < 0.05
