"""Transitions between tags: sums over all sequences, their gradients, and what they reduce to."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from manyhands.core.errors import DataError
from manyhands.engine.batches import CrowdBatch
from manyhands.engine.chains import Chains, TokenPlaces, label_evidence, log_partition
from manyhands.engine.classification import ClassificationModule
from manyhands.networks.tag_transitions import TagTransitions, add_transitions
from manyhands.noise import NOISE, AnnotationBatch

TAGS = ["O", "B-X", "I-X"]
N_TAGS, N_ANNOTATORS = 3, 4
# Sentences of 3, 1 and 4 tokens; token 5 of the last one is not in the batch.
STARTS = np.array([True, False, False, True, True, False, False, False])
ITEMS = np.array([0, 1, 2, 3, 4, 6, 7])
CHAINS = [([0, 1, 2], True, True), ([3], True, True), ([4], True, False), ([5, 6], False, True)]


def drawn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def links_of(kind, seed=1):
    links = TagTransitions(TAGS, kind).double()
    if kind != "bio":
        with torch.no_grad():
            for number, each in enumerate(links.parameters()):
                each.copy_(drawn(*each.shape, seed=seed + number))
    return links


def chains_of(kind, outputs=None):
    outputs = drawn(len(ITEMS), N_TAGS) if outputs is None else outputs
    return Chains(outputs, TokenPlaces.of(STARTS, ITEMS), links_of(kind))


def sequences(chain):
    """All tag sequences of a chain with their scores, by enumeration."""
    pair, start, end = chain.links.scores()
    for rows, begins, ends in CHAINS:
        found = {}
        for tags in product(range(N_TAGS), repeat=len(rows)):
            score = sum(chain.score_bk[row, tag] for row, tag in zip(rows, tags, strict=True))
            score = score + sum(pair[j, k] for j, k in pairwise(tags))
            score = score + (start[tags[0]] if begins else 0) + (end[tags[-1]] if ends else 0)
            found[tags] = score
        yield rows, found


@pytest.mark.parametrize("kind", ["bio", "learned", "learned-bio"])
def test_sums_and_marginals_are_those_of_all_sequences(kind):
    chain = chains_of(kind)
    expected = torch.zeros(len(ITEMS), N_TAGS, dtype=torch.float64)
    sums = []
    for rows, found in sequences(chain):
        scores = torch.stack(list(found.values())).detach()
        sums.append(scores.logsumexp(0))
        for tags, share in zip(found, scores.softmax(0), strict=True):
            for row, tag in zip(rows, tags, strict=True):
                expected[row, tag] += share
    torch.testing.assert_close(chain.log_partition(chain.score_bk)[0], torch.stack(sums))
    torch.testing.assert_close(chain.log_marginals().exp(), expected, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("kind", ["bio", "learned", "learned-bio"])
def test_the_likelihood_of_labels_is_the_sum_over_hidden_sequences(kind):
    chain, evidence = chains_of(kind), drawn(len(ITEMS), N_TAGS, seed=5)
    expected = 0.0
    for rows, found in sequences(chain):
        free = torch.stack(list(found.values()))
        given = [
            sum(evidence[row, tag] for row, tag in zip(rows, tags, strict=True)) for tags in found
        ]
        expected += (free + torch.stack(given)).logsumexp(0) - free.logsumexp(0)
    torch.testing.assert_close(chain.log_likelihood(evidence), expected)


@pytest.mark.parametrize("kind", ["bio", "learned", "learned-bio"])
def test_the_cross_entropy_is_that_of_sequences_restricted_to_allowed_ones(kind):
    chain, target = chains_of(kind), drawn(len(ITEMS), N_TAGS, seed=6).softmax(dim=1)
    expected = 0.0
    for rows, found in sequences(chain):
        scores = torch.stack(list(found.values()))
        q = [torch.stack([target[row, tag] for row, tag in zip(rows, tags, strict=True)]).prod()
             for tags in found]  # fmt: skip
        q = torch.stack(q) * (scores > -1e3)
        q = q / q.sum()
        expected -= (q * (scores - scores.logsumexp(0))).sum()
    torch.testing.assert_close(chain.cross_entropy(target), expected, rtol=1e-7, atol=1e-7)


def test_gradients_are_finite_differences():
    links = links_of("learned-bio")
    places = TokenPlaces.of(STARTS, ITEMS)

    def losses(outputs, evidence, transition, start, end):
        chain = Chains(outputs, places, links)
        chain.pair_kk = transition.masked_fill(~links.allowed, -1e4)
        chain.start_k, chain.end_k = start.masked_fill(~links.allowed_first, -1e4), end
        target = drawn(len(ITEMS), N_TAGS, seed=6).softmax(dim=1)
        marginals = chain.log_marginals(differentiable=True).exp()
        return chain.log_likelihood(evidence), chain.cross_entropy(target), marginals

    given = (
        drawn(len(ITEMS), N_TAGS), drawn(len(ITEMS), N_TAGS, seed=5),
        *(each.detach().clone() for each in links.parameters()),
    )  # fmt: skip
    assert torch.autograd.gradcheck(losses, [each.requires_grad_() for each in given])


class Looked(torch.nn.Module):
    """Outputs that are parameters, one row per input."""

    def __init__(self, n_rows, seed=0):
        super().__init__()
        self.table = torch.nn.Parameter(drawn(n_rows, N_TAGS, seed=seed).float())

    def forward(self, rows):
        return self.table[rows]


def noise_of(name, seed=0):
    torch.manual_seed(seed)
    layer = NOISE[name](N_ANNOTATORS, N_TAGS, n_features=2)
    confusion = np.random.default_rng(seed).dirichlet(np.ones(N_TAGS), (N_ANNOTATORS, N_TAGS))
    layer.init_from_confusions(0.5 * np.eye(N_TAGS) + 0.5 * confusion)
    layer.outputs_checked = True
    return layer


def batch_of(items, per_token=1, seed=0):
    """A batch of tokens with labels that depend on their codes alone."""
    rng = np.random.default_rng(seed)
    who, said = (rng.integers(0, high, (len(STARTS), 2)) for high in (N_ANNOTATORS, N_TAGS))
    row = np.repeat(np.arange(len(items)), per_token)
    annotator, label = (each[items, :per_token].ravel() for each in (who, said))
    features = torch.from_numpy(rng.normal(size=(len(STARTS), 2))[items]).float()
    given = AnnotationBatch(*map(torch.from_numpy, (row, annotator, label)), features)
    places = TokenPlaces.of(STARTS, items)
    return CrowdBatch(torch.from_numpy(items), torch.from_numpy(items), given, places=places)


def module_of(name, kind, *, on_targets=False):
    network = add_transitions(Looked(len(STARTS)), TAGS, kind)
    targets = drawn(len(STARTS), N_TAGS, seed=8).softmax(dim=1).float()
    return ClassificationModule(network, noise_of(name), targets, on_targets=on_targets)


MIXTURES = ["speelfc", "trace-reg", "speelfc-d", "geocrowdnet"]


@pytest.mark.parametrize("name", MIXTURES)
def test_without_scores_the_loss_of_single_labels_is_the_one_without_transitions(name):
    batch = batch_of(np.arange(len(STARTS)))
    plain, chained = module_of(name, "none").eval(), module_of(name, "learned").eval()
    torch.testing.assert_close(chained(batch).float(), plain(batch))
    torch.testing.assert_close(chained.predict_labels(batch)[1], plain.predict_labels(batch)[1])


def test_without_scores_several_labels_are_those_of_one_hidden_tag():
    batch = batch_of(np.arange(len(STARTS)), per_token=2)
    module = module_of("speelfc", "learned")
    log_class = module.network(batch.inputs).log_softmax(-1)
    evidence = label_evidence(module.noise, batch.annotations, len(batch.items))
    expected = -(log_class + evidence).logsumexp(dim=1).sum() / len(batch.annotations)
    penalty = module.noise.penalty(batch.annotations.annotator)
    torch.testing.assert_close(module(batch).float(), expected + penalty)


def test_without_scores_the_loss_of_targets_is_the_cross_entropy():
    batch = batch_of(np.arange(len(STARTS)))
    plain = module_of("speelfc", "none", on_targets=True)
    chained = module_of("speelfc", "learned", on_targets=True)
    torch.testing.assert_close(chained(batch).float(), plain(batch))


@pytest.mark.parametrize("name", list(NOISE))
@pytest.mark.parametrize("kind", ["bio", "learned-bio"])
def test_gradients_reach_the_network_and_every_annotator_model(name, kind):
    module = module_of(name, kind)
    module(batch_of(np.arange(len(STARTS)), per_token=2)).backward()
    for path, each in module.named_parameters():
        assert each.grad is not None, path
        assert each.grad.to_dense().isfinite().all(), path
    assert module.network.table.grad.abs().sum() > 0


@pytest.mark.parametrize("on_targets", [False, True])
def test_a_batch_split_in_two_gives_the_same_gradient(on_targets):
    whole = np.arange(len(STARTS))
    gradients = []
    for parts in ([whole], [whole[:4], whole[4:]]):
        module = module_of("speelfc", "learned-bio", on_targets=on_targets)
        module.noise.set_label_counts(np.zeros(N_ANNOTATORS, dtype=np.int64))
        for part in parts:
            (module(batch_of(part)) * len(part) / len(whole)).backward()
        gradients.append({n: p.grad for n, p in module.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    for name, each in gradients[0].items():
        if not name.startswith("noise"):  # priors are estimated on the annotators of a batch
            torch.testing.assert_close(gradients[1][name], each, msg=name)


def test_padding_changes_nothing():
    chain = chains_of("learned-bio")
    score = torch.nn.functional.pad(chain.score_bk[chain.row_ct], (0, 0, 0, 3), value=7.0)
    there = torch.nn.functional.pad(chain.there_ct, (0, 3))
    padded = log_partition(score, there, chain.pair_kk, chain.start_ck, chain.end_ck)
    torch.testing.assert_close(padded, chain.log_partition(chain.score_bk)[0])


def test_permuting_tags_permutes_the_marginals():
    order = [2, 0, 1]
    chain = chains_of("learned-bio")
    links = TagTransitions([TAGS[k] for k in order], "learned-bio").double()
    with torch.no_grad():
        links.transition.copy_(chain.links.transition[order][:, order])
        links.start.copy_(chain.links.start[order])
        links.end.copy_(chain.links.end[order])
    other = Chains(chain.score_bk[:, order], TokenPlaces.of(STARTS, ITEMS), links)
    torch.testing.assert_close(other.log_marginals(), chain.log_marginals()[:, order])


def test_a_label_that_is_not_valid_teaches_the_nearest_valid_tags():
    links = TagTransitions(TAGS, "bio")
    outputs = torch.zeros(2, N_TAGS, requires_grad=True)
    target = torch.eye(N_TAGS)[[0, 2]]  # O, then I-X
    places = TokenPlaces.of(np.array([True, False]), np.arange(2))
    loss = Chains(outputs, places, links).cross_entropy(target)
    loss.backward()
    # Of the five valid sequences, O O, O B-X and B-X I-X differ from it by one tag.
    assert loss.item() == pytest.approx(np.log(5), abs=1e-6)
    nearest = torch.tensor([[2 / 3, 1 / 3, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    possible = torch.tensor([[2 / 5, 3 / 5, 0.0], [2 / 5, 2 / 5, 1 / 5]])
    torch.testing.assert_close(outputs.grad, possible - nearest, atol=1e-6, rtol=1e-5)


def test_tags_that_are_not_bio_have_no_rule():
    with pytest.raises(DataError, match="'verb' is not O, B-TYPE or I-TYPE"):
        TagTransitions(["noun", "verb"][::-1], "bio")
    assert TagTransitions(["noun", "verb"], "learned").allowed.all()


def test_tokens_are_needed():
    module = module_of("speelfc", "learned")
    batch = batch_of(np.arange(3))
    batch.places = None
    with pytest.raises(DataError, match="for tokens of sentences"):
        module(batch)
