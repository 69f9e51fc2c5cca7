"""Tiny files in the formats of corpora of learning with disagreement."""

import json

import openpyxl

PARTS = ("train", "dev", "test")
UTTERANCES = {"prev_agent": "hello", "prev_user": "_", "agent": "well?", "user": "you fool"}


def entry(text, annotators, annotations, shares, hard="0"):
    return {
        "text": text, "annotation task": "any", "number of annotations": len(annotators.split(",")),
        "annotations": annotations, "annotators": annotators, "lang": "en", "hard_label": hard,
        "soft_label": shares, "split": "any", "other_info": {},
    }  # fmt: skip


def write_entries(name, content):
    def write(home):
        home.mkdir(parents=True)
        for part in PARTS:
            (home / f"{name}_{part}.json").write_text(json.dumps(content), encoding="utf-8")

    return write


def _tweets(positive):
    return {
        "2": entry("fine", "Ann1,Ann2,Ann3", "0,0,0", {"0": 1.0, "1": 0.0}),
        "1": entry("go away", "Ann2,Ann3,Ann4", positive, {"0": 0.333, "1": 0.667}, 1),
    }


write_md_agreement = write_entries("MD-Agreement", _tweets("1,0,1"))
write_hs_brexit = write_entries("HS-Brexit", _tweets("1,0,1"))
write_armis = write_entries("ArMIS", _tweets("1,0,1"))
write_convabuse = write_entries(
    "ConvAbuse",
    {
        "1": entry(
            json.dumps(UTTERANCES), "Ann1,Ann2,Ann3", "-2,0,-1", {"0": 0.333, "1": 0.667}, 1
        ),
        "2": entry(json.dumps(UTTERANCES | {"user": "hi"}), "Ann3", "1", {"0": 1, "1": 0}),
    },
)

WORDS = [  # set, word, sent, gold, mv
    ["trn", "go", "go home .", 10, 10],
    ["trn", "home", "go home .", 2, 5],
    ["trn", ".", "go home .", 9, 9],
    ["dev", 7, "7 pm", 6, 6],
    ["hard-tst", "me", "me too", 7, None],
    ["soft-tst", "so", "so", None, 2],
]
TAGGED = ["go\tx\tVERB,,VERB", "home\tx\tNOUN,ADV,NOUN", ".\tx\t,.,.", "7\tx\tNUM,,PRT"]


def write_gimpel_pos(home, words=WORDS, tagged=TAGGED):
    home.mkdir(parents=True)
    book = openpyxl.Workbook()
    book.active.append(["set", "word", "sent", "gold", "mv"])
    for row in words:
        book.active.append(row)
    book.save(home / "dh.xlsx")
    (home / "gimpel_crowdsourced-tf.tsv").write_text("\n".join(tagged) + "\n")


DOCUMENT = {
    "doc_key": "wi/cats",
    "sentences": [["The", "cat", "ate", "."], ["It", "slept", "."]],
    "mentions": [[0, 1], [4, 4]],
    "annotations": [[[7, 0, "a", 1], [9, 1, "a", 1], [11, 0, "v", 1]], [[9, 1, "a", 1]]],
    "gold_labels": [[1, 0], [0, 1]],
    "features": [[0, 1, 0], [1, 0, 0]],
}


def write_pdis(home, **changes):
    """One document in each file; `changes` name a part and the fields that differ there."""
    home.mkdir(parents=True)
    for part in PARTS:
        document = DOCUMENT | changes.get(part, {})
        kept = {name: value for name, value in document.items() if value is not None}
        path = home / f"combined_{part}_dndo_raw.jsonlines"
        path.write_text(json.dumps(kept) + "\n", encoding="utf-8")


WRITERS = {
    "armis": write_armis,
    "convabuse": write_convabuse,
    "gimpel-pos": write_gimpel_pos,
    "hs-brexit": write_hs_brexit,
    "md-agreement": write_md_agreement,
    "pdis": write_pdis,
}
