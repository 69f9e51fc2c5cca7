"""How the papers train: network, optimiser, rates, batches and epochs of every experiment.

A preset is what a paper says about one of its experiments. What it leaves open is listed with the
reading taken here, so that everything else in a preset is in the text of the paper. Where the
authors published their code, the reading is that of the code.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from manyhands.core.settings import Registry

P4 = ("p4/gaussians", "p4/cifar10", "p4/labelme")  # where EM is restarted
OWN_PAPER = "paper"  # the name of the preset of a method's own paper, as True is in Python
NetworkChoice = tuple[str, Mapping[str, Any]]  # a name of NETWORKS, and its settings
# Papers do not hold out labels of the crowd: training ends after the last epoch.
LAST_EPOCH = {"warm_up": 0, "validation_fraction": 0.0}


@dataclass(frozen=True, kw_only=True)
class Preset:
    """An experiment of a paper as settings.

    `training` are settings of the epoch loop. `network` is the network with its settings; it is
    for inputs of one kind, named by the network that is their default (`inputs`), and other inputs
    keep theirs. `scale` is how features are scaled. `left_open` says for every setting that the
    paper does not state why it has this value; the names of settings of the network begin with
    "network". `note` is what a preset cannot hold.
    """

    source: str
    task: Literal["classification", "regression", "tagging"] = "classification"
    training: Mapping[str, Any]
    network: NetworkChoice | None = None
    inputs: str = "mlp"
    scale: Literal["auto", "none", "standard"] = "none"
    left_open: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def network_for(self, default: str) -> NetworkChoice | None:
        """The network for inputs whose default network has this name; None if there is none."""
        return self.network if self.inputs == default else None


def _adam(learning_rate: float, **others: Any) -> dict[str, Any]:
    return {**LAST_EPOCH, "optimizer": "adam", "learning_rate": learning_rate, **others}


_P2_SGD = {
    **LAST_EPOCH,
    "optimizer": "sgd",
    "learning_rate": 0.1,
    "weight_decay": 1e-3,
    "momentum": 0.8,
}
_NOT_STATED = "not stated; no scaling"
_KERAS = "not stated; the public code has Keras' Adam"
_P0_CODE = {
    "optimizer": "the text names SGD and Adam in general; the public code has Adam",
    "learning_rate": _KERAS,
    "batch_size": "not stated; as in the public code",
    "epochs": "not stated; as in the public code, the last epoch",
    "scale": _NOT_STATED,
}
_P3_SEARCHED = {
    "learning_rate": "searched among 0.02, 0.01 and 0.005; the middle one, as in the public code",
    "batch_size": "not stated; as in the public code",
    "epochs": "not stated; 100, the last epoch (the paper takes the best on validation labels)",
    "scale": _NOT_STATED,
}
_P3_TRAINING = _adam(1e-2, batch_size=1024, epochs=100)
_P3_NETWORK = {"hidden": (128,), "dropout": 0.5}
_P4_TRAINING = _adam(1e-3, batch_size=64, epochs=50, tol=0.03)
_P4_OPEN = {
    "learning_rate": "not stated; that of Adam's authors, as in the public code",
    "batch_size": "not stated; as in the public code",
    "tol": "'below a threshold' that is not stated; as in the public code",
    "scale": _NOT_STATED,
}

PUBLISHED: Registry[Preset] = Registry(
    "preset",
    {
        "p0/labelme": Preset(
            source="Rodrigues and Pereira 2018, LabelMe",
            training=_adam(1e-3, batch_size=64, epochs=50),
            network=("mlp", {"hidden": (128,), "dropout": 0.5}),
            left_open=_P0_CODE,
            note="Features are those of the convolutional layers of VGG-16.",
        ),
        "p0/dogs-cats": Preset(
            source="Rodrigues and Pereira 2018, Dogs vs. Cats",
            training=_adam(1e-3, batch_size=16, epochs=30),
            network=("dogs-cats-cnn", {"hidden": 128, "dropout": 0.5, "batch_norm": True}),
            inputs="cnn",
            scale="auto",
            left_open={
                **_P0_CODE,
                "scale": "not stated; channels are normalised",
                "network channels": "four layers, whose channels are not stated",
            },
        ),
        "p0/reviews": Preset(
            source="Rodrigues and Pereira 2018, MovieReviews",
            task="regression",
            training=_adam(1e-3, batch_size=128, epochs=100),
            network=("text-cnn", {"n_features": 128, "hidden": 32, "dropout": 0.0}),
            inputs="text-cnn",
            left_open=_P0_CODE,
            note="Word vectors are not stated. Windows of a text are averaged, where the paper "
            "concatenates them. Labels are standardised.",
        ),
        "p0/ner": Preset(
            source="Rodrigues and Pereira 2018, named entities",
            task="tagging",
            training=_adam(1e-3, batch_size=1024, epochs=35, warm_up=5),
            network=("tagger", {"n_features": 512, "hidden": 50, "dropout": 0.5}),
            inputs="tagger",
            left_open={
                **_P0_CODE,
                "batch_size": "64 sentences in the public code; here a batch counts tokens",
                "epochs": "not stated; 5 on majorities, 30 on the crowd, as in the public code",
                "warm_up": "not stated; the public code first learns the majority for 5 epochs",
                "network dropout": "not stated; as in the public code",
            },
            note="Word embeddings start from the 300-dimensional vectors of GloVe: word_vectors.",
        ),
        "p1/sentiment": Preset(
            source="Chen et al. 2020, section 4.1, SPC",
            training=_adam(1e-4, batch_size=64, epochs=200),
            network=("mlp", {"hidden": (1200,), "dropout": 0.5}),
            left_open={"scale": _NOT_STATED},
            note="The features of the sentences are not stated.",
        ),
        "p1/music": Preset(
            source="Chen et al. 2020, section 4.1, MGC",
            training=_adam(1e-3, batch_size=64, epochs=5000),
            network=("logistic", {}),
            left_open={"scale": _NOT_STATED},
        ),
        "p2/labelme": Preset(
            source="softmax-Crowdlayer at LeWiDi, section 3.4",
            training=_adam(1e-3, batch_size=32, epochs=400),
            network=("mlp", {"hidden": (128, 128, 128, 128), "dropout": 0.2}),
            left_open={"learning_rate": "not stated; that of Adam's authors", "scale": _NOT_STATED},
        ),
        "p2/cifar10": Preset(
            source="softmax-Crowdlayer at LeWiDi, section 3.3",
            training={**_P2_SGD, "batch_size": 64, "epochs": 400},
            network=("wide-resnet", {"depth": 16, "width": 12}),
            inputs="cnn",
            scale="auto",
            left_open={
                "optimizer": "that of section 3.2, which describes the network",
                "learning_rate": "that of section 3.2",
                "weight_decay": "that of section 3.2",
                "momentum": "that of section 3.2",
                "scale": "not stated; channels are normalised",
            },
        ),
        "p2/cifar10-sam": Preset(
            source="softmax-Crowdlayer at LeWiDi, section 3.2",
            training={**_P2_SGD, "sam_rho": 0.05, "batch_size": 1000, "epochs": 95},
            network=("wide-resnet", {"depth": 16, "width": 12}),
            inputs="cnn",
            scale="auto",
            left_open={
                "sam_rho": "not stated; that of Foret et al. 2020",
                "epochs": "'scheduled in batches of 1000 for 60, 5, 10 and 20': their sum",
                "scale": "not stated; channels are normalised",
            },
        ),
        "p2/sentences": Preset(
            source="softmax-Crowdlayer at LeWiDi, section 3.5",
            training={"epochs": 1, **LAST_EPOCH},
            scale="auto",
            left_open={"scale": "texts have no scale"},
            note="Give network='hf:DIR', a pretrained BERT, with network_settings "
            "{'pooling': 'cls'}. Optimiser, rates and batches are not stated: they are those of "
            "fine-tuning here.",
        ),
        "p3/labelme": Preset(
            source="Chu, Ma and Wang 2021, real-world datasets, LabelMe",
            training=_P3_TRAINING,
            network=("mlp", {**_P3_NETWORK, "batch_norm": True}),
            left_open=_P3_SEARCHED,
            note="Features are those of VGG-16, of images that were flipped, rescaled and sheared "
            "to make 10,000 of 1,000.",
        ),
        "p3/music": Preset(
            source="Chu, Ma and Wang 2021, real-world datasets, Music",
            training=_P3_TRAINING,
            network=("mlp", {**_P3_NETWORK, "batch_norm": True}),
            scale="standard",
            left_open={
                **_P3_SEARCHED,
                "scale": "not stated; standardised: figures like the published ones are out of "
                "reach with features as they are",
            },
        ),
        "p3/synthetic": Preset(
            source="Chu, Ma and Wang 2021, synthesized datasets, Synthetic",
            training=_P3_TRAINING,
            network=("mlp", _P3_NETWORK),
            left_open=_P3_SEARCHED,
        ),
        "p3/cifar10": Preset(
            source="Chu, Ma and Wang 2021, synthesized datasets, CIFAR-10",
            training=_adam(5e-3, batch_size=256, epochs=20),
            network=("vgg16", {}),
            inputs="cnn",
            scale="auto",
            left_open={
                "learning_rate": "searched among 0.02, 0.01 and 0.005; the one that trains VGG-16",
                "batch_size": "not stated; 256",
                "epochs": "not stated; 20, the last epoch",
                "scale": "not stated; channels are normalised",
            },
        ),
        "p4/gaussians": Preset(
            source="Mena and Nanculef 2019, section 5, setup 1",
            training=_P4_TRAINING,
            network=("mlp", {"hidden": (16,), "dropout": 0.2}),
            scale="standard",
            left_open={
                **_P4_OPEN,
                "scale": "not stated; standardised, as in the public code",
                "network": "'known to be appropriate' and not described; that of the public code",
            },
        ),
        "p4/cifar10": Preset(
            source="Mena and Nanculef 2019, section 5, setup 2",
            training={**_P4_TRAINING, "batch_size": 128},
            network=(
                "cnn",
                {
                    "channels": (32, 64, 128),
                    "convolutions": 2,
                    "batch_norm": True,
                    "block_dropout": 0.25,
                },
            ),
            inputs="cnn",
            scale="auto",
            left_open={
                **_P4_OPEN,
                "scale": "not stated; channels are normalised",
                "network": "not described; that of the public code",
            },
        ),
        "p4/labelme": Preset(
            source="Mena and Nanculef 2019, section 5, LabelMe",
            training=_P4_TRAINING,
            network=("mlp", {"hidden": (128,), "dropout": 0.5}),
            left_open={**_P4_OPEN, "network": "'the setup of' Rodrigues and Pereira 2018"},
        ),
    },
)
