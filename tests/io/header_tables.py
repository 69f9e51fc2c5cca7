"""Tables of labels with a known truth, under every plausible header."""

import json
from dataclasses import dataclass, field

import pandas as pd
from hypothesis import strategies as st

IDS = (
    "item", "item_id", "itemId", "Item ID", "ITEM", "task", "task_id", "TaskID", "example_id",
    "unit_id", "_unit_id", "sample_id", "image", "image_id", "image_url", "Image Path", "filename",
    "question_id", "comment_id", "prompt_id", "doc_id", "documentId", "sentence_id", "tweet_id",
    "post_id", "HITId", "record_id", "id", "ID", "_id", "rev_id", "snippet_id", "movieId", "uid",
    "orig_id", "case_id", "url", "pair_id", "instance_id", "INPUT:image",
)  # fmt: skip
TEXTS = ("text", "comment", "sentence", "Tweet", "question", "prompt", "Input.text", "content")
PEOPLE = (
    "annotator", "annotator_id", "Annotator", "worker", "worker_id", "WorkerId", "workerid",
    "rater", "rater_id", "coder", "CODER ID", "user", "user_id", "userId", "username", "judge",
    "labeler", "labeller_id", "performer", "reviewer", "participant_id", "annotator_name",
    "annotator_email", "judge_model", "who", "ASSIGNMENT:worker_id", "person", "initials",
)  # fmt: skip
LABELS = (
    "label", "Label", "answer", "response", "rating", "score", "value", "class", "category",
    "vote", "verdict", "judgment", "sentiment", "emotion", "stance", "toxicity_label",
    "annotation", "choice", "decision", "chosen", "annotator_label", "Answer.label", "OUTPUT:label",
    "tag", "q1",
)  # fmt: skip
# Columns that real tables have beside the three, by what they hold.
TIMES = ("created_at", "timestamp", "label_time", "time", "lead_time", "answered_on",
         "response_time", "JudgmentTime", "annotation_date")  # fmt: skip
ROW_IDS = ("annotation_id", "row_id", "index", "Unnamed: 0", "id", "assignment_id", "label_id",
           "judgment_id", "response_id", "uuid", "key", "!amt_annotation_ids", "record_id",
           "submission_id", "_id", "answer_id")  # fmt: skip
GROUPS = ("batch_id", "batch", "session_id", "project_id", "HITTypeId", "group", "group_id",
          "task_type", "split", "job_id", "source", "category", "topic", "parent_id", "task",
          "document_id", "class", "type_id", "thread_id")  # fmt: skip
TRUTHS = ("gold", "truth", "gold_label", "true_label", "correct_answer", "ground_truth", "target",
          "expert_label", "sentiment_gold", "majority_label", "final_label", "GOLDEN:label",
          "consensus", "expert")  # fmt: skip
SURE = ("confidence", "score", "certainty", "label_confidence", "confidence_score", "trust",
        "annotator_confidence", "weight", "rating", "value")  # fmt: skip
FACTS = ("annotator_age", "worker_country", "rater_gender", "age", "country", "user_age",
         "annotator_group", "worker_type", "education", "annotator_class", "worker_score",
         "annotator_rating")  # fmt: skip
REMARKS = ("comment", "note", "rationale", "annotator_comment", "explanation", "feedback")
AUTHORS = ("author", "author_id", "user", "user_id", "tweet_user", "username", "uploader",
           "reviewer", "expert")  # fmt: skip
SECOND_NAMES = ("annotator_name", "user_name", "worker_name", "annotator_email")
LABEL_NAMES = ("label_name", "label_id", "label_text", "label_code")


@dataclass
class HeaderTable:
    """A table, which columns are item, annotator and label, and which mean the same."""

    columns: dict
    roles: tuple
    same: dict = field(default_factory=dict)

    def frame(self):
        return pd.DataFrame(self.columns)

    def write(self, path):
        frame = self.frame()
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
        elif path.suffix == ".parquet":
            frame.to_parquet(path, index=False)
        else:
            rows = [json.dumps(row) for row in frame.astype(object).to_dict("records")]
            path.write_text("\n".join(rows) + "\n")
        return path

    def is_right(self, annotations):
        """Whether annotations are what the table says."""
        source = annotations.source
        taken = (source.item, source.annotator, source.label)
        for role, name in zip(self.roles, taken, strict=True):
            if name != role and not self._one_to_one(name, role):
                return False
        found = annotations.to_columns().values()
        rows = zip(*(map(str, column.tolist()) for column in found), strict=True)
        said = zip(*(map(_text, self.columns[name]) for name in taken), strict=True)
        return sorted(rows) == sorted(said)

    def _one_to_one(self, name, role):
        if role != self.roles[0] and name not in self.same.get(role, ()):
            return False
        pairs = set(zip(self.columns[name], self.columns[role], strict=True))
        return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def _text(cell):
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


