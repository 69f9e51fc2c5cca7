"""A consensus can be pickled and saved, and continues as before."""

import dataclasses
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import manyhands as mh
from manyhands.aggregation import AGGREGATORS, Consensus, DawidSkene, Majority, Quality
from manyhands.annotations import Annotations, Sentences
from manyhands.core.errors import DataError, SettingError, UnknownNameError
from manyhands.io.bundle import read_bundle, write_bundle
from random_tables import random_labels

NAMES = list(AGGREGATORS)
CLASS_NAMES = [name for name in NAMES if AGGREGATORS[name].kind == "classes"]
NAMINGS = {
    "numbers": lambda code: code + 100,
    "text": lambda code: f"ä {code}\n",
    "floats": lambda code: code + 0.5,
    "mixed": lambda code: [f"n{code}", code][code % 2],
}


def annotations(name, seed, naming="numbers", shift=0):
    item, annotator, label = random_labels(seed, n_items=20, n_annotators=6, n_annotations=150)
    call = NAMINGS[naming]
    items, annotators = [call(i + shift) for i in item], [call(a + shift) for a in annotator]
    if AGGREGATORS[name].kind == "numbers":
        numbers = np.asarray(label) * 0.7 + np.sin(np.arange(len(label)))
        return Annotations.from_arrays(items, annotators, numbers, kind="numbers")
    if AGGREGATORS[name].kind == "multilabel":
        sets = [[call(k), call((k + i) % 3)] for k, i in zip(label, item, strict=True)]
        return Annotations.from_arrays(items, annotators, sets)
    given = {"kind": "classes"}
    if AGGREGATORS[name].kind == "ordinal":
        given = {"levels": [call(k) for k in range(3)]}
    return Annotations.from_arrays(items, annotators, [call(k) for k in label], **given)


def by_pickle(consensus, folder):
    return pickle.loads(pickle.dumps(consensus))


def by_file(consensus, folder):
    consensus.save(folder)
    return mh.load(folder)


COPIES = {"pickle": by_pickle, "file": by_file}


def assert_same(first, second):
    """The same type, names and bits, in everything that a consensus tells."""
    assert type(first) is type(second)
    assert repr(first) == repr(second)
    for field in dataclasses.fields(first):
        if field.name not in {"annotations", "quality", "method", "parameters"}:
            assert_equal(getattr(first, field.name), getattr(second, field.name))
    for columns in ("item_columns", "annotator_columns"):
        assert_equal(getattr(first, columns)(), getattr(second, columns)())
    for array in ("item", "annotator", "label", "items", "annotators", "classes"):
        one, two = (getattr(each.annotations, array) for each in (first, second))
        assert one.dtype == two.dtype
        assert_equal(one, two)
        assert [type(name) for name in one[:3].tolist()] == [type(n) for n in two[:3].tolist()]
    assert first.annotations.backend == second.annotations.backend


def assert_equal(one, two):
    if isinstance(one, dict):
        assert list(one) == list(two)
        for key, each in one.items():
            assert_equal(each, two[key])
    else:
        np.testing.assert_array_equal(one, two, strict=isinstance(one, np.ndarray))


@pytest.fixture(params=COPIES)
def copy(request):
    return COPIES[request.param]


@pytest.mark.parametrize("naming", NAMINGS)
@pytest.mark.parametrize("name", NAMES)
def test_a_copy_is_the_same_and_continues_to_the_same_bits(name, naming, copy, tmp_path):
    consensus = AGGREGATORS[name]().fit(annotations(name, 0, naming))
    again = copy(consensus, tmp_path)
    assert_same(consensus, again)
    assert again.method == consensus.method
    more = annotations(name, 1, naming, shift=2)
    assert_same(consensus.update(more), again.update(more))
    assert_same(consensus.predict(more), again.predict(more))


@pytest.mark.parametrize("name", NAMES)
def test_what_continued_can_be_copied_too(name, copy, tmp_path):
    first = AGGREGATORS[name]().fit(annotations(name, 0))
    more = annotations(name, 1, shift=2)
    for number, consensus in enumerate((first.update(more), first.predict(more))):
        again = copy(consensus, tmp_path / str(number))
        assert_same(consensus, again)
        assert_same(consensus.update(more), again.update(more))


