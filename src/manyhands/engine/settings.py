"""Every setting of a fit, declared once; those of the optimiser are in a file of their own.

The estimators inherit these declarations as constructor arguments, the command line makes options
of them, and `TrainingSettings` holds the values that a fit uses. Importing this module does not
load torch, so that `manyhands train --help` answers at once.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal

from manyhands.core.errors import SettingName
from manyhands.core.settings import (
    AT_LEAST_ONE,
    COUNT,
    FEW,
    FRACTION,
    POSITIVE,
    Rule,
    require,
    setting,
    settings_of,
)
from manyhands.engine.optimiser_settings import OptimiserOptions

RANKS = "ranks"
AUGMENTATIONS = ("flip", "crop", "shear", "rescale", "rotate")
_WARM_UP = Rule(COUNT.holds, "a whole number of epochs from 0 to epochs")
_AUGMENT = Rule(
    lambda value: set(augment_names(value)) <= set(AUGMENTATIONS),
    f"names among {', '.join(AUGMENTATIONS)}, in a list or separated by commas",
)
_PUBLISHED = Rule(
    lambda value: isinstance(value, bool | str | None), "True, False or the name of a preset"
)
_BELOW_ONE = Rule(lambda value: -math.inf < value < 1, "below 1")
_IMAGE_SIZE = Rule(lambda value: 1 <= value <= 4096, "a whole number in 1..4096")


def augment_names(value: Any) -> tuple[str, ...]:
    """The names of augmentations in a list or a text.

    >>> augment_names("flip, crop"), augment_names(None)
    (('flip', 'crop'), ())
    """
    names = value.split(",") if isinstance(value, str) else () if value is None else value
    return tuple(str(name).strip() for name in (names if isinstance(names, Iterable) else [names]))


@dataclass(kw_only=True, eq=False, repr=False)
class TrainingOptions(OptimiserOptions):
    """The settings of the epoch loop.

    An attribute is None where the setting is left to the method, although its annotation is that of
    the value that training then uses.
    """

    epochs: int = setting(
        50, "Number of passes over the labelled items.", rule=AT_LEAST_ONE, by_method=True
    )
    batch_size: int = setting(
        64,
        "Number of items per step. For tagging it counts tokens, and sentences stay whole.",
        rule=AT_LEAST_ONE,
        by_method=True,
    )
    warm_up: int = setting(
        0,
        "Number of epochs at the start that train the network alone, on the share of labels that "
        "each class has. For a warm-up of the learning rates see learning_rate_warm_up.",
        rule=_WARM_UP,
        by_method=True,
    )
    validation_fraction: float = setting(
        0.0,
        "Fraction of the labels or items held out for validation. The epoch with the best "
        "validation score is kept. With 0 the last epoch is kept.",
        rule=FRACTION,
        by_method=True,
    )
    validation_unit: Literal["labels", "items"] = setting(
        "labels",
        'What is held out: single labels, or items with all their labels ("items"; sentences for '
        "tagging). Regression and tagging hold out items by default.",
        by_method=True,
    )
    monitor: Literal["likelihood", "majority", "confidence", "log-odds", "annotator", "ranks"] = (
        setting(
            "likelihood",
            "Criterion that picks the best epoch on the validation labels: their likelihood; the "
            'share of items whose predicted class is their majority label ("majority", weighted '
            'in "confidence" and "log-odds"); the share of labels predicted for their annotator '
            '("annotator"); or the average rank over all ("ranks", which needs refit).',
            by_method=True,
        )
    )
    patience: int | None = setting(
        None,
        "Stop after this many epochs without a better validation score.",
        rule=AT_LEAST_ONE,
        by_method=True,
    )
    refit: bool = setting(
        False,
        "Once the best epoch is known, train anew on all labels for as many epochs.",
        by_method=True,
    )
    tol: float | None = setting(
        None,
        "Stop after an epoch that changed the loss by less than this. Methods that alternate "
        "compare the log-likelihood per label instead.",
        rule=POSITIVE,
        by_method=True,
    )
    label_smoothing: float = setting(
        0.0,
        "Weight of the uniform distribution in what is learnt: a label, or the target of an item, "
        "becomes (1 - label_smoothing) times itself plus label_smoothing / K for each of the "
        "K classes. A negative one sharpens; the loss then has no lower bound. For the two-stage "
        "methods, cross-fit and noise models of classes.",
        rule=_BELOW_ONE,
        by_method=True,
    )
    augment: Any = setting(
        None,
        "Random changes of images in training: flip (left and right), crop (move by up to an "
        "eighth of a side), shear, rescale, rotate; separated by commas, in Python also a list.",
        rule=_AUGMENT,
    )
    sparse: bool | None = setting(
        None,
        "Update only the annotators of each batch (sparse Adam), so that a step costs the same for "
        "any number of annotators. By default only for large crowds. Results differ slightly.",
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = setting("auto", "Device to train on.")
    devices: int = setting(
        1, "Number of devices of a machine, each with a process of its own.", rule=FEW
    )
    nodes: int = setting(
        1,
        "Number of machines. Each runs the same command; MASTER_ADDR, MASTER_PORT and NODE_RANK "
        "in the environment tell them of each other, or torchrun does.",
        rule=FEW,
    )
    precision: Literal["32", "bf16"] = setting(
        "32", 'Floating-point precision of training: "32", or "bf16" for mixed precision.'
    )
    compile: bool = setting(
        False,
        "Compile the network with torch.compile, which takes a minute at the start and makes the "
        "steps of large networks on a GPU faster. It needs Triton or a C++ compiler; dropout then "
        "draws other numbers.",
    )
    threads: int | None = setting(
        None,
        "Number of torch threads on the CPU. By default one for small networks, else all cores.",
        rule=FEW,
    )
    seed: int = setting(0, "Seed of all random numbers.")


@dataclass(eq=False, repr=False)
class EstimatorOptions(TrainingOptions):
    """The settings that all estimators share: the network, the method and the epoch loop."""

    network: Any = setting(
        None,
        "Name of a network, such as mlp, or hf:DIR for an encoder of transformers in a local "
        "folder; by default one that suits the features. In Python also a torch module, of which a "
        "copy is trained, or a function of (shape, n_outputs) that makes one.",
        group="Network",
    )
    method: Any = setting(None, "A name of `METHODS`, or a `Method` with settings of its own.")
    _: KW_ONLY
    published: Any = setting(
        None,
        "Train as a paper does: its model of annotators, its network, scaling, optimiser, rates "
        'and epochs. "paper" (in Python also True) takes the paper of the method, and a name such '
        "as p1/music one of its experiments. What is given besides has precedence.",
        rule=_PUBLISHED,
    )
    network_settings: Mapping[str, Any] | None = setting(
        None,
        "A setting of a network by name, such as depth=16 for wide-resnet or hidden=[128,128] for "
        'mlp; in Python {"depth": 16}.',
        group="Network",
    )
    noise: Mapping[str, Any] | None = setting(
        None, 'A setting of the noise model, such as omega=0 for conal; in Python {"omega": 0.0}.'
    )
    init: Literal["auto", "own", "consensus"] | None = setting(
        None,
        'How the noise model is initialised: "own" as its paper says, "consensus" with the '
        'confusion matrices of annotators against an aggregated consensus, "auto" with these '
        "unless the consensus puts nearly all items in one class.",
        by_method=True,
    )
    word_vectors: Any = setting(
        None,
        "File of vectors that word embeddings are initialised with: GloVe's text format, or .npz. "
        "In Python also `WordVectors`.",
        group="Network",
    )
    freeze_embeddings: bool = setting(False, "Do not train the word embeddings.", group="Network")
    checkpoint: str | Path | None = setting(
        None,
        "Folder for checkpoints and the log. `fit(..., resume=True)` continues from it.",
        group="Output",
    )
    progress: bool = setting(True, "Show a progress bar.", group="Output")


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureOptions(EstimatorOptions):
    """The settings of estimators whose items are rows of features or texts."""

    scale: Literal["auto", "rms", "standard", "none"] = setting(
        "auto",
        'How features are scaled: "rms" divides all by one root mean square, "standard" gives each '
        'mean 0 and variance 1. "auto" chooses by the features, and does not scale them for a '
        "network of your own.",
        group="Network",
    )
    max_tokens: int | None = setting(
        1000,
        "Number of tokens of a text that are read, from its beginning; in Python None reads all. "
        "An encoder of transformers reads no more than it was made for.",
        rule=AT_LEAST_ONE,
        group="Network",
    )
    image_size: int | None = setting(
        None,
        "Height and width of images in pixels: the shorter side is resized and the longer one "
        "cropped. By default their own size if all have the same of at most 128, else the median "
        "of the shorter sides up to 128.",
        rule=_IMAGE_SIZE,
        group="Network",
    )


@dataclass(kw_only=True, eq=False, repr=False)
class TaggingOptions(EstimatorOptions):
    """The settings of estimators whose items are the tokens of sentences."""

    transitions: Literal["none", "bio", "learned", "learned-bio"] = setting(
        "none",
        "Scores between neighbouring tags, which make the network a conditional random field: "
        '"learned" with the network, "bio" fixed so that only valid BIO tags are possible, or '
        '"learned-bio" for both. "none": the tags of a sentence are independent given its words. '
        "For noise models, em, conal-em and the two-stage methods.",
        group="Network",
    )

    valid_bio: bool = setting(
        True, "Predict only valid BIO tags: every I-X follows a B-X or an I-X.", group="Output"
    )


@dataclass(kw_only=True)
class TrainingSettings(TrainingOptions):
    """The values that a fit uses: every setting of `TrainingOptions`, filled in and checked."""

    def __post_init__(self) -> None:
        for name, declared in settings_of(TrainingOptions).items():
            value = getattr(self, name)
            value = declared.fallback if value is None else value
            setattr(self, name, None if value is None else declared.checked(value))
        require(self.warm_up <= self.epochs, "warm_up", _WARM_UP.text, self.warm_up)
        self.require_optimiser(self.epochs)
        self._require_validation()

    def _require_validation(self) -> None:
        name, fraction = "validation_fraction", self.validation_fraction
        for needs, purpose, advised in (
            (self.patience is not None, "patience to have a validation score", 0.1),
            (self.monitor != "likelihood", f"monitor={self.monitor!r}", 0.15),
        ):
            remedy = "try ", SettingName(name, advised)
            require(fraction > 0 or not needs, name, f"above 0 for {purpose}", fraction, *remedy)
        require(
            self.monitor != RANKS or self.refit,
            "refit",
            f"True with monitor={RANKS!r}, which finds an epoch but keeps no weights of it",
            self.refit,
        )

    @property
    def n_processes(self) -> int:
        """The number of processes that train together."""
        return self.devices * self.nodes

    @property
    def accelerator(self) -> str:
        """The kind of device that is used; an error if the machine does not have it."""
        import torch

        n_cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
        kind = ("cuda" if n_cuda else "cpu") if self.device == "auto" else self.device
        there = {"cpu": self.devices, "cuda": n_cuda, "mps": int(torch.backends.mps.is_available())}
        cpu = SettingName("device", "cpu")
        require(there[kind] > 0, "device", "one that this machine has", kind, "try ", cpu)
        require(self.devices <= there[kind], "devices", f"at most {there[kind]}", self.devices)
        return kind
