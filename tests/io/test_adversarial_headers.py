"""Tables under every plausible header are read right, or refused with a remedy."""

import pytest
from header_tables import HeaderTable, header_tables
from hypothesis import given, settings

import manyhands as mh
from manyhands.core.errors import DataError

N_ITEMS, PEOPLE = 12, ("ann", "ben", "cleo", "dan")
ROWS = [(i, (i + a) % 4) for i in range(N_ITEMS) for a in range(3)]
# What a column holds, by a mark behind its name in HEADERS.
CELLS = {
    "item": lambda row, i, a: f"x{i:03d}",
    "who": lambda row, i, a: PEOPLE[a],
    "said": lambda row, i, a: ("cat", "dog")[(i + (row % 5 == 0)) % 2],
    "number": lambda row, i, a: 1 + (i + row) % 5,
    "text": lambda row, i, a: f"these are the words of {('one', 'two', 'three')[i % 3]} film",
    "row": lambda row, i, a: row,
    "hash": lambda row, i, a: f"k{row * 7919 % 10007}",
    "time": lambda row, i, a: f"2024-05-01T10:{row:02d}:00Z",
    "float": lambda row, i, a: round(0.4 + 0.1 * (row * 3 % 7), 1),
    "truth": lambda row, i, a: ("cat", "dog")[i % 2],
    "fact": lambda row, i, a: ("de", "fr")[a % 2],
    "group": lambda row, i, a: f"g{i % 2}",
    "one": lambda row, i, a: "v1",
    "code": lambda row, i, a: (i + (row % 5 == 0)) % 2,
    "name": lambda row, i, a: f"{PEOPLE[a]} b.",
    "prose": lambda row, i, a: f"I chose this one because of {row}",
}
# Headers of public data and of common tools: "name:what it holds", with item, who and said or
# number once each.
HEADERS = """
item:item annotator:who label:said
item_id:item annotator_id:who label:said
Item ID:item Annotator ID:who Label:said
ITEM:item ANNOTATOR:who LABEL:said
itemId:item annotatorId:who label:said
task:item worker:who label:said
task:item performer:who label:said
question:item worker:who answer:said
WorkerID:who TaskID:item Label:said JudgmentTime:time
WorkerID:who TaskID:item Label:said Gold:truth Time:float
_unit_id:item _created_at:time _golden:one _id:row _trust:float _worker_id:who _country:fact \
sentiment:said sentiment_gold:truth text:text
HITId:item HITTypeId:one WorkerId:who Input.text:text Answer.label:said
AssignmentId:hash HITId:item WorkerId:who AcceptTime:time SubmitTime:time Answer.sentiment:said
INPUT:image:item OUTPUT:label:said GOLDEN:label:truth ASSIGNMENT:assignment_id:hash \
ASSIGNMENT:worker_id:who
!amt_annotation_ids:hash !amt_worker_ids:who orig_id:item response:said gold:truth
rev_id:item worker_id:who toxicity_label:said
userId:who movieId:item rating:number timestamp:time
id:item text:text annotator:who label:said
id:item comment_text:text worker:who toxicity_score:number
id:item sentence:text coder:who stance:said
annotation_id:row annotator:who created_at:time id:item lead_time:float sentiment:said \
text:text updated_at:time
annotation_id:hash item_id:item annotator_id:who label:said event_version:one \
annotation_source:one gold_label:truth gold_source:one
boundary_id:item annotator_id:who label:said confidence:float reason:prose timestamp:time
project_id:one item_id:item annotator_id:who label:said confidence:float duration_ms:row \
content:text
sample_id:item annotator:who label:said round:one task_type:one rule_id:group decision_status:one
item_id:item annotator:who label:said confidence:float note:prose
item_id:item rater_id:who rater_gender:fact rater_age:fact rating:number
instance_id:item user_id:who rating:number age:fact gender:fact education:fact
comment_id:item annotator_id:who platform:group annotator_gender:fact sentiment:said text:text
id_original:item subreddit:group text:text user:who label:said timestamp:time
prompt_id:item judge:who verdict:said
prompt_id:item judge_model:who verdict:said score:float
prompt:text prompt_id:item response:prose annotator:who rating:number
question_id:item judge:who decision:said
tweet_id:item tweet:text coder:who stance:said
comment_id:item comment:text rater:who verdict:said
doc_id:item coder:who code_name:one category:said
document:item coder:who category:said
image:item labeler:who class:said
image_id:item image_url:item labeller:who class:said
filename:item annotator:who class:said
image_path:item annotator:who label:said label_id:code
image_filename:item annotator_id:who chosen_label:said true_label:truth reaction_time:float \
time_elapsed:row trial_index:row
unit:item coder:who value:said
Unit:item Coder:who Rating:number
case_id:item rater:who vote:said
record_id:item user_name:name user_id:who label:said
item:item worker_id:who worker_name:name answer:said
item:item annotator:who annotator_email:name label:said
Unnamed: 0:row item:item annotator:who label:said
index:row task_id:item worker_id:who label:said
row_id:row question_id:item worker_id:who response:said response_time:float
id:row task_id:item worker_id:who label:said
id:row image:item user:who annotation:said
uuid:hash example_id:item annotator:who label:said
id:row text:item annotator:who label:said
text:item annotator:who label:said
sentence:item rater:who emotion:said
batch_id:group item_id:item worker:who label:said
session_id:fact item_id:item worker:who label:said
hit_id:item worker_id:who worker_country:fact worker_age:fact judgment:said judgment_id:hash
item:item annotator:who label:said score:float
item:item annotator:who label:said confidence:number
item:item annotator:who label:said label_name:said label_id:code
item:item annotator:who label:said gold:truth majority_label:truth
item:item annotator:who label:said annotator_label_time:time label_confidence:float
movie:item reviewer:who rating:number
stimulus:item participant_id:who response:said
audio_file:item annotator:who emotion:said annotated_on:time
pair_id:item premise:text hypothesis:text annotator:who label:said
url:item user:who vote:said
item:item author:group annotator:who label:said
tweet_id:item user_id:group annotator_id:who label:said
item_id:item topic:group worker_id:who answer:said comment:prose
"""


