"""A pretrained encoder of images from a local folder, with a linear map to the logits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from manyhands.core.errors import DataError, first_line
from manyhands.core.settings import require
from manyhands.networks.images import ImageNetwork
from manyhands.networks.pretrained import describe, new_body, read_body
from manyhands.networks.sizes import require_dropout, require_flag


class ImageEncoder(ImageNetwork):
    """The body of an image model of transformers, such as ResNet, ViT or DINOv2, and a linear map.

    The folder holds `config.json` and weights as safetensors, as `save_pretrained` writes them.
    Nothing is downloaded, and no code of the folder is run. The features of an image are the mean
    over the pixels or patches, or the state of the class token where the model has one.

    Estimators normalise images (`read_images`) as `preprocessor_config.json` of the folder says, if
    it is there. Arrays are taken as they are given: normalise them as the encoder was trained. A
    saved model holds all weights and the description of the encoder, so it needs no other folder.

    Settings
    --------
    shape:
        (channels, height, width) of one image.
    n_classes:
        number of classes.
    folder:
        the folder of the encoder.
    freeze:
        do not train the encoder, only the linear map. Its dropout is off and its batch statistics
        stay as they are.
    dropout:
        share of the features that a training step leaves out before the linear map.
    config:
        what `config.json` holds, in place of a folder: the encoder then starts at random.

    Needs transformers, which the extra `text` installs.
    """

    name = "image-encoder"
    channels_last = False  # its body is not ours

    def __init__(
        self,
        shape: tuple[int, int, int],
        n_classes: int,
        *,
        folder: str | Path | None = None,
        freeze: bool = False,
        dropout: float = 0.0,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(shape, n_classes, smallest=1, why="an image has pixels")
        require_flag("freeze", freeze)
        require_dropout("dropout", dropout)
        given = (folder is None) != (config is None)
        require(given, "folder", "a folder with a pretrained encoder", folder)
        body = new_body(config) if folder is None else read_body(Path(folder))
        self.pretrained_config = describe(body)
        self.body, self.freeze = body, freeze
        self.has_class_token = any(
            "cls_token" in name or "class_embedding" in name for name, _ in body.named_parameters()
        )
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(self._n_features(), n_classes)
        self.body.requires_grad_(not freeze)

    def train(self, mode: bool = True) -> Self:
        """Switch to training; a frozen encoder stays as it predicts."""
        super().train(mode)
        if self.freeze:
            self.body.eval()
        return self

    def logits(self, image_b: Tensor) -> Tensor:
        """See `ImageNetwork.logits`."""
        if len(image_b) == 0:
            return image_b.new_zeros(0, self.n_classes) + 0.0 * self.output.bias
        logits_bk: Tensor = self.output(self.dropout(self.features(image_b)))
        return logits_bk

    def features(self, image_b: Tensor) -> Tensor:
        """The features of every image, shape (b, f)."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.freeze):
            states: Tensor = self.body(pixel_values=image_b).last_hidden_state
        if states.dim() == 4:
            return states.mean(dim=(2, 3))
        return states[:, 0] if self.has_class_token else states.mean(dim=1)

    def _n_features(self) -> int:
        """The number of features, seen on an image of zeros."""
        self.body.eval()
        try:
            with torch.no_grad():
                found = self.features(torch.zeros(1, *self.shape))
        except (RuntimeError, ValueError) as error:
            raise DataError(
                f"the encoder cannot take images of shape {self.shape}: {first_line(error)}"
            ) from error
        self.body.train()
        return found.shape[1]
