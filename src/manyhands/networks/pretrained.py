"""Encoders of texts or images, and tokenizers, in a local folder, as transformers writes them."""

import importlib
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

import torch

from manyhands.core.errors import DataError, first_line
from manyhands.core.settings import require
from manyhands.io.json_text import parse_json

PREFIX = "hf:"  # of the names of networks that are encoders of transformers
_MAX_LAYERS = 1000  # no encoder has more; a description that says so would build for hours
_NO_LIMIT = 1 << 20  # tokens; tokenizers without a limit say 10^30
_FROM_BYTES = 1 / 255  # to 0..1
_TOLERANCE = 1e-3
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def is_pretrained(network: Any) -> bool:
    """Whether a network is named by the folder of an encoder.

    >>> is_pretrained("hf:bert-base-cased"), is_pretrained("text-cnn"), is_pretrained(None)
    (True, False, False)
    """
    return isinstance(network, str) and network.startswith(PREFIX)


def load_transformers() -> Any:
    """The library, which takes seconds to import."""
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise DataError(
            f"networks named {PREFIX}DIR, and image-encoder, need transformers: "
            "pip install 'manyhands[text]'"
        ) from error


def folder_of(network: str) -> Path:
    """The folder of an encoder: that of the name, or its place in the cache of Hugging Face."""
    name = network.removeprefix(PREFIX)
    require(bool(name.strip()), "network", f"{PREFIX} and a folder, as in {PREFIX}bert", network)
    if Path(name).is_dir():
        return Path(name)
    load_transformers()
    hub = importlib.import_module("huggingface_hub")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except Exception:  # a name that no repository can have, or one that is not in the cache
        raise DataError(
            f"{network}: there is no folder {name!r}, and no model of this name in the cache of "
            "Hugging Face; nothing is downloaded: give the folder of a model"
        ) from None


def require_weights(folder: Path) -> None:
    """Raise a `DataError` unless the folder holds a description and weights that run no code."""
    if not (folder / "config.json").is_file():
        raise DataError(
            f"{folder}: there is no config.json; give a folder that save_pretrained of "
            "transformers wrote"
        )
    if any(folder.glob("*.safetensors")):
        return
    pickles = sorted(each.name for pattern in _PICKLES for each in folder.glob(pattern))
    if pickles:
        raise DataError(
            f"{folder}: has its weights in {pickles[0]}, a pickle, which can run any code when it "
            "is read, and not in a .safetensors file; save the model again with save_pretrained"
        )
    raise DataError(f"{folder}: there are no weights; model.safetensors is missing")


def read_body(folder: Path) -> Any:
    """The encoder of a folder, in 32-bit floats; nothing of the folder is run."""
    require_weights(folder)
    library = load_transformers()
    with _quiet(library):
        try:
            config = library.AutoConfig.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
            _require_plain(config)
            with torch.device("meta"):
                described = library.AutoModel.from_config(config, trust_remote_code=False)
            n_numbers = sum(each.numel() for each in described.parameters())
            n_bytes = sum(each.stat().st_size for each in folder.glob("*.safetensors"))
            if n_numbers > n_bytes:
                raise DataError(
                    f"config.json describes {n_numbers} weights, more than the files can hold"
                )
            body, found = library.AutoModel.from_pretrained(
                folder, config=config, local_files_only=True, use_safetensors=True,
                trust_remote_code=False, output_loading_info=True,
            )  # fmt: skip
        except DataError as error:
            raise error.at(folder) from None
        except Exception as error:  # nothing in a file may be more than refused
            raise DataError(f"{folder}: no encoder can be read: {first_line(error)}") from error
    lost = sorted(name for name in found["missing_keys"] if "pooler" not in name)
    if lost:
        raise DataError(
            f"{folder}: the weights lack {len(lost)} tensors of the encoder, such as {lost[0]!r}; "
            "they belong to another config.json"
        )
    return _encoder_of(body)


def read_image_moments(folder: Path) -> tuple[list[float], list[float]] | None:
    """The mean and deviation of the channels that the encoder of a folder expects, of 0..1.

    They are in `preprocessor_config.json`; None if the folder does not have it.
    """
    path = folder / "preprocessor_config.json"
    if not path.is_file():
        return None
    given = parse_json(path.read_bytes(), path)
    remedy = "without this file images are normalised by their own mean and deviation"
    if not isinstance(given, Mapping):
        raise DataError(f"{path}: expected settings by name; {remedy}")
    if given.get("do_normalize") is False:
        return [0.0] * 3, [1.0] * 3
    if "image_mean" not in given or "image_std" not in given:
        return None
    factor = given.get("rescale_factor", _FROM_BYTES)
    if not _are_numbers([factor]) or abs(255.0 * factor - 1.0) > _TOLERANCE:
        raise DataError(f"{path}: rescale_factor must be 1/255; got {factor!r}; {remedy}")
    mean, deviation = given["image_mean"], given["image_std"]
    if not (_are_numbers(mean, 3) and _are_numbers(deviation, 3) and min(deviation) > 0):
        raise DataError(
            f"{path}: image_mean and image_std must have three numbers each, of which the second "
            f"are above 0; got {mean!r:.60} and {deviation!r:.60}; {remedy}"
        )
    return list(map(float, mean)), list(map(float, deviation))


