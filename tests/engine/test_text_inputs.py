"""Texts and sentences as rows of codes, and batches of them."""

import numpy as np
import torch
from torch import nn

from manyhands.annotations import Annotations
from manyhands.engine.batches import CrowdData, split_items
from manyhands.engine.inputs import TensorInputs, even_parts
from manyhands.engine.task import network_outputs
from manyhands.engine.text import TextInputs, TokenInputs

CPU = torch.device("cpu")
LENGTHS = [3, 1, 4, 2]
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
CODES = torch.arange(2, 12)
VECTORS = torch.arange(24.0).reshape(12, 2)


def labels(items, n_items, annotators=2):
    said = np.arange(len(items)) % 3
    who = np.arange(len(items)) % annotators
    return Annotations.from_arrays(items, who, said, items=np.arange(n_items), classes=[0, 1, 2])


def test_texts_are_padded_to_the_longest_of_those_asked_for():
    inputs = TextInputs(CODES, OFFSETS, VECTORS)
    assert len(inputs) == 4
    assert inputs.rows(torch.tensor([1, 0])).tolist() == [[5, 0, 0], [2, 3, 4]]
    assert inputs.rows(torch.tensor([1])).tolist() == [[5]]
    seen = inputs.noise_features(inputs.rows(torch.tensor([1, 0])))
    torch.testing.assert_close(seen, torch.stack([VECTORS[5], VECTORS[2:5].mean(dim=0)]))


def test_an_empty_text_is_a_row_of_nothing():
    inputs = TextInputs(CODES, np.array([0, 0, 10]), VECTORS)
    assert inputs.rows(torch.tensor([0])).tolist() == [[0]]
    assert inputs.noise_features(inputs.rows(torch.tensor([0]))).tolist() == [[0.0, 0.0]]


def test_tokens_bring_their_sentences_along():
    inputs = TokenInputs(CODES, OFFSETS, VECTORS)
    assert len(inputs) == 10
    assert inputs.rows(torch.tensor([3, 0, 2])).tolist() == [[5, 0, 0], [2, -3, 4]]
    assert (
        inputs.noise_features(inputs.rows(torch.tensor([3, 0, 2]))).tolist()
        == VECTORS[[5, 2, 4]].tolist()
    )


def test_batches_hold_whole_sentences_and_the_labels_of_their_tokens():
    ann = labels([0, 0, 2, 3, 5, 8, 9, 9], 10)
    crowd = CrowdData(TokenInputs(CODES, OFFSETS, VECTORS), ann, CPU)
    assert crowd.labelled.tolist() == [0, 2, 3, 5, 8, 9]
    found = []
    batches = list(crowd.batches(crowd.labelled, 3))
    assert [len(batch.items) for batch in batches] == [3, 3]
    for batch in batches:
        assert (batch.inputs > 0).sum() == len(batch.items)
        assert (batch.inputs[batch.inputs > 0] == batch.items + 2).all()
        item = batch.items[batch.annotations.row]
        found += list(zip(item.tolist(), batch.annotations.annotator.tolist(), strict=True))
    assert sorted(found) == sorted(zip(ann.item.tolist(), ann.annotator.tolist(), strict=True))


def test_an_epoch_sees_every_labelled_token_once_and_sentences_stay_whole():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 30, size=200)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    inputs = TokenInputs(torch.ones(offsets[-1], dtype=torch.long), offsets, VECTORS)
    tokens = np.flatnonzero(rng.uniform(size=offsets[-1]) < 0.9)
    crowd = CrowdData(inputs, labels(tokens, offsets[-1]), CPU)
    order = crowd.shuffled(np.random.default_rng(1), 8)
    assert sorted(order) == tokens.tolist()
    sentence = inputs.sentence_of[order]
    assert len(inputs.boundaries(order)) - 1 == len(np.unique(sentence))
    assert order.tolist() != tokens.tolist()
    again = crowd.shuffled(np.random.default_rng(2), 8)
    assert again.tolist() != order.tolist()


def test_batches_of_an_epoch_are_of_similar_lengths():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 100, size=640)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    inputs = TextInputs(torch.ones(offsets[-1], dtype=torch.long), offsets, VECTORS)
    crowd = CrowdData(inputs, labels(np.arange(640), 640), CPU)
    order = crowd.shuffled(np.random.default_rng(1), 32)
    cells = sum(batch.inputs.numel() for batch in crowd.batches(order, 32))
    drawn = sum(batch.inputs.numel() for batch in crowd.batches(rng.permutation(640), 32))
    assert cells < 1.1 * lengths.sum() < 0.7 * drawn


def test_items_without_lengths_are_shuffled_as_ever():
    from manyhands.engine.inputs import TensorInputs

    crowd = CrowdData(TensorInputs(torch.zeros(50, 2)), labels(np.arange(50), 50), CPU)
    found = crowd.shuffled(np.random.default_rng(3), 8)
    assert found.tolist() == np.random.default_rng(3).permutation(50).tolist()


def test_whole_sentences_are_kept_aside():
    ann = labels(np.arange(10), 10)
    inputs = TokenInputs(CODES, OFFSETS, VECTORS)
    kept, held = split_items(ann, inputs.boundaries(np.arange(10)), 0.5, 0)
    assert kept.n_annotations + held.n_annotations == 10
    inside, validation_unit = (set(inputs.sentence_of[part.item].tolist()) for part in (kept, held))
    assert len(inside) == len(validation_unit) == 2
    assert not inside & validation_unit
    whole, none = split_items(ann, inputs.boundaries(np.arange(10)), 0.0, 0)
    assert whole is ann
    assert none is None


class Codes(nn.Module):
    """A network that says the code of every word asked for."""

    def forward(self, code_bt):
        return code_bt[code_bt > 0].float().unsqueeze(1)


def test_looking_goes_by_length_and_comes_back_in_order():
    tokens = TokenInputs(CODES, OFFSETS, VECTORS)
    assert tokens.by_length(np.arange(10)).tolist() == [3, 8, 9, 0, 1, 2, 4, 5, 6, 7]
    labelled = [0, 2, 3, 5, 8, 9]
    assert tokens.by_length(np.array(labelled)).tolist() == [2, 4, 5, 0, 1, 3]
    found = network_outputs(Codes(), CrowdData(tokens, labels(labelled, 10), CPU))
    assert found.squeeze(1).tolist() == [code + 2 for code in labelled]
    plain = TensorInputs(torch.zeros(3, 1))
    assert plain.by_length(np.array([2, 0, 1])).tolist() == [0, 1, 2]


def test_a_long_sentence_stands_alone():
    length_u = np.array([2] * 150 + [4000])
    edges = np.concatenate([[0], np.cumsum(length_u)])
    parts = even_parts(edges, 1024, length_u)
    assert parts[-1] == (150, 151)
    assert [first for first, _ in parts[1:]] == [last for _, last in parts[:-1]]
    assert even_parts(edges[:151], 1024, length_u[:150]) == [(0, 150)]
    similar = np.arange(20, 40)
    edges = np.concatenate([[0], np.cumsum(similar)])
    assert even_parts(edges, 100, similar) == even_parts(edges, 100)


def test_a_batch_of_long_texts_fits_into_memory():
    length_u = np.full(1024, 1000)
    parts = even_parts(np.arange(1025), 1024, length_u)
    assert max(last - first for first, last in parts) * 1000 <= 1 << 18
    assert (parts[0][0], parts[-1][1]) == (0, 1024)
    assert even_parts(np.arange(65), 64, length_u[:64]) == [(0, 64)]
