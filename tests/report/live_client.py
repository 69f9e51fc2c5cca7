"""The local page without a socket: a client that knows the token, and waits for jobs."""

import re
from contextlib import contextmanager

from starlette.testclient import TestClient

from manyhands.report.live.app import make_app
from manyhands.report.live.limits import Limits
from manyhands.report.live.session import Session

BASE = "http://127.0.0.1:1234"
BYTES = {"content-type": "application/octet-stream"}


class LiveClient:
    """Requests below the token; redirects are followed, and pages come when jobs are done."""

    def __init__(self, session):
        self.session, self.guard = session, make_app(session)
        self.http = TestClient(self.guard, base_url=BASE)
        self.path = self.guard.path

    def get(self, path, **given):
        self.session.worker.wait()
        return self.http.get(self.path + path, **given)

    def post(self, path, **form):
        return self.http.post(self.path + path, data=form, follow_redirects=False)

    def upload(self, content, name="labels.csv", **headers):
        """Upload a file; the path of its page."""
        data = content if isinstance(content, bytes) else content.encode()
        answer = self.http.post(
            f"{self.path}/files", params={"name": name}, content=data, headers=BYTES | headers
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["page"].removeprefix(self.path)

    def made(self, path, **form):
        """Send a form; the path of the page that it leads to."""
        answer = self.post(path, **form)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].removeprefix(self.path)

    def run(self, file, method="majority"):
        """Run a method on a file; the path of the result."""
        self.session.worker.wait()
        return self.made(f"{file}/results", method=method)


@contextmanager
def live_client(**limits):
    with Session(Limits(**limits)) as session:
        yield LiveClient(session)


def texts(html):
    """What a page shows, without its markup, on one line."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())