@st.composite
def header_tables(draw):
    """A table of labels with three to nine columns in any order."""
    pick = lambda names: draw(st.sampled_from(names))  # noqa: E731
    n_items, n_people = draw(st.integers(2, 9)), draw(st.integers(2, 5))
    most = draw(st.integers(1, n_people))
    shift = draw(st.integers(0, 10))
    pairs = [(i, (i * shift + a) % n_people) for i in range(n_items) for a in range(most)]
    if draw(st.booleans()):
        pairs = sorted(pairs, key=lambda pair: (pair[1], pair[0]))
    spoken = pick([["cat", "dog"], ["yes", "no", "maybe"], [0, 1], [1, 2, 3, 4, 5]])
    wrong = draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)))
    wrong[:2] = [0, 3 * (pairs[0][0] % len(spoken) == pairs[1][0] % len(spoken))]  # not all equal
    label = [spoken[(i + (w == 3)) % len(spoken)] for (i, _), w in zip(pairs, wrong, strict=True)]
    item_names = pick([
        [f"i{i}" for i in range(9)], [100 + 7 * i for i in range(9)],
        [f"{i}.jpg" for i in range(9)], list(range(9)),
    ])  # fmt: skip
    people = pick([["ann", "ben", "cleo", "dan", "eve"], [11, 12, 13, 14, 15], [0, 1, 2, 3, 4]])
    texts = _texts(draw(st.integers(1, 9)))
    by_text = draw(st.integers(0, 5)) == 0
    item = pick(TEXTS) if by_text else pick(IDS)
    annotator, said = pick(PEOPLE), pick(LABELS)
    items = _texts(9) if by_text else item_names
    columns = {item: [items[i] for i, _ in pairs], annotator: [people[a] for _, a in pairs]}
    columns[said] = label
    table = HeaderTable(columns, (item, annotator, said))
    _add_extras(draw, table, pairs, label, texts, people)
    order = draw(st.permutations(list(table.columns)))
    table.columns = {name: table.columns[name] for name in order}
    return table


def _texts(n_texts):
    words = ["red", "green", "blue", "black", "white", "brown", "pink", "grey", "violet"]
    return [f"this is the {words[i % n_texts]} one" for i in range(9)]


def _add_extras(draw, table, pairs, label, texts, people):
    n_rows = range(len(pairs))
    _, annotator, said = table.roles
    # where every item has one label, a group that is called an item cannot be told from it
    once = len(pairs) == len({i for i, _ in pairs})
    groups = [name for name in GROUPS if not (once and name in ("task", "document_id"))]
    codes = {name: code for code, name in enumerate(sorted(set(label)))}
    start = draw(st.sampled_from([0, 1, 501]))
    kinds = {
        "text": (TEXTS, [texts[i] for i, _ in pairs]),
        "time": (TIMES, [f"2024-05-{1 + row % 28:02d}T10:{row % 60:02d}:00" for row in n_rows]),
        "seconds": (TIMES, [round(3 + 0.7 * ((row * 7) % 11), 1) for row in n_rows]),
        "row": (ROW_IDS, [start + row for row in n_rows]),
        "hash": (ROW_IDS, [f"x{row * 7919 % 10007}" for row in n_rows]),
        "group": (groups, [f"g{i % 2}" for i, _ in pairs]),
        "session": (groups, [f"s{a}" for _, a in pairs]),
        "truth": (TRUTHS, [label[0] if i % 2 else label[-1] for i, _ in pairs]),
        "sure": (SURE, [round(0.5 + 0.1 * (row * 3 % 5), 1) for row in n_rows]),
        "how sure": (SURE, [1 + (row * 3) % 5 for row in n_rows]),
        "fact": (FACTS, [["de", "fr", "us"][a % 3] for _, a in pairs]),
        "age": (FACTS, [20 + 9 * a for _, a in pairs]),
        "remark": (REMARKS, [f"I think it is number {row}" for row in n_rows]),
        "author": (AUTHORS, [f"author{i % 4}" for i, _ in pairs]),
        "name": (SECOND_NAMES, [f"{people[a]} smith" for _, a in pairs]),
        "label": (LABEL_NAMES, [codes[one] for one in label]),
    }
    for kind in draw(st.lists(st.sampled_from(list(kinds)), max_size=6, unique=True)):
        names, cells = kinds[kind]
        name = draw(st.sampled_from(names))
        if name in table.columns:
            continue
        table.columns[name] = cells
        role = {"name": annotator, "label": said}.get(kind)
        if role is not None:
            table.same.setdefault(role, []).append(name)
