"""The presets say what the papers say: a transcription, sentence by sentence, with its section.

P0 Rodrigues and Pereira 2018, P1 Chen et al. 2020, P2 softmax-Crowdlayer at LeWiDi, P3 Chu, Ma and
Wang 2021, P4 Mena and Nanculef 2019. A line is (row of METHODS, preset, where, name, value,
section, words of the paper). `where` is training, network, noise (settings of the noise model) or
method (fields of the method).
"""

from pathlib import Path

import pytest

from manyhands.estimators import ESTIMATORS
from manyhands.estimators.choices import network_choice
from manyhands.methods import METHODS, PUBLISHED

CROWD_LAYERS = ("crowd-layer-vw", "crowd-layer-vb", "crowd-layer-vwb", "crowd-layer-mw")
P0_START = "initialize the crowd layer with identities"
P0_LABELME = "one FC layer (with 128 units and ReLU activations)"
P0_REVIEWS = "convolutional layer with 128 features"
P1_SPC = "an MLP with one hidden layer (with 1200 units, ReLU activations), using 50% dropout"
P1_NUMBERS = "The learning rate is 0.0001, batch-size is 64, and epoch number is 200"
P1_DIFFICULTY = "an MLP with one hidden layer (with 128 units, ReLU activations, 50% dropout)"
P1_MUSIC = "an MLP with one hidden layer (with 32 units, ReLU activations, 50% dropout"
P2_SAM = "A learning rate of 0.1 with weight decay of 0.001 and momentum of 0.8"
P2_MLP = "4 hidden layers with 128 Relu Units each"
P2_LENGTH = "A training epoch of 400 and batch size of 32 were used"
P3_LAYER = "only one fully connected (FC) layer (with 128 units and ReLU activations)"
P3_REAL = "a FC layer with 128 units and ReLU activations"
P3_LOSS = "the cross-entropy loss between the observed annotations and predicted annotation"
P4_HOW = "up to a maximum of 50 iterations"
P4_RESTARTS = "Multiple restarts (20) was applied for *DL-EM* and our method"
P4_START = "The initialization of the EM algorithm is done with *softMV*"
LABELME, SPC, MUSIC = "p0/labelme", "p1/sentiment", "p1/music"

