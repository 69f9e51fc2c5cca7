"""The benchmark of training on tiny crowds: all sides do the same, and the page has its rows."""

from pathlib import Path

import pytest
import torch
from benchmarks import processes, training, training_jobs, training_page, training_steps
from benchmarks.benchmark import TRAINING
from benchmarks.machine import machine_facts

pytest.importorskip("crowdkit")

ROOT = Path(__file__).resolve().parents[1]
SIZE = {"n_annotators": 12, "n_classes": 3, "n_items": 96, "n_features": 8, "n_hidden": 4}
WORKLOAD = training_steps.Workload(**SIZE, batch_size=32)
METHODS = training.METHODS

# crowd-kit's CoNAL learns the size of its inputs when it first sees them, of which torch warns
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Lazy modules:UserWarning")]


@pytest.fixture(scope="module", autouse=True)
def _quick():
    """Blocks of one step, and one thread, which does not wait for cores that other tests use."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_jobs, "_BLOCK_S", 0.0)
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def rows(_quick):
    """Rows of every kind, as a run records them."""
    short = {"budget_s": 0.0}
    requests = [
        ("growth", {"workload": SIZE, "method": "speelfc", "settings": training.DECAY}),
        ("growth", {"workload": SIZE, "method": "crowd-layer-mw", "settings": {"sparse": True}}),
    ]
    done = [
        {"kind": "run", "command": "python -m benchmarks.training"},
        {"kind": "machine", **machine_facts(), "torch": torch.__version__},
    ]
    for kind, request in requests:
        done += training_jobs.do_job(kind, {**request, **short, "sizes": (12, 40)})
    for layer in ("crowd-layer-mw", "conal"):
        done += training_jobs.do_job("peers", {"workload": SIZE, "layer": layer, **short})
    tools = (training_steps.OUR_CLASSIFIER, training_steps.OURS, training_steps.AS_DOCUMENTED)
    for tool in tools:
        request = {"workload": SIZE, "tool": tool, "method": "crowd-layer-mw"}
        done += training_jobs.do_job("memory", request)
    loop = {"workload": SIZE, "method": "speelfc", "epochs": 2, "labels_each": 2.5, "repeats": 1}
    done += training_jobs.do_job("loop", loop)
    done += training_jobs.do_job("threads", {"workload": SIZE, "method": "speelfc", **short})
    torch.set_num_threads(1)
    return done


def test_the_crowd_is_what_it_says():
    annotations = WORKLOAD.annotations(2.5)
    assert annotations.n_annotations == 240
    assert annotations.n_annotators == 12
    assert set(annotations.labels_per_item) == {2, 3}
    assert set(annotations.labels_per_annotator) == {20}
    assert sum(len(batch.annotations) for batch in WORKLOAD.batches()) == 3 * WORKLOAD.n_items


@pytest.mark.parametrize("method", METHODS)
def test_the_bare_loop_ends_with_the_same_weights(method):
    race = training_steps.LoopRace(WORKLOAD, method, epochs=3, labels_each=2.5)
    ours, bare = race.make_module(), race.make_module()
    history, losses = race.ours(ours), race.bare(bare)
    assert losses == pytest.approx([entry["loss"] for entry in history], abs=1e-6)
    for (name, one), other in zip(ours.named_parameters(), bare.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6), name


def test_the_dense_design_is_the_same_model_as_ours():
    steps = [
        training_steps.dense_step(WORKLOAD),
        training_steps.our_step(WORKLOAD, "crowd-layer-mw", as_published=True, sparse=False),
    ]
    losses = []
    for step in steps:
        torch.manual_seed(0)  # the same units are dropped out
        losses.append([float(step(number)) for number in range(9)])
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


@pytest.mark.parametrize("layer", ["crowd-layer-mw", "conal"])
def test_every_tool_learns(layer):
    for tool, make in training_steps.contestants(WORKLOAD, layer).items():
        step = make()
        losses = [float(step(number)) for number in range(60)]
        assert sum(losses[-9:]) < sum(losses[:9]), tool


def test_blocks_alternate_and_batches_follow_each_other():
    calls = {"a": [], "b": []}
    steps = {key: calls[key].append for key in calls}
    times, _ = training_jobs.in_turns(steps, budget_s=0.0)
    assert [len(each) for each in times.values()] == [3, 3]
    for numbers in calls.values():
        assert numbers == list(range(len(numbers)))


def test_ratios_are_of_the_same_rounds():
    base, times = training_jobs.Times([(1, 1), (4, 2)]), training_jobs.Times([(2, 1), (4, 3)])
    told = training_jobs._summary(times, base, None)
    assert (told["least_ratio"], told["median_ratio"], told["cpu_ratio"]) == (2.0, 1.5, 1.0)


def test_rows_say_what_was_measured(rows):
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in training.SECTIONS}
    assert [len(each) for each in by_kind.values()] == [4, 5 + 4, 3, 3, 4]
    assert all(row["status"] == processes.OK for each in by_kind.values() for row in each)
    assert [row["sparse"] for row in by_kind["growth"]] == [False, False, True, True]
    assert all(row["chosen"] == 1 for row in by_kind["threads"])
    assert all(row["least_s"] > 0 for row in by_kind["peers"])


def test_the_page_has_its_rows_and_claims(rows):
    text = training_page.make_page(rows)
    for title in ("Larger crowds", "Beside other", "Memory", "The loop", "Threads"):
        assert f"## {title}" in text
    assert text.count("| speelfc, noise_weight_decay=0.01 | 3 |") == 2
    assert text.count("| crowd-layer-mw | 12 | dense design |") == 1
    assert "| speelfc: the loop adds less than 15% to bare steps |" in text
    assert str(ROOT) not in text


def test_a_claim_that_does_not_hold_is_flagged(rows):
    large = [row | {"peak_bytes": 2**31} if row["kind"] == "memory" else row for row in rows]
    assert "2.00 GiB | **no** |" in training_page.make_page(large)


def test_failed_and_skipped_jobs_have_rows_that_say_why(rows):
    [failed] = training.in_fresh_process(
        "memory", {"workload": SIZE, "tool": "nobody", "method": "x"}
    )
    assert failed["status"] == processes.FAILED
    requests = [each for kind, each in training.Plan().requests if kind == "memory"]
    [skipped] = [row for request in requests for row in training._skipped("memory", request)]
    assert skipped["n_annotators"] == 100_000
    text = training_page.make_page([*rows, failed, skipped])
    assert "not run: one-hot annotators" in text


def test_the_plan_covers_its_sections():
    kinds = [kind for kind, _ in training.Plan().requests]
    assert list(dict.fromkeys(kinds)) == list(training.SECTIONS)


def test_the_page_is_made_from_the_records(tmp_path, rows):
    kept = TRAINING.keep(rows, tmp_path)
    assert len(kept) == len(rows)
    assert training_page.make_page(TRAINING.read(tmp_path)) == training_page.make_page(rows)
