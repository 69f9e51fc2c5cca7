"""The picture of the page on `manyhands serve`: a file of the demo, in headless Chromium.

python docs/serve_picture.py --out docs/images/serve.png
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import manyhands as mh

SIZE = "900,820"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        labels = Path(folder) / "digits.csv"
        mh.io.write_annotations(mh.datasets.load_demo(0).crowd.annotations, labels)
        command = [sys.executable, "-m", "manyhands", "serve", labels, "--no-browser", "--json"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            page = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")["page"]
            shot = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
            shot += ["--virtual-time-budget=20000", f"--window-size={SIZE}", f"--screenshot={out}"]
            subprocess.run([*shot, page], check=True, capture_output=True)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