STATED = [
    *((name, LABELME, "method", "init", "own", "Crowd layer", P0_START) for name in CROWD_LAYERS),
    *((name, LABELME, "noise", "scale", None, "Crowd layer", P0_START) for name in CROWD_LAYERS),
    ("crowd-layer-mw", LABELME, "noise", "prior_precision", None, "Crowd layer",
     "the initialization alternative provides the best results"),
    ("em", LABELME, "method", "every", 1, "EM algorithm",
     "one EM iteration per training epoch provides good computational efficiency"),
    ("two-stage-majority", LABELME, "method", "hard", True, "Image classification",
     "(hard) majority voting"),
    ("crowd-layer-mw", LABELME, "network", "hidden", (128,), "Image classification", P0_LABELME),
    ("crowd-layer-mw", LABELME, "network", "dropout", 0.5, "Image classification",
     "using 50% dropout"),
    ("truth", "p0/dogs-cats", "network", "hidden", 128, "Image classification",
     "layer with 128 ReLU units"),
    ("truth", "p0/dogs-cats", "network", "batch_norm", True, "Image classification",
     "We use batch normalization"),
    ("truth", "p0/dogs-cats", "network", "dropout", 0.5, "Image classification",
     "apply 50% dropout between the FC and output layers"),
    *((f"crowd-layer-{kind}", "p0/reviews", "noise", "precision", "none", "Text regression",
       "a per-annotator bias parameter br") for kind in ("s", "b", "sb")),
    *((f"crowd-layer-{kind}", "p0/reviews", "method", "init", "own", "Crowd layer",
       "zeros for additive parameters, ones for scalar parameters") for kind in ("s", "b", "sb")),
    ("two-stage-mean", "p0/reviews", "network", "n_features", 128, "Text regression", P0_REVIEWS),
    ("two-stage-mean", "p0/reviews", "network", "hidden", 32, "Text regression",
     "a FC layer with 32 hidden units"),
    ("two-stage-mean", "p0/reviews", "network", "dropout", 0.0, "Text regression", P0_REVIEWS),
    ("crowd-layer-mw", "p0/ner", "network", "n_features", 512, "Named entity recognition",
     "convolutional layer with 512 features"),
    ("crowd-layer-mw", "p0/ner", "network", "hidden", 50, "Named entity recognition",
     "a 50-dimensional hidden state"),
    ("speelfc", SPC, "network", "hidden", (1200,), "4.1", P1_SPC),
    ("speelfc", SPC, "network", "dropout", 0.5, "4.1", P1_SPC),
    ("speelfc", SPC, "training", "optimizer", "adam", "4.1", "Adam stochastic optimization"),
    ("speelfc", SPC, "training", "learning_rate", 1e-4, "4.1", P1_NUMBERS),
    ("speelfc", SPC, "training", "batch_size", 64, "4.1", P1_NUMBERS),
    ("speelfc", SPC, "training", "epochs", 200, "4.1", P1_NUMBERS),
    ("speelfc", SPC, "noise", "diagonal", 1.4 - 1, "4.1", "were initially set to 1.4"),
    ("speelfc-d", SPC, "noise", "n_hidden", 128, "4.1", P1_DIFFICULTY),
    ("speelfc-d", SPC, "noise", "dropout", 0.5, "4.1", P1_DIFFICULTY),
    ("speelfc-d", SPC, "noise", "difficulty_rate", 1.0, "4.1", P1_NUMBERS),
    ("speelfc-d", SPC, "noise", "l1", 0.001, "4.1", "are 0.001 and 100, respectively"),
    ("speelfc-d", SPC, "noise", "l2", 100.0, "4.1", "are 0.001 and 100, respectively"),
    ("speelfc-d", SPC, "noise", "alpha", 0.028, "4.1", "initially set to 0.028"),
    ("speelfc", MUSIC, "network", None, "logistic", "4.1", "the MLP without hidden layer"),
    ("speelfc", MUSIC, "training", "optimizer", "adam", "4.1", "the other settings are the same"),
    ("speelfc", MUSIC, "training", "learning_rate", 1e-3, "4.1", "The learning rate is 0.001"),
    ("speelfc", MUSIC, "training", "batch_size", 64, "4.1", "the other settings are the same"),
    ("speelfc", MUSIC, "training", "epochs", 5000, "4.1", "and epoch number is 5000"),
    ("speelfc", MUSIC, "noise", "diagonal", 4.7 - 1, "4.1", "were initially set to 4.7"),
    ("speelfc-d", MUSIC, "noise", "n_hidden", 32, "4.1", P1_MUSIC),
    ("speelfc-d", MUSIC, "noise", "dropout", 0.5, "4.1", P1_MUSIC),
    ("speelfc-d", MUSIC, "noise", "difficulty_rate", 1e-4 / 1e-3, "4.1",
     "the learning rate on θNN2 is 0.0001"),
    *(("crowd-layer-mw", name, "method", "init", "own", "4.1",
       "The settings of the compared methods are the same as ours") for name in (SPC, MUSIC)),
    ("softmax-crowd-layer", "p2/labelme", "network", "hidden", (128,) * 4, "3.4", P2_MLP),
    ("softmax-crowd-layer", "p2/labelme", "network", "dropout", 0.2, "3.4", "drop out of 0.2"),
    ("softmax-crowd-layer", "p2/labelme", "training", "optimizer", "adam", "3.4",
     "an optimiser made of Adam optimizer"),
    ("softmax-crowd-layer", "p2/labelme", "training", "epochs", 400, "3.4", P2_LENGTH),
    ("softmax-crowd-layer", "p2/labelme", "training", "batch_size", 32, "3.4", P2_LENGTH),
    ("softmax-crowd-layer", "p2/cifar10", "training", "epochs", 400, "3.3",
     "A training epoch of 400 and batch size of 64"),
    ("softmax-crowd-layer", "p2/cifar10", "training", "batch_size", 64, "3.3",
     "A training epoch of 400 and batch size of 64"),
    *(("softmax-crowd-layer", name, "network", "depth", 16, "3.2", "together with 16 layers")
      for name in ("p2/cifar10", "p2/cifar10-sam")),
    *(("softmax-crowd-layer", name, "network", "width", 12, "3.2", "A widening factor of 12")
      for name in ("p2/cifar10", "p2/cifar10-sam")),
    ("two-stage-majority", "p2/cifar10-sam", "training", "optimizer", "sgd", "3.2",
     "SGD) as its base optimiser"),
    ("two-stage-majority", "p2/cifar10-sam", "training", "learning_rate", 0.1, "3.2", P2_SAM),
    ("two-stage-majority", "p2/cifar10-sam", "training", "weight_decay", 0.001, "3.2", P2_SAM),
    ("two-stage-majority", "p2/cifar10-sam", "training", "momentum", 0.8, "3.2", P2_SAM),
    ("two-stage-majority", "p2/cifar10-sam", "training", "batch_size", 1000, "3.2",
     "scheduled in batches of 1000 for 60, 5, 10 and 20"),
    ("softmax-crowd-layer", "p2/sentences", "training", "epochs", 1, "3.5", "run for 1 epoch"),
    *(("conal", name, "training", "optimizer", "adam", "Backbone networks & training details",
       "We trained the network using the Adam optimizer") for name in PUBLISHED if "p3" in name),
    ("conal", "p3/synthetic", "network", "hidden", (128,), "Synthesized Datasets", P3_LAYER),
    ("conal", "p3/synthetic", "network", "dropout", 0.5, "Synthesized Datasets",
     "using 50% dropout"),
    *(("conal", name, "network", key, value, "Real-world Datasets", words)
      for name in ("p3/labelme", "p3/music")
      for key, value, words in (
          ("hidden", (128,), P3_REAL),
          ("dropout", 0.5, "using 50% dropout"),
          ("batch_norm", True, "is performed 1https://www.mturk.com/ in each layer"),
      )),
    ("conal", "p3/cifar10", "network", None, "vgg16", "Synthesized Datasets",
     "use VGG-16 as the backbone network"),
    ("conal", "p3/labelme", "noise", "strength", 1e-5, "Influence of the regularization term",
     "5 achieves best performance empirically"),
    ("conal", "p3/labelme", "noise", "reduction", "items", "End-to-end Learning", P3_LOSS),
    ("conal", "p3/labelme", "noise", "temperature", None, "End-to-end Learning",
     "we normalize the learnt annotator and instance embeddings"),
    ("conal", "p3/labelme", "noise", "mix", None, "End-to-end Learning",
     "The final probability distribution of annotations is obtained as"),
    *(("mixture", name, "training", "optimizer", "adam", "5", "using the Adam optimizer")
      for name in PUBLISHED if "p4" in name),
    *(("mixture", name, "training", "epochs", 50, "5", P4_HOW)
      for name in PUBLISHED if "p4" in name),
    *((row, name, "method", "restarts", 20, "5", P4_RESTARTS)
      for row in ("em", "mixture") for name in PUBLISHED if "p4" in name),
    *((row, "p4/labelme", "method", "restarts", 1, "5", P4_RESTARTS)
      for row in ("two-stage-majority", "two-stage-soft-majority", "two-stage-dawid-skene")),
    ("em", "p4/labelme", "method", "start", "majority", "5", P4_START),
    ("mixture", "p4/labelme", "method", "start", "k-means", "5",
     "a $K$ -means clustering is previously done over annotations"),
    ("mixture", "p4/labelme", "method", "items_count_once", True, "3.3",
     "distribution on the categories"),
    ("mixture", "p4/labelme", "method", "n_groups", 3, "5", "(using  $M = 3$ )"),
    ("mixture", "p4/gaussians", "method", "n_groups", 3, "5", "$M = 3$  (experts, inexperts"),
]  # fmt: skip