def _are_numbers(values: Any, length: int = 1) -> bool:
    """Whether these are so many finite numbers."""
    known = isinstance(values, list) and len(values) == length
    return known and all(isinstance(each, int | float) and isfinite(each) for each in values)


def new_body(config: Any) -> Any:
    """An encoder of this description, as `describe` gives it, with random weights."""
    if not isinstance(config, Mapping) or not isinstance(config.get("model_type"), str):
        raise DataError("the description of the encoder has no model_type")
    library, rest = load_transformers(), dict(config)
    with _quiet(library):
        made = library.AutoConfig.for_model(rest.pop("model_type"), **rest)
        _require_plain(made)
        return _encoder_of(library.AutoModel.from_config(made, trust_remote_code=False))


def describe(body: Any) -> dict[str, Any]:
    """What `config.json` holds of an encoder, as plain values."""
    described: dict[str, Any] = json.loads(body.config.to_json_string(use_diff=False))
    return {name: each for name, each in described.items() if name != "auto_map"}


def _encoder_of(body: Any) -> Any:
    """The encoder without what is not used: a decoder, and the pooler of another task."""
    if getattr(body.config, "is_encoder_decoder", False):
        body = body.get_encoder()
    pooler = getattr(body, "pooler", None)
    if isinstance(pooler, torch.nn.Module) and any(True for _ in pooler.parameters()):
        body.pooler = None  # one without weights, as ResNet has, is only called
    return body.float()


def _require_plain(config: Any) -> None:
    """Refuse descriptions that call for other code or for too much of it."""
    if getattr(config, "quantization_config", None) is not None:
        raise DataError("the encoder is quantised, and cannot be trained; give the original")
    n_layers = getattr(config, "num_hidden_layers", 0)
    if not isinstance(n_layers, int) or n_layers > _MAX_LAYERS:
        raise DataError(f"config.json says that the encoder has {n_layers!r} layers")
    # Attention from a repository would be downloaded; transformers chooses one that it has.
    if "/" in str(getattr(config, "_attn_implementation", None)):
        config._attn_implementation = None


def n_positions(body: Any) -> int:
    """How many tokens an encoder can read at once."""
    config = body.config
    most = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if not isinstance(most, int) or most < 1:
        return _NO_LIMIT  # positions are relative
    table = [
        each for name, each in body.named_modules() if name.endswith("position_embeddings")
    ]  # RoBERTa's positions begin after that of padding
    first = getattr(table[0], "padding_idx", None) if table else None
    return most if first is None else most - first - 1


def read_tokenizer(folder: Path, *, words: bool = False) -> tuple[str, int]:
    """The tokenizer of a folder as JSON, and the number of tokens that it is meant for.

    With `words` it will get single words, which tokenizers that know where a word begins take as
    words after a blank.
    """
    library = load_transformers()
    with _quiet(library):
        try:
            found = library.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False, use_fast=True
            )
            text = str(found.backend_tokenizer.to_str())
        except Exception as error:  # nothing in a file may be more than refused
            raise DataError(
                f"{folder}: no tokenizer can be read; it needs a tokenizer.json: "
                f"{first_line(error)}"
            ) from error
    return _of_words(text) if words else text, int(min(found.model_max_length, _NO_LIMIT))


def _of_words(text: str) -> str:
    """A tokenizer, as JSON, that takes every word as one after a blank.

    >>> _of_words('{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}}')
    '{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}}'
    """
    described = json.loads(text)
    step = described.get("pre_tokenizer") or {}
    step = (step.get("pretokenizers") or [step])[0]  # the first of several sees whole words
    changes = {
        "ByteLevel": {"add_prefix_space": True},
        "Metaspace": {"prepend_scheme": "always"},
    }
    step |= changes.get(step.get("type"), {})
    return json.dumps(described, ensure_ascii=False)


def make_tokenizer(text: str) -> Any:
    """A tokenizer from its JSON, which neither pads nor cuts."""
    load_transformers()
    try:
        made = importlib.import_module("tokenizers").Tokenizer.from_str(text)
    except Exception as error:
        raise DataError(f"the tokenizer cannot be read: {first_line(error)}") from error
    made.no_padding()
    made.no_truncation()
    return made


@contextmanager
def _quiet(library: Any) -> Iterator[None]:
    """Keep the logs, warnings and progress bars of the library from the terminal."""
    said = library.utils.logging
    level, bars = said.get_verbosity(), said.is_progress_bar_enabled()
    said.set_verbosity_error()
    said.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        said.set_verbosity(level)
        if bars:
            said.enable_progress_bar()