def table_of(header):
    """The table of a header, and its three roles."""
    held = dict(word.rsplit(":", 1) for word in _words(header))
    columns = {
        name: [CELLS[what](row, i, a) for row, (i, a) in enumerate(ROWS)]
        for name, what in held.items()
    }
    first = {what: name for name, what in reversed(held.items())}
    said = first.get("said") or first["number"]
    table = HeaderTable(columns, (first["item"], first["who"], said))
    for name, what in held.items():
        role = {"item": 0, "who": 1, "name": 1, "said": 2}.get(what)
        if role is not None:
            table.same.setdefault(table.roles[role], []).append(name)
    return table


def _words(header):
    """The columns of a line of HEADERS; a name may have spaces."""
    words, name = [], ""
    for part in header.split(" "):
        name = f"{name} {part}" if name else part
        if ":" in part and part.rsplit(":", 1)[1] in CELLS:
            words.append(name)
            name = ""
    return words


@pytest.mark.parametrize("header", HEADERS.strip().splitlines())
def test_common_headers_are_read(header):
    table = table_of(header)
    assert table.is_right(mh.Annotations.from_frame(table.frame()))
    backwards = table.frame().iloc[::-1, ::-1]
    table.columns = {name: backwards[name].tolist() for name in backwards}
    assert table.is_right(mh.Annotations.from_frame(backwards))


@settings(max_examples=400)
@given(header_tables())
def test_a_table_is_read_right_or_refused(table):
    check(table, lambda: mh.Annotations.from_frame(table.frame()))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_files_and_frames_are_read_alike(suffix, tmp_path):
    path = tmp_path / f"labels{suffix}"

    @settings(max_examples=60)
    @given(header_tables())
    def same(table):
        table.write(path)
        found = [outcome(lambda: mh.read(path)), outcome(lambda: mh.aggregate(table.frame()))]
        check(table, lambda: mh.read(path))
        assert found[0] == found[1]

    same()


def check(table, read):
    try:
        annotations = read()
    except DataError as error:
        told = str(error)
        assert "=" in told or "rename" in told, told  # the remedy is a setting
    else:
        assert table.is_right(annotations), (table.roles, annotations.source)


def outcome(read):
    """The columns that were taken, or what was refused."""
    try:
        found = read()
    except DataError:
        return "refused"
    source = getattr(found, "annotations", found).source
    return source.item, source.annotator, source.label