@pytest.mark.parametrize("name", NAMES)
def test_known_truths_stay_known(name, copy, tmp_path):
    labels = annotations(name, 0)
    known = {100: labels.label_names()[0], 103: labels.label_names()[1]}
    consensus = AGGREGATORS[name]().fit(labels, known=known)
    again = copy(consensus, tmp_path)
    assert_same(consensus, again)
    more = annotations(name, 1)
    updated = again.update(more)
    assert_same(consensus.update(more), updated)
    assert updated.labels[[0, 3]].tolist() == list(known.values())


@pytest.mark.parametrize("name", CLASS_NAMES)
def test_calibration_stays(name, copy, tmp_path):
    labels = annotations(name, 0)
    truth = {item: 100 + item % 3 for item in labels.items.tolist()}
    consensus = AGGREGATORS[name]().fit(labels).calibrated(truth)
    again = copy(consensus, tmp_path)
    assert again.temperature == consensus.temperature != 1.0
    assert_same(consensus, again)
    more = annotations(name, 1)
    assert_same(consensus.predict(more), again.predict(more))


def test_settings_of_every_type_are_kept(copy, tmp_path):
    labels = annotations("dawid-skene", 0, "text")
    prior = {"ä 1\n": np.eye(3) * 0.7 + 0.1, "ä 2\n": (np.eye(3) * 0.7 + 0.1).tolist()}
    consensus = mh.aggregate(
        labels, "dawid-skene", prior_confusions=prior, class_pseudo_count=np.inf, max_iter=3
    )
    again = copy(consensus, tmp_path)
    assert again.method.class_pseudo_count == np.inf
    more = annotations("dawid-skene", 1, "text")
    assert_same(consensus.update(more), again.update(more))


def test_half_of_a_pair_in_a_name_is_kept(tmp_path):
    labels = Annotations.from_arrays([0, 0], [1, 2], ["x", "x"], classes=["x", "half \ud800"])
    again = by_file(Majority().fit(labels), tmp_path)
    assert again.annotations.classes.tolist() == ["x", "half \ud800"]


def test_an_empty_prediction_can_be_copied(copy, tmp_path):
    consensus = DawidSkene().fit(annotations("dawid-skene", 0))
    nothing = consensus.predict(consensus.annotations[:0])
    assert_same(nothing, copy(nothing, tmp_path))


# -- tokens


SENTENCES = {
    "counted": None,
    "text": ["first", "zweiter Satz"],
    "numbers": [7, 3],
    "objects": np.array([np.int64(4), "x"], dtype=object),
}


