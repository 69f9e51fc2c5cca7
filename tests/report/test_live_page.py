"""The local page: from a file to its result, and what a person reads when something is wrong."""

import html
import io
import re

import numpy as np
import pandas as pd
import pytest
from command_line import SMALL, call
from hostile_names import CLOSING, IMAGE, NAMES, SCRIPT, hostile_labels
from live_client import live_client, texts

import manyhands as mh
from manyhands.report import page as report_page
from manyhands.report.live import browse, results
from manyhands.report.live.jobs import Job, do

WORDS = "item,who said it,value\na,u,x\na,v,x\nb,u,y\nb,v,x\nb,w,y\nc,w,y\n"
TOKENS = "Anna B-PER B-PER O\nsaw O O O\nRome B-LOC O B-LOC\n\nNo O O O\n"


@pytest.fixture(scope="module", autouse=True)
def _small_library():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_page, "chart_library", lambda: "window.drawChart = async () => {};")
        yield


@pytest.fixture(scope="module")
def live():
    with live_client(max_files=50, max_results=50) as client:
        yield client


@pytest.fixture(scope="module")
def small_result(live):
    return live.run(live.upload(SMALL))


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_column_that_is_there_twice_is_told(live, suffix):
    rows = "item,item,annotator,label\na,b,u,x\n"
    text = rows if suffix == "csv" else rows.replace(",", "\t")
    shown = html.unescape(texts(live.get(live.upload(text, f"labels.{suffix}")).text))
    assert "the column 'item' appears more than once; rename one of them" in shown


def test_from_a_file_to_its_downloads(live, tmp_path):
    file = live.upload(SMALL)
    shown = texts(live.get(file).text)
    assert "Read as items: item, annotators: annotator, labels: label" in shown
    assert "6 labels" in shown
    result = live.run(file, "majority")
    page = live.get(result).text
    assert "<h1>Report on labels.csv</h1>" in page
    for part in ("Whom to trust", "Items to relabel", "Browse all items"):
        assert part in texts(page)
    (tmp_path / "labels.csv").write_text(SMALL)
    done = call("aggregate", tmp_path / "labels.csv", "--method", "majority", "--annotators",
                tmp_path / "annotators.csv", "--out", tmp_path / "consensus.csv")  # fmt: skip
    assert done.code == 0
    for name in ("consensus.csv", "annotators.csv"):
        found = live.get(f"{result}/files/{name}")
        assert found.content == (tmp_path / name).read_bytes()
        assert found.headers["content-disposition"] == f'attachment; filename="{name}"'
    report = live.get(f"{result}/files/report.html")
    assert report.text.startswith("<!doctype html>")
    assert report.headers["content-security-policy"] == "sandbox"
    assert "manyhands aggregate" not in texts(page)  # no commands for people who type none


def test_items_to_relabel_are_those_with_little_confidence(live):
    result = live.run(live.upload(SMALL), "majority")
    consensus = pd.read_csv(io.StringIO(live.get(f"{result}/files/consensus.csv").text))
    relabel = pd.read_csv(io.StringIO(live.get(f"{result}/files/relabel.csv").text))
    assert relabel["item"].tolist() == consensus["item"][consensus["confidence"] < 0.7].tolist()
    assert list(relabel) == list(consensus)


def test_wrong_columns_are_told_as_the_command_line_does_and_can_be_changed(live, tmp_path):
    (tmp_path / "words.csv").write_text(WORDS)
    told = call("report", tmp_path / "words.csv", "--out", tmp_path / "x.html").err
    file = live.upload(WORDS, "words.csv")
    page = live.get(file)
    assert page.status_code == 200
    line = told.removeprefix("manyhands: ").replace(f"{tmp_path}/", "").strip()
    assert line.startswith("words.csv: no column looks like the annotator; name it with --ann")
    problem = line.replace("--annotator ...", "“Column of annotators”")
    problem = problem.replace("--layout wide", "“Layout” (wide)")
    assert problem in texts(page.text.replace("&#39;", "'"))
    assert live.post(f"{file}/results", method="majority").status_code == 409
    assert live.made(f"{file}/columns", annotator="who said it") == file
    shown = texts(live.get(file).text)
    assert "annotators: who said it, labels: value" in shown
    assert live.get(live.run(file)).status_code == 200


