"""The number of threads changes no bit; new labels go on from where the old ones ended."""

import numpy as np
import pytest

from manyhands.aggregation import AGGREGATORS, DawidSkene, compare, validation_score
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from manyhands.core.kernels import even_blocks, run_blocks
from manyhands.simulation import SCENARIOS, CrowdSettings


@pytest.mark.parametrize(
    "name",
    [name for name, model in AGGREGATORS.items() if model.kind == "classes" and name != "majority"],
)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_any_number_of_threads_gives_the_same_bits(name, n_classes, monkeypatch):
    crowd = SCENARIOS["confusions"](
        CrowdSettings(n_items=3000, n_annotators=20, n_classes=n_classes, labels_per_item=5)
    )
    outcomes = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("MANYHANDS_THREADS", threads)
        consensus = AGGREGATORS[name](max_iter=10).fit(crowd.annotations)
        outcomes.append((consensus.probabilities, consensus.objective))
    for probabilities, objective in outcomes[1:]:
        np.testing.assert_array_equal(probabilities, outcomes[0][0])
        assert objective == outcomes[0][1]


def test_blocks_cover_all_items_once():
    offsets = np.array([0, 0, 5, 5, 6, 90, 91, 100])
    for n_blocks in range(1, 12):
        blocks = even_blocks(offsets, n_blocks)
        assert [i for first, last in blocks for i in range(first, last)] == list(range(7))


def test_blocks_come_back_in_order(monkeypatch):
    monkeypatch.setenv("MANYHANDS_THREADS", "4")
    assert run_blocks(lambda x: x * x, range(50)) == [x * x for x in range(50)]


def test_a_wrong_thread_count_is_refused(monkeypatch):
    monkeypatch.setenv("MANYHANDS_THREADS", "none")
    with pytest.raises(ValueError, match="MANYHANDS_THREADS must be >= 1"):
        run_blocks(abs, [1, 2])


def test_an_update_needs_fewer_steps_than_a_fresh_fit():
    crowd = SCENARIOS["confusions"](CrowdSettings(n_items=2000, n_annotators=30, seed=5))
    frame = crowd.annotations.to_frame()
    old, new = frame.iloc[:-200], frame.iloc[-200:]
    first = DawidSkene().fit(Annotations.from_frame(old))
    updated = first.update(Annotations.from_frame(new))
    fresh = DawidSkene().fit(crowd.annotations)
    assert updated.n_iterations < fresh.n_iterations
    row = updated.annotations.item_vocabulary.codes(fresh.annotations.items)
    assert (updated.labels[row] == fresh.labels).mean() > 0.995


def test_an_update_takes_new_items_annotators_and_classes():
    first = DawidSkene().fit(Annotations.from_arrays([1, 1, 2], ["u", "v", "u"], ["a", "a", "b"]))
    more = Annotations.from_arrays([3, 3, 2], ["w", "u", "w"], ["c", "c", "b"])
    updated = first.update(more, known={1: "a"})
    assert updated.annotations.n_annotations == 6
    assert dict(zip(updated.annotations.items, updated.labels, strict=True)) == {
        1: "a", 2: "b", 3: "c",
    }  # fmt: skip
    again = updated.update(Annotations.from_arrays([4], ["u"], ["a"]))
    assert again.confidence[0] == 1.0, "a truth known before stays known"


def test_predicting_a_class_nobody_knew_is_refused(crowd):
    consensus = DawidSkene().fit(crowd.annotations)
    with pytest.raises(DataError, match="no class 'zebra'"):
        consensus.predict(Annotations.from_arrays([1], [0], ["zebra"]))


def test_predicted_items_are_as_good_as_fitted_ones():
    crowd = SCENARIOS["confusions"](CrowdSettings(n_items=3000, n_annotators=30, seed=6))
    train, test = crowd.annotations[:2000], crowd.annotations[2000:]
    predicted = DawidSkene().fit(train).predict(test)
    fitted = DawidSkene().fit(crowd.annotations)
    right = [
        (labels == crowd.truth[2000:]).mean() for labels in (predicted.labels, fitted.labels[2000:])
    ]
    assert right[0] > right[1] - 0.01


def test_the_validation_score_ranks_the_better_model_first():
    crowd = SCENARIOS["spammers"](CrowdSettings(n_items=1500, n_annotators=30, share=0.5, seed=7))
    table = compare(crowd.annotations, ["majority", "dawid-skene"])
    assert table.columns["method"].tolist() == ["dawid-skene", "majority"]
    assert "held-out" in table.ranked_by
    with_truth = compare(crowd.annotations, truth=crowd.truth_by_item)
    accuracies = with_truth.columns["accuracy"]
    assert (np.diff(accuracies) <= 0).all()
    assert len(with_truth.records()) == sum(
        model.kind == "classes" for model in AGGREGATORS.values()
    )


def test_no_label_can_be_held_out_of_single_labels():
    annotations = Annotations.from_arrays([1, 2], ["u", "u"], ["a", "b"])
    with pytest.raises(DataError, match="three labels"):
        validation_score(DawidSkene(), annotations)
    assert compare(annotations, ["majority"]).records()[0]["validation"] is None


def test_ties_go_to_the_more_common_class_and_are_marked():
    consensus = AGGREGATORS["majority"]().fit(
        Annotations.from_arrays([1, 1, 2, 2], list("uvuv"), ["a", "b", "b", "b"])
    )
    assert consensus.labels.tolist() == ["b", "b"]
    assert consensus.tied.tolist() == [True, False]
    assert consensus.to_frame()["tied"].tolist() == [True, False]
