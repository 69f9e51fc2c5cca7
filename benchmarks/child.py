"""The fresh process: `python -m benchmarks.child '{"job": ..., ...}'` prints JSON lines."""

import json
import sys
from typing import Any

from benchmarks.gauges import cap_memory
from benchmarks.jobs import JOBS

_MEMORY_SHARE = 0.9


def main() -> None:
    """Do one job and print its numbers as they come; an exhausted memory is a number too."""
    request: dict[str, Any] = json.loads(sys.argv[1])
    cap_memory(_MEMORY_SHARE)
    try:
        for part in JOBS[request.pop("job")](**request):
            print(json.dumps(part), flush=True)
    except MemoryError:
        print(json.dumps({"status": "out of memory"}), flush=True)


if __name__ == "__main__":
    main()