def test_settings_of_reading_are_those_of_the_form(live):
    cells = "item,annotator,label\na,u,1\na,v,\nb,u,3\nb,v,NA\nb,w,2\n"
    file = live.upload(cells)
    assert "drop it with “No label” (NA)" in live.get(file).text
    live.made(f"{file}/columns", missing="NA")
    assert "drop such rows with “No label” (empty cells)" in live.get(file).text
    live.made(f"{file}/columns", missing=["NA", "empty"], labels_are="numbers")
    assert "3 labels" in texts(live.get(file).text)
    assert live.session.files[file.rpartition("/")[2]].labels.task == "regression"
    live.made(f"{file}/columns", missing=["NA", "empty"], labels_are="classes", classes="1,2,3,4")
    assert "4 classes" in texts(live.get(file).text)


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"", "empty.csv", "empty.csv: the file is empty"),
        (b"\x1f\x8bxx", "broken.csv.gz", "broken.csv.gz"),
        (b"%PDF-1.7", "a.pdf", "a.pdf: is a PDF file; export the table as .csv"),
        (b"item,annotator,label\n", "head.csv", "head.csv"),
        (bytes(range(256)), "bytes", "bytes"),
    ],
)
def test_a_bad_file_leaves_the_page_usable(live, content, name, said):
    page = live.get(live.upload(content, name))
    assert page.status_code == 200
    assert said in texts(page.text)
    assert "unexpected" not in page.text
    assert "manyhands-serve" not in page.text  # the folder is nobody's business
    assert "Read again" in page.text


def test_tokens_and_numbers(live):
    file = live.upload(TOKENS, "tokens.conll")
    assert "tags of tokens" in texts(live.get(file).text)
    result = live.run(file)
    table = pd.read_csv(io.StringIO(live.get(f"{result}/files/consensus.csv").text))
    assert table["word"].tolist() == ["Anna", "saw", "Rome", "No"]
    assert table["label"].tolist() == ["B-PER", "O", "B-LOC", "O"]
    assert "Rome" in live.get(f"{result}/items").text
    ratings = "item,annotator,rating\n" + "".join(
        f"i{n % 8},u{n % 5},{(n % 8) + (n % 3) / 3}\n" for n in range(40)
    )
    file = live.upload(ratings, "ratings.csv")
    assert "gaussian" in live.get(file).text
    assert live.get(live.run(file, "gaussian")).status_code == 200
    compared = live.get(live.made(f"{file}/comparisons", methods=["mean", "median"]))
    assert "The best here is" in texts(compared.text)


def test_levels_and_sets_of_classes(live):
    grades = ["bad", "fair", "good"]
    rated = "item,annotator,label\n" + "".join(
        f"i{n % 8},u{n // 8},{grades[(n % 8 + n // 8 * (n % 3 == 0)) % 3]}\n" for n in range(40)
    )
    file = live.upload(rated)
    live.get(file)
    live.made(f"{file}/columns", labels_are="ordinal", classes="bad, fair, good")
    shown = texts(live.get(file).text)
    assert "classes with an order: bad < fair < good" in html.unescape(shown)
    assert shown.index("ordinal-thresholds (recommended)") < shown.index("majority")
    assert "ordinal-thresholds" in texts(live.get(live.run(file, "ordinal-thresholds")).text)
    topics = "item,annotator,label\n" + "".join(
        f"i{n % 8},u{n // 8},{'a;b' if n % 2 else 'a' if n % 5 else 'b'}\n" for n in range(40)
    )
    file = live.upload(topics)
    live.get(file)
    live.made(f"{file}/columns", labels_are="sets")
    assert "The labels are sets of classes: a , b" in texts(live.get(file).text)
    assert live.get(live.run(file, "multilabel-mixture")).status_code == 200
    methods = ["multilabel-majority", "multilabel-mixture"]
    compared = live.get(live.made(f"{file}/comparisons", methods=methods))
    assert "The best here is" in texts(compared.text)


def test_methods_rank_as_on_the_command_line(live, crowd):
    methods = ["majority", "one-coin", "dawid-skene"]
    stream = io.BytesIO()
    frame = crowd.annotations.to_frame()
    frame.to_csv(stream, index=False)
    file = live.upload(stream.getvalue(), "crowd.csv")
    live.get(file)
    made = live.made(f"{file}/comparisons", methods=methods)
    shown = texts(live.get(made).text)
    choice = mh.aggregation.select(frame, methods)
    assert f"The best here is {choice.winner} , by {choice.table.ranked_by}." in shown
    assert choice.reason in shown
    table = pd.read_csv(io.StringIO(live.get(f"{made}/files/comparison.csv").text))
    assert table["method"].tolist() == choice.table.columns["method"].tolist()
    np.testing.assert_allclose(table["likelihood"], choice.table.columns["likelihood"])