@pytest.mark.parametrize("names", SENTENCES)
@pytest.mark.parametrize("method", ["majority", "dawid-skene"])
def test_a_token_consensus_can_be_copied(names, method, copy, tmp_path):
    words = [["Anna", "Berg", "sang"], ["in", "New", "York"]]
    sentences = Sentences.from_lists(words, SENTENCES[names])
    rng = np.random.default_rng(0)
    tags = np.array(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    item = np.repeat(sentences.token_names, 3)
    labels = Annotations.from_arrays(
        item, np.tile(["u", "v", "w"], 6), tags[rng.integers(0, 5, 18)], classes=tags
    )
    consensus = mh.aggregate_tokens(sentences, labels, method)
    again = copy(consensus, tmp_path)
    assert type(again) is type(consensus)
    assert_same(consensus.tokens, again.tokens)
    assert_equal(consensus.tags, again.tags)
    assert_equal(consensus.span_columns(), again.span_columns())
    assert again.sentences.to_lists() == words
    assert again.sentences.names.dtype == sentences.names.dtype
    assert again.sentences.names.tolist() == sentences.names.tolist()
    assert_same(consensus.tokens.update(labels), again.tokens.update(labels))
    assert_same(consensus.tokens.predict(labels), again.tokens.predict(labels))


# -- without an aggregator


def plain_consensus(**more):
    labels = Annotations.from_arrays([1, 1, 2], ["u", "v", "u"], ["cat", "dog", "dog"])
    probabilities = np.array([[0.75, 0.25], [0.25, 0.75]])
    return Consensus.from_probabilities(labels, probabilities, **more)


def plain_values(**more):
    labels = Annotations.from_arrays([1, 1, 2], ["u", "v", "u"], [0.5, 0.7, 2.5])
    quality = Quality.from_interval(
        np.array([0.5, 0.9]), np.array([0.6, 0.8]), np.array([0.7, 0.95])
    )
    return Consensus.from_values(
        labels, np.array([0.6, 2.5]), np.array([0.04, 0.09]), between=0.1, quality=quality, **more
    )


@pytest.mark.parametrize("make", [plain_consensus, plain_values])
def test_a_consensus_without_an_aggregator_cannot_continue(make, copy, tmp_path):
    consensus = make(cannot_continue="call infer(X, annotations)", annotator_traits={"a": [1, 2]})
    for each in (consensus, copy(consensus, tmp_path)):
        for continues in (each.update, each.predict):
            with pytest.raises(DataError, match=r"^call infer\(X, annotations\)$"):
                continues(each.annotations)
        assert_same(consensus, each)
        assert each.method_name == ""
    with pytest.raises(DataError, match="no aggregator to continue with"):
        make().update(consensus.annotations)


def test_a_plain_consensus_has_tables_and_scores():
    consensus = plain_consensus(confusion=np.tile(np.eye(2), (2, 1, 1)))
    assert consensus.labels.tolist() == ["cat", "dog"]
    assert consensus.annotators_frame()["right_cat"].tolist() == [1.0, 1.0]
    assert consensus.score({1: "cat", 2: "cat"}).accuracy == 0.5
    values = plain_values()
    assert values.spread.tolist() == [0.2, 0.3]
    assert values.quality.low.tolist() == [0.5, 0.8], "the interval holds the value"


def test_a_plain_consensus_of_another_size_is_refused():
    labels = plain_consensus().annotations
    with pytest.raises(DataError, match=r"shape \(2, 2\); got \(2, 3\)"):
        Consensus.from_probabilities(labels, np.full((2, 3), 1 / 3))
    with pytest.raises(DataError, match=r"shape \(2,\); got \(3,\) and \(3,\)"):
        Consensus.from_values(
            labels, np.zeros(3), np.ones(3), between=1.0, quality=plain_values().quality
        )


# -- refusals


@pytest.fixture
def folder(tmp_path):
    DawidSkene().fit(annotations("dawid-skene", 0)).save(tmp_path)
    return tmp_path


def test_a_consensus_is_two_files_that_anything_can_read(folder):
    header = json.loads((folder / "consensus.json").read_text())
    assert header["method"] == "dawid-skene"
    assert sorted(path.suffix for path in folder.iterdir()) == [".json", ".safetensors"]


def test_a_consensus_loads_without_torch(folder):
    code = (
        f"import manyhands as mh, sys; c = mh.load({str(folder)!r}); "
        "print(c.labels[0], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == "False"


def test_a_folder_without_anything_is_refused(tmp_path):
    for missing in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(DataError, match=r"neither a consensus .* nor a model"):
            mh.load(missing)


def test_a_folder_with_both_is_refused(folder):
    (folder / "model.json").write_text("{}")
    with pytest.raises(DataError, match="a consensus and a model"):
        mh.load(folder)


def test_a_network_is_not_for_a_consensus(folder):
    with pytest.raises(SettingError, match="network is for models"):
        mh.load(folder, network=object())


@pytest.mark.parametrize("lost", ["method", "names", "converged", "settings", "item_traits"])
def test_lost_entries_are_refused(folder, lost):
    arrays, header = read_bundle(folder, "consensus")
    write_bundle(folder, "consensus", arrays, {k: v for k, v in header.items() if k != lost})
    with pytest.raises(DataError, match="does not fit its description"):
        mh.load(folder)


@pytest.mark.parametrize("lost", ["item", "quality_low", "parameters.log_prior_k", "known"])
def test_lost_arrays_are_refused(folder, lost):
    arrays, header = read_bundle(folder, "consensus")
    write_bundle(folder, "consensus", {k: v for k, v in arrays.items() if k != lost}, header)
    with pytest.raises(DataError, match="does not fit its description"):
        mh.load(folder)


def test_an_unknown_method_is_refused(folder):
    arrays, header = read_bundle(folder, "consensus")
    write_bundle(folder, "consensus", arrays, header | {"method": "dawid-sken"})
    with pytest.raises(UnknownNameError, match="did you mean dawid-skene"):
        mh.load(folder)


def test_an_aggregator_of_your_own_is_not_saved(tmp_path):
    class Own(DawidSkene):
        """Settings of somebody else."""

    consensus = Own().fit(annotations("dawid-skene", 0))
    with pytest.raises(DataError, match="Own is not in AGGREGATORS"):
        consensus.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_traits_that_are_not_numbers_are_refused(tmp_path):
    consensus = plain_consensus(annotator_traits={"remark": np.array(["a", "b"])})
    with pytest.raises(DataError, match="'remark' cannot be saved"):
        consensus.save(tmp_path)
