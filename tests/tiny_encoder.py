"""A tiny encoder of transformers with random weights, and reviews that it can learn."""

import numpy as np
import tokenizers
import transformers
from tokenizers import models, normalizers, pre_tokenizers, processors

import manyhands as mh

WORDS = ["a", "film", "the", "was", "play", "good", "bad", "book", "##s", "##ing"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
LONGEST = 24


def write_encoder(folder, *, special=True, n_layers=1):
    """A BERT of 16 hidden units with its tokenizer; without `special` it has no special tokens."""
    names = [*SPECIAL, *WORDS]
    codes = {name: code for code, name in enumerate(names)}
    made = tokenizers.Tokenizer(models.WordPiece(codes, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokens = {"unk_token": "[UNK]"}
    if special:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
        tokens |= {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **tokens).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(names), hidden_size=16, num_hidden_layers=n_layers, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=LONGEST, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, pad_token_id=0 if special else None,
    )  # fmt: skip
    transformers.set_seed(0)
    with_bars = transformers.utils.logging
    with_bars.disable_progress_bar()
    transformers.BertModel(config).save_pretrained(folder)
    return f"hf:{folder}"


def reviews(n_items=32):
    """Texts, of which the even ones are good, with the labels of three annotators."""
    rng = np.random.default_rng(0)
    texts = []
    for item in range(n_items):
        others = rng.choice(["a", "film", "the", "was", "playing"], rng.integers(1, 5)).tolist()
        texts.append(" ".join([*others, "bad" if item % 2 else "good"]))
    truth = np.arange(n_items) % 2
    label = np.where(rng.random((n_items, 3)) < 0.1, 1 - truth[:, None], truth[:, None])
    return texts, mh.Annotations.from_dense(label), truth