def test_names_of_the_data_are_text_on_every_page(live):
    labels = hostile_labels()
    stream = io.BytesIO()
    rows = {name: [] for name in ("item", "annotator", "label")}
    for n in range(labels.n_annotations):
        rows["item"].append(labels.items[labels.item[n]])
        rows["annotator"].append(labels.annotators[labels.annotator[n]].replace("\x00", ""))
        rows["label"].append(labels.classes[labels.label[n]])
    pd.DataFrame(rows).to_parquet(stream)
    file = live.upload(stream.getvalue(), f"{SCRIPT}.parquet")
    live.get(file)
    made = live.made(f"{file}/comparisons", methods=["majority", "one-coin"])
    result = live.run(file)
    pages = ["/", file, made, result, f"{result}/items", f"{result}/items?by=2&find={SCRIPT}"]
    for path in pages:
        answer = live.get(path)
        assert answer.status_code == 200
        for name in (SCRIPT, IMAGE, CLOSING):
            assert name not in answer.text
        assert "\u202e" not in answer.text
    assert SCRIPT.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;") in (
        live.get(f"{result}/items").text
    )
    assert len(NAMES[8]) > 9000  # a name of 10,000 characters is cut
    assert NAMES[8] not in live.get(f"{result}/items").text


def test_items_are_found_and_put_in_order(crowd):
    consensus = mh.aggregate(crowd.annotations, "majority")
    ann, confidence = consensus.annotations, consensus.confidence
    query = browse.Query(show="relabel", order="sure")
    seen = []
    for number in range(1, browse.find_items(consensus, query).n_pages + 1):
        found = browse.find_items(
            consensus, browse.Query(show="relabel", order="sure", page=number)
        )
        seen += found.codes.tolist()
    wanted = np.flatnonzero(confidence < 0.7)
    assert sorted(seen) == wanted.tolist()
    assert (np.diff(confidence[seen]) <= 0).all()
    theirs = browse.find_items(consensus, browse.Query(by=3))
    assert theirs.n_found == len(np.unique(ann.item[ann.annotator == 3]))
    named = browse.find_items(consensus, browse.Query(find="39"))
    assert named.n_found == sum("39" in str(name) for name in ann.items)
    assert browse.find_items(consensus, browse.Query(page=10**9)).number == 8


@pytest.mark.parametrize(
    "query", ["?page=0", "?page=-1", "?page=x", "?by=999", "?by=-1", "?show=no", "?order=%00", "?x"]
)
def test_addresses_that_make_no_sense_show_items(live, small_result, query):
    page = live.get(f"{small_result}/items{query}")
    assert page.status_code == 200
    assert "3 items" in texts(page.text)


def test_every_method_is_told_in_words():
    assert results.IN_WORDS.keys() == set(mh.AGGREGATORS)
    for kind in ("classes", "ordinal", "multilabel", "numbers"):
        names = [name for name, _ in results.methods_for(kind)]
        assert names[0] == mh.aggregation.DEFAULTS[kind]


def test_the_example_opens(live):
    file = live.made("/demo", go="1")
    assert "1,797 items" in texts(live.get(file).text)


def test_pages_load_their_own_files_alone(live, small_result):
    page = live.get(small_result).text
    loaded = re.findall(r'(?:src|href)="([^"#]*)"', page)
    assert f"{live.path}/static/report.js" in loaded
    for address in loaded:
        assert address.startswith((f"{live.path}/", "data:,"))
        if "/static/" in address and "charts" not in address:
            answer = live.http.get(address)
            assert answer.status_code == 200
            kind = "css" if address.endswith(".css") else "javascript"
            assert answer.headers["content-type"] == f"text/{kind}; charset=utf-8"


def test_a_job_ends_whatever_happens():
    def fail(error):
        def work(job):
            raise error

        return work

    for error, said in (
        (ValueError("no\nnever"), "unexpected ValueError: no"),
        (MemoryError("much"), "not enough memory: much"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (mh.core.DataError("bad\x1b"), "bad\\x1b"),
    ):
        job = Job("x")
        do(job, fail(error))
        assert (job.state, job.error) == ("failed", said)


def test_a_job_stops_between_two_steps():
    seen = []

    def work(job):
        job.begin("one")
        seen.append(job.as_dict()["step"])
        job.stop()
        job.advance()
        seen.append("never")

    job = Job("x", 2)
    do(job, work)
    assert (job.state, job.n_done, seen) == ("stopped", 1, ["one"])
