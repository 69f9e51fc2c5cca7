"""What to do when a device has not enough memory for a batch."""

from manyhands.core.errors import SettingError, SettingName
from manyhands.engine.settings import TrainingSettings

_SAID = ("out of memory", "can't allocate memory", "not enough memory")  # by torch, any device


def out_of_memory(error: BaseException, settings: TrainingSettings) -> SettingError | None:
    """An error that tells what to try; None for an error that is not about memory.

    >>> print(out_of_memory(RuntimeError("CUDA out of memory."), TrainingSettings(batch_size=64)))
    there is not enough memory for a batch of 64; try batch_size=32 and accumulate=2
    """
    text = str(error).lower()
    if not isinstance(error, MemoryError) and not any(said in text for said in _SAID):
        return None
    size = settings.batch_size
    begin = f"there is not enough memory for a batch of {size}; try "
    if size == 1:
        return SettingError(begin, "shorter or smaller inputs, or a smaller network")
    batch = SettingName("batch_size", size // 2)
    return SettingError(begin, batch, " and ", SettingName("accumulate", 2 * settings.accumulate))
