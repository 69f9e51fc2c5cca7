"""Where the passes over labels run: compiled loops on the CPU, or a GPU."""

from types import ModuleType

from manyhands.core.errors import SettingError, SettingName

DEVICE = (
    "Where the passes over labels run. cuda: a GPU, with the same probabilities to 1e-6 and the "
    "same bits in every run."
)
_CPU = SettingName("device", "cpu")


def open_device() -> tuple[str, ModuleType]:
    """The name of the GPU in torch, and the module of its passes; a `SettingError` without one."""
    cuda = SettingName("device", "cuda")
    try:
        import torch
    except ImportError:
        raise SettingError(
            cuda, " needs torch; install manyhands[learn], or use ", _CPU
        ) from None  # fmt: skip
    if not torch.cuda.is_available():
        raise SettingError("no CUDA device was found; use ", _CPU)
    try:
        from manyhands.aggregation.kernels import triton_steps
    except ImportError:
        raise SettingError(
            cuda, " needs triton, which comes with torch for CUDA on Linux; install it, or use ",
            _CPU,
        ) from None  # fmt: skip
    return "cuda", triton_steps


def require_device_pass(name: str, device: str, has_pass: bool) -> None:
    """Raise a `SettingError` if an aggregator is to run on a device that it has no pass for."""
    if device == "cpu" or has_pass:
        return
    from manyhands.aggregation.catalog import AGGREGATORS  # it knows every model

    others = [each for each, model in AGGREGATORS.items() if model.has_device_pass]
    raise SettingError(
        f"{name} runs on the CPU only; use ", _CPU,
        f", or one of {', '.join(others)} with ", SettingName("device", device),
    )  # fmt: skip