def configured(row, preset, given=None):
    """The method, network and network settings of a row under a preset."""
    task = PUBLISHED[preset].task
    model = ESTIMATORS[task](method=row, published=preset, **(given or {}))
    method = model._resolve_method()
    network, settings = network_choice(model, method, PUBLISHED[preset].inputs)
    return method, network, settings


@pytest.mark.parametrize(
    ("row", "preset", "where", "name", "value"),
    [line[:5] for line in STATED],
    ids=["-".join(map(str, line[:4])) for line in STATED],
)
def test_the_settings_are_those_of_the_text(row, preset, where, name, value):
    method, network, settings = configured(row, preset)
    if where == "network":
        assert (network if name is None else settings[name]) == value
    elif where == "training":
        assert method.defaults[name] == value
    elif where == "noise":  # None: as the layer itself starts, which is that of the paper
        assert method.noise_spec[1].get(name) == pytest.approx(value)
    else:
        assert getattr(method, name) == value


@pytest.mark.parametrize("preset", list(PUBLISHED))
def test_every_setting_is_stated_or_left_open(preset):
    """Nothing in a preset is without a source: the text, or a reason where the text is silent."""
    found = PUBLISHED[preset]
    ends = {"warm_up", "validation_fraction"}  # no paper holds labels of the crowd out
    held = {("training", name) for name in found.training} | {("scale", "scale")}
    if found.network is not None:
        held |= {("network", name) for name in found.network[1]}
    said = {(line[2], line[3]) for line in STATED if line[1] == preset}
    left = set(found.left_open)
    unexplained = {
        (where, name)
        for where, name in held - said
        if name not in left | ends and f"{where} {name}" not in left and where not in left
    }
    assert unexplained == set()


@pytest.mark.parametrize("name", list(METHODS))
def test_no_method_keeps_settings_of_this_library_as_published(name):
    """No prior around the start, no consensus, no warm-up, no search, no rate for annotators."""
    method = METHODS[name].published()
    assert method.defaults.get("validation_fraction", 0.0) == 0.0
    assert method.defaults.get("warm_up", 0) == 0
    assert "noise_learning_rate" not in method.defaults
    assert "prior_precision" not in method.noise_spec[1]
    assert getattr(method, "init", "own") == "own"
    assert not getattr(method, "guarded", False)


@pytest.mark.parametrize("name", list(PUBLISHED))
def test_the_page_shows_every_preset_as_it_is(name):
    page = Path(__file__).parents[2] / "docs/how-to/published.md"
    (line,) = (each for each in page.read_text().splitlines() if each.startswith(f"| `{name}` |"))
    preset = PUBLISHED[name]
    ends = {"warm_up", "validation_fraction"}
    held = {key: each for key, each in preset.training.items() if each or key not in ends}
    network = {} if preset.network is None else preset.network[1]
    shown = {key: list(each) if isinstance(each, tuple) else each for key, each in network.items()}
    assert all(f"{key}={each}" in line for key, each in (held | shown).items())
    assert preset.source in line
    assert all(each in line for each in preset.left_open)
