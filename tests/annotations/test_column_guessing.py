"""The three columns of a long table are found by name."""

import pyarrow as pa
import pytest

from manyhands.annotations.choose import choose_columns
from manyhands.annotations.columns import find_column
from manyhands.core.errors import DataError


def find_columns(columns, item=None, annotator=None, label=None):
    """The choice by names: no column has cells that speak against it."""
    cells = {name: pa.array([f"{name}{row % 3}" for row in range(6)]) for name in columns}
    return choose_columns(
        columns, lambda names: {name: cells[name] for name in names},
        item=item, annotator=annotator, label=label,
    ).names  # fmt: skip


PREFERRED = {
    "item": ["item", "task", "example", "unit", "question", "image", "sentence", "hit"],
    "annotator": ["annotator", "worker", "rater", "coder", "user", "judge"],
    "label": ["label", "answer", "value", "class", "response", "rating", "vote"],
}


@pytest.mark.parametrize(
    "spelling", ["{}", "{}_id", "{}Id", "{}ID", "{} id", "{}.id", "{}id", "{}_name", "{}name"]
)
@pytest.mark.parametrize("case", [str, str.upper, str.title])
def test_a_word_is_known_in_any_case_and_with_fillers(spelling, case):
    for role, words in PREFERRED.items():
        if role == "label" and spelling.lower().endswith("id"):
            continue  # an id of a label is no label
        for word in words:
            column = case(spelling.format(word))
            assert find_column(["when", column, "seconds"], role) == column


@pytest.mark.parametrize("column", ["annotation_id", "LabelId", "answer id", "label_time", "key"])
def test_ids_and_times_are_never_labels(column):
    with pytest.raises(DataError, match="no column looks like the label"):
        find_column(["item", "worker", column], "label")


@pytest.mark.parametrize("text", ["text", "sentence", "comment", "prompt", "Input.text", "review"])
@pytest.mark.parametrize("name", ["id", "item", "task_id", "text_id", "hit"])
def test_an_id_beats_a_text(text, name):
    assert find_column([text, "worker", name, "label"], "item") == name
    assert find_column([text, "worker", "label"], "item") == text


def test_a_bare_id_is_the_item_when_nothing_better_is_there():
    for column in ("id", "ID", "Id", "_id"):
        assert find_column(["when", column], "item") == column
    assert find_column(["id", "task"], "item") == "task"


@pytest.mark.parametrize("column", ["items", "Classes", "answers", "Votes"])
def test_plurals_are_known(column):
    role = "item" if column == "items" else "label"
    assert find_column([column, "when"], role) == column


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["WorkerId", "task_id", "Answer.label"], ("task_id", "WorkerId", "Answer.label")),
        (["workerid", "taskid", "answer"], ("taskid", "workerid", "answer")),
        (["HITId", "HITTypeId", "WorkerId", "Input.text", "Answer.label"],
         ("HITId", "WorkerId", "Answer.label")),
        (["id", "user", "value"], ("id", "user", "value")),
        (["id", "text", "annotator", "label"], ("id", "annotator", "label")),
        (["annotation_id", "annotator", "created_at", "id", "lead_time", "sentiment", "text",
          "updated_at"], ("id", "annotator", "sentiment")),
        (["prompt_id", "judge", "verdict"], ("prompt_id", "judge", "verdict")),
        (["comment_id", "comment", "rater", "stance"], ("comment_id", "rater", "stance")),
        (["item", "id", "rater", "class"], ("item", "rater", "class")),
        (["unit", "coder", "label", "gold_label"], ("unit", "coder", "label")),
        (["question", "username", "response", "response_time"],
         ("question", "username", "response")),
    ],
)  # fmt: skip
def test_common_tables_need_no_names(columns, found):
    assert find_columns(columns, None, None, None) == found


@pytest.mark.parametrize(
    ("columns", "role", "candidates"),
    [
        (["item", "task", "worker", "label"], "item", ["'item'", "'task'"]),
        (["item", "rater", "coder", "label"], "annotator", ["'rater'", "'coder'"]),
        (["item", "worker", "label", "Answer"], "label", ["'label'", "'Answer'"]),
    ],
)
def test_a_guess_that_is_not_unique_lists_the_candidates(columns, role, candidates):
    with pytest.raises(DataError, match=f"several columns may be the {role}") as caught:
        find_columns(columns, None, None, None)
    for each in [*candidates, f"name it with {role}="]:
        assert each in str(caught.value)


def test_a_column_that_is_given_wins_and_is_free_of_other_roles():
    columns = ["item", "task", "worker", "label"]
    assert find_columns(columns, "task", None, None) == ("task", "worker", "label")
    assert find_columns(columns, None, None, "task") == ("item", "worker", "task")
    assert find_columns(["a", "b", "c"], "c", "a", "b") == ("c", "a", "b")


def test_a_column_that_is_not_there_is_told_with_the_nearest():
    with pytest.raises(
        DataError, match=r"no column 'lable'; did you mean label\?.* columns: 'item'"
    ):
        find_column(["item", "worker", "label"], "label", "lable")
    with pytest.raises(DataError, match=r"no column looks like the annotator.*annotator="):
        find_columns(["item", "label", "when"], None, None, None)
    with pytest.raises(DataError, match="'label' appears more than once"):
        find_column(["label", "label"], "label", "label")


def test_one_column_cannot_play_two_roles():
    with pytest.raises(DataError, match="must be three columns"):
        find_columns(["item", "worker", "label"], "item", "item", None)
    with pytest.raises(DataError, match="no column looks like the item"):
        find_columns(["item;worker;label"])
    with pytest.raises(DataError, match="'label' appears more than once"):
        find_columns(["item", "worker", "label", "label"])


def test_a_long_list_of_columns_is_cut():
    with pytest.raises(DataError) as caught:
        find_column([f"c{n}" for n in range(500)], "item")
    assert len(str(caught.value)) < 300
