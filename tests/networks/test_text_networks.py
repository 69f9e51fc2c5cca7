"""Networks over words: padding changes nothing, context words count."""

import numpy as np
import pytest
import torch

from manyhands.core.errors import DataError, SettingError
from manyhands.networks import NETWORKS, Tagger, TextCNN
from manyhands.networks.catalog import WORD_NETWORKS
from manyhands.networks.text import WordEmbeddings


def text_cnn(**settings):
    torch.manual_seed(0)
    return TextCNN(50, 8, 3, **settings).eval()


def tagger(**settings):
    torch.manual_seed(0)
    return Tagger(50, 8, 5, **settings).eval()


def padded(texts, width):
    return torch.tensor([text + [0] * (width - len(text)) for text in texts])


TEXTS = [[5, 9, 3, 4, 4, 4, 30, 2], [7], [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]]


@pytest.mark.parametrize("width", [13, 14, 29, 60])
def test_a_text_in_a_padded_batch_is_the_text_alone(width):
    network = text_cnn()
    together = network(padded(TEXTS, width))
    alone = torch.cat([network(torch.tensor([text])) for text in TEXTS])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-6)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("width", [13, 40])
def test_a_sentence_in_a_padded_batch_is_the_sentence_alone(width, bidirectional):
    network = tagger(bidirectional=bidirectional)
    together = network(padded(TEXTS, width))
    alone = torch.cat([network(torch.tensor([text])) for text in TEXTS])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-6)


def test_words_that_are_only_read_count_for_their_neighbours():
    network = tagger()
    whole = network(torch.tensor([[5, 9, 3, 4]]))
    some = network(torch.tensor([[5, -9, 3, -4]]))
    torch.testing.assert_close(some, whole[[0, 2]])
    other = network(torch.tensor([[5, -8, 3, -4]]))
    assert not torch.allclose(some, other)


@pytest.mark.parametrize("make", [text_cnn, tagger])
def test_the_vector_of_no_word_has_no_gradient_and_others_do(make):
    network = make()
    network(padded(TEXTS, 20)).square().sum().backward()
    gradient = network.words.weight.grad
    assert (gradient[0] == 0).all()
    assert (gradient[5] != 0).any()
    for name, each in network.named_parameters():
        assert each.grad is not None, name
        assert (each.grad != 0).any(), name


@pytest.mark.parametrize("make", [text_cnn, tagger])
@pytest.mark.parametrize("setting", [{"hidden": 0}, {"dropout": 1.0}])
def test_sizes_are_checked(make, setting):
    with pytest.raises(SettingError, match=next(iter(setting))):
        make(**setting)


@pytest.mark.parametrize("name", WORD_NETWORKS)
def test_networks_over_words_are_made_for_the_table_of_words(name):
    network = NETWORKS[name]((50, 8), 5)
    assert network.words.weight.shape == (50, 8)
    with pytest.raises(DataError, match="this network reads words"):
        NETWORKS[name]((7,), 5)


def test_words_start_from_their_vectors():
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    table = WordEmbeddings.build(["Cat", "dog", "emu"], ["cat", "dog"], vectors)
    words = np.array(["Cat", "dog", "cat", "emu", "DOG", "?"], dtype=object)
    assert table.encode(words).tolist() == [2, 3, 1, 4, 3, 1]
    np.testing.assert_array_equal(table.vectors[[0, 2, 3]], [[0, 0, 0], [0, 1, 2], [3, 4, 5]])
    np.testing.assert_allclose(table.vectors[1], table.vectors[2:].mean(axis=0), rtol=1e-6)
    assert 0 < np.abs(table.vectors[4]).max() < 1


def test_a_table_of_no_words_knows_none():
    table = WordEmbeddings.build([], embedding_dim=4)
    assert len(table) == 2
    assert table.encode(np.array(["a"], dtype=object)).tolist() == [1]
    assert table.encode(np.array([], dtype=object)).tolist() == []
