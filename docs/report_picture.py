"""The picture of the page on reports: the report of the demo, in headless Chromium.

python docs/report_picture.py --out docs/images/report.png
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import manyhands as mh

SIZE = "1200,1500"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.resolve()
    crowd = mh.datasets.load_demo(0).crowd
    content = mh.report.report_content(
        mh.aggregate(crowd.annotations), title="Handwritten digits", truth=crowd.truth_by_item
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        mh.report.write_report(content, page)
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += ["--virtual-time-budget=8000", f"--window-size={SIZE}", f"--screenshot={out}"]
        subprocess.run([*command, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
