"""Tiny corpora of texts and images in the formats of the public ones, and encoders for them."""

import io
import json
import tarfile

import numpy as np
from PIL import Image
from tiny_corpora import TEST, TRAIN, tiny_crowd, write_labelme, write_sentiment

COLOURS = [(220, 20, 20), (20, 220, 20), (20, 20, 220)]
WORDS = ("good", "bad")


def write_texts(home):
    """Sentence polarity with its sentences, LabelMe with its images, and two corpora of LeWiDi."""
    for name in ("sentiment", "labelme"):
        (home / name).mkdir(parents=True, exist_ok=True)
    write_sentences(home / "sentiment")
    write_labelme_images(home / "labelme")
    write_lewidi(home / "lewidi_2023", "MD-Agreement", {0: 0, 1: 1})
    write_lewidi(home / "lewidi_2023", "ConvAbuse", {0: 1, 1: -2}, dialogues=True)


def write_sentences(home):
    write_sentiment(home)
    truth, _, _ = tiny_crowd(2, 2)
    texts = [f"the film was {WORDS[each]}" for each in truth]
    (home / "Sentiment_text_train.txt").write_text("\n".join(texts[:TRAIN]) + "\n")
    rows = [f"{texts[i]},{truth[i]}" for i in range(TRAIN, TRAIN + TEST)]
    head = "Input.original_sentence,Input.true_sent"
    (home / "test_answer.csv").write_text("\n".join([head, *rows]) + "\n")


def write_labelme_images(home):
    """Images of one colour for each class; the archive has them in another order than the lists."""
    write_labelme(home)
    truth, _, _ = tiny_crowd(3, 0)
    parts = {"train": range(TRAIN), "valid": range(TRAIN, TRAIN + TEST)}
    parts["test"] = parts["valid"]
    with tarfile.open(home / "images_128px.tar", "w") as archive:
        for part, items in parts.items():
            names = [f"scene_{item}.jpg" for item in items]
            (home / f"filenames_{part}.txt").write_text("\n".join(names) + "\n")
            for item in reversed(items):
                add_image(archive, f"jpg128/{part}/c{truth[item]}/scene_{item}.jpg", truth[item])


def add_image(archive, name, colour):
    stream = io.BytesIO()
    Image.new("RGB", (32, 32), COLOURS[colour]).save(stream, "JPEG")
    member = tarfile.TarInfo(name)
    member.size = len(stream.getvalue())
    archive.addfile(member, io.BytesIO(stream.getvalue()))


def write_lewidi(home, name, codes, dialogues=False):
    truth, _, crowd = tiny_crowd(2, 9)
    said = {i: [] for i in range(TRAIN + TEST)}
    for item, annotator, label in zip(crowd.item, crowd.annotator, crowd.label, strict=True):
        said[int(item)].append((f"Ann{annotator}", int(label)))
    for item in range(TRAIN, TRAIN + TEST):
        said[item] = [(f"Ann{each}", int(truth[item]) if each else 0) for each in range(4)]
    entries = {}
    for item, labels in said.items():
        share = float(np.mean([label for _, label in labels]))
        text = f"the play was {WORDS[truth[item]]}"
        if dialogues:
            spoken = dict.fromkeys(("prev_agent", "prev_user", "agent"), "a film")
            text = json.dumps({**spoken, "user": text})
        entries[str(item)] = {
            "text": text,
            "annotators": ",".join(who for who, _ in labels),
            "annotations": ",".join(str(codes[label]) for _, label in labels),
            "hard_label": str(int(share > 0.5)),
            "soft_label": {"0": 1.0 - share, "1": share},
        }
    folder = home / f"{name}_dataset"
    folder.mkdir(parents=True)
    parts = {"train": range(TRAIN), "dev": range(TRAIN, TRAIN + TEST)}
    parts["test"] = parts["dev"]
    for part, items in parts.items():
        content = {str(item): entries[str(item)] for item in items}
        (folder / f"{name}_{part}.json").write_text(json.dumps(content))


def write_image_encoder(folder):
    """A ResNet of a few channels with random weights, and the moments of its images."""
    import transformers

    config = transformers.ResNetConfig(
        embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic"
    )
    transformers.set_seed(0)
    transformers.utils.logging.disable_progress_bar()
    transformers.ResNetModel(config).eval().save_pretrained(folder)
    moments = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.25, 0.5]}
    (folder / "preprocessor_config.json").write_text(json.dumps(moments))
