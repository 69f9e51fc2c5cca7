"""Who the local page answers, what it keeps, and what is left of it."""

import asyncio
import socket
import threading

import pytest
from command_line import SMALL, assert_refused, call
from live_client import BYTES, LiveClient, live_client

import manyhands as mh
from manyhands.report import local_page
from manyhands.report import page as report_page
from manyhands.report.live.guard import HEADERS, POLICY
from manyhands.report.live.jobs import Job
from manyhands.report.live.limits import Limits
from manyhands.report.live.session import Session, name_on_disk


@pytest.fixture(scope="module", autouse=True)
def _small_library():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_page, "chart_library", lambda: "window.drawChart = async () => {};")
        yield


@pytest.fixture
def live():
    with live_client(max_bytes=1000, max_files=2, max_results=2, max_waiting=1) as client:
        yield client


@pytest.fixture(scope="module")
def looked_at():
    """The page with a file and its result."""
    with live_client() as client:
        assert client.get(client.run(client.upload(SMALL))).status_code == 200
        yield client


def test_every_answer_has_the_safety_headers(live):
    for answer in (live.get("/"), live.http.get("/"), live.get("/none"), live.post("/files/1/x")):
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "set-cookie" not in answer.headers
    assert "unsafe-eval" not in POLICY
    assert "default-src 'none'" in POLICY


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:1234", "127.0.0.1.evil.example", "0.0.0.0:1234", "[::1]", "",
     "127.0.0.1:x", "localhost@evil.example", "127.0.0.1:1234:1", "2130706433", "127.1"],
)  # fmt: skip
def test_other_hosts_are_refused(live, host):
    answer = live.get("/", headers={"host": host})
    assert answer.status_code == 403
    assert live.path not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8000", "LOCALHOST:1"])
def test_names_of_this_computer_are_answered(live, host):
    assert live.get("/", headers={"host": host}).status_code == 200


def test_without_the_token_there_is_nothing(live):
    guesses = ["/", "/files/1", f"{live.path[:-1]}/", f"{live.path}x/", "//", f"/x{live.path}/",
               "/static/live.js", "/ü/", "/open/x"]  # fmt: skip
    for guess in guesses:
        answer = live.http.get(guess)
        assert answer.status_code == 404, guess
        assert answer.text.startswith("Not found")
        assert answer.headers["connection"] == "close"


def test_tokens_differ():
    with live_client() as one, live_client() as two:
        assert one.path != two.path
        assert len(one.path) > 40


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:99"},
     {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}],
)  # fmt: skip
def test_forms_of_other_pages_are_refused(live, headers):
    answer = live.http.post(f"{live.path}/demo", data={"go": "1"}, headers=headers)
    assert answer.status_code == 403
    own = {"origin": "http://127.0.0.1:1234", "sec-fetch-site": "same-origin"}
    answer = live.http.post(f"{live.path}/none", data={"go": "1"}, headers=own)
    assert answer.status_code == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "X"])
def test_other_methods_are_refused(live, method):
    answer = live.http.request(method, f"{live.path}/")
    assert answer.status_code == 405


def test_an_invitation_leads_to_the_page_once(live):
    path = live.guard.invite(f"{live.path}/")
    assert live.http.get(path, headers={"host": "evil.example"}).status_code == 403
    answer = live.http.get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{live.path}/")
    assert live.http.get(path).status_code == 404


def files_in(session):
    return sorted(str(each.relative_to(session.folder)) for each in session.folder.rglob("*"))


def test_files_that_are_too_large_are_refused_and_not_kept(live):
    address = f"{live.path}/files?name=x.csv"
    answer = live.http.post(address, content=b"x" * 1001, headers=BYTES)
    assert (answer.status_code, answer.text) == (
        413, "This is larger than 0.001 MB, which is the limit."
    )  # fmt: skip
    parts = iter([b"x" * 600, b"x" * 600])  # sent in chunks, without a length
    assert live.http.post(address, content=parts, headers=BYTES).status_code == 413
    assert live.http.post(
        f"{live.path}/demo", content=b"a=" + b"x" * 70_000,
        headers={"content-type": "application/x-www-form-urlencoded"},
    ).status_code == 413  # fmt: skip
    assert files_in(live.session) == []


@pytest.mark.parametrize(
    "kind", ["multipart/form-data", "multipart/form-data; boundary=x", "text/plain", ""]
)
def test_other_contents_than_bytes_are_refused(live, kind):
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="../x"\r\n\r\n'
    for path in ("/files?name=x.csv", "/demo"):
        answer = live.http.post(live.path + path, content=body, headers={"content-type": kind})
        assert answer.status_code == 415
    assert files_in(live.session) == []


@pytest.mark.parametrize("length", ["9" * 5000, "9" * 21, "\xb2", "-1", "1e3", "0x9", " "])
def test_lengths_that_are_no_number_are_refused(live, length):
    """The server refuses most of them before; this does not rely on it."""
    headers = BYTES | {"content-length": length.encode("latin-1")}
    answer = live.http.post(f"{live.path}/files?name=x.csv", content=b"x", headers=headers)
    assert answer.status_code == 413
    assert files_in(live.session) == []


@pytest.mark.parametrize("body", [b"a=%FF", b"\xff\xfe", b"&".join([b"a=1"] * 600)])
def test_broken_forms_are_refused(live, body):
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert live.http.post(f"{live.path}/demo", content=body, headers=headers).status_code == 400


@pytest.mark.parametrize("limits", [{"idle_seconds": 0.01}, {"body_seconds": 0.01}])
def test_a_body_that_does_not_come_is_refused(limits):
    """The client sends a part of a file and then nothing, or little by little for ever."""
    with Session(Limits(**limits)) as session:
        guard, answers = LiveClient(session).guard, []

        async def ask():
            drip = asyncio.Event()

            async def receive():
                if "idle_seconds" in limits and drip.is_set():
                    await asyncio.Event().wait()  # for ever
                drip.set()
                await asyncio.sleep(0.001)
                return {"type": "http.request", "body": b"x", "more_body": True}

            async def send(message):
                answers.append(message)

            scope = {
                "type": "http", "method": "POST", "http_version": "1.1",
                "path": f"{guard.path}/files", "root_path": "",
                "query_string": b"name=x.csv", "scheme": "http", "server": ("127.0.0.1", 1),
                "headers": [(b"host", b"127.0.0.1:1"), *(
                    (name.encode(), value.encode()) for name, value in BYTES.items())],
            }  # fmt: skip
            await guard(scope, receive, send)

        asyncio.run(ask())
        assert answers[0]["status"] == 408
        assert (b"connection", b"close") in answers[0]["headers"]
        assert files_in(session) == []


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2f..%2fpage.py", "/files/%2e%2e",
     "/results/1/files/..%2f..%2f..%2fetc%2fpasswd", "/results/..%2f1", "/comparisons/%00/state",
     "/static//etc/passwd", "/static/%5c..%5capp.py", "/sessions/1/state", "/files/1%20or%201"],
)  # fmt: skip
def test_no_path_leads_out(looked_at, path):
    assert looked_at.get(path).status_code == 404


def test_names_of_files_stay_in_their_folder(live):
    for name in ("../../x.csv", "/etc/x.csv", "..\\..\\x.csv", "~/x.csv", "x.csv\x00", "*.csv"):
        live.upload(SMALL, name)
        live.session.worker.wait()
        file = next(reversed(live.session.files.values()))
        assert file.labels is not None
        assert file.folder.parent == live.session.folder
        assert [each.name for each in file.folder.iterdir()] == [name_on_disk(name)]


def test_the_oldest_files_and_results_make_room(live):
    first, second = live.upload(SMALL), live.upload(SMALL)
    made = [live.run(second) for _ in range(3)]
    assert [live.get(each).status_code for each in made] == [404, 200, 200]
    third = live.upload(SMALL)
    assert [live.get(each).status_code for each in (first, second, third)] == [404, 200, 200]
    live.made(f"{second}/remove", go="1")
    assert [live.get(each).status_code for each in (second, made[2])] == [404, 404]
    assert {each.split("/")[0] for each in files_in(live.session)} == {third.rpartition("/")[2]}


def test_jobs_that_wait_are_limited_and_can_be_stopped(live):
    file = live.upload(SMALL)
    live.session.worker.wait()
    go, begun = threading.Event(), threading.Event()

    def hold(job):
        begun.set()
        go.wait()

    live.session.worker.submit(Job("x"), hold)
    begun.wait()
    waiting = live.made(f"{file}/results", method="majority")
    assert "Waiting for what runs before" in live.http.get(live.path + waiting).text
    state = live.http.get(f"{live.path}{waiting}/state").json()
    assert (state["state"], state["busy"]) == ("waiting", True)
    answer = live.post(f"{file}/results", method="majority")
    assert (answer.status_code, "wait already" in answer.text) == (503, True)
    assert live.post(f"{file}/columns", item="item").status_code == 503
    assert live.made(f"{waiting}/stop", go="1") == waiting
    go.set()
    assert "This was stopped." in live.get(waiting).text
    assert live.get(file).text.count("stopped") == 1
    assert live.get(live.run(file)).status_code == 200


def test_unknown_methods_are_refused(live):
    file = live.upload(SMALL)
    live.session.worker.wait()
    for method in ("", "gaussian", "x" * 10_000, "../x"):
        assert live.post(f"{file}/results", method=method).status_code == 400


def test_nothing_is_left_at_the_end():
    with live_client() as live:
        live.get(live.run(live.upload(SMALL)))
        folder = live.session.folder
        assert folder.stat().st_mode & 0o077 == 0  # nobody else may look
        assert files_in(live.session)
    assert not folder.exists()


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(local_page, "find_spec", lambda name: None)
    outcome = call("serve", "--no-browser")
    assert_refused(outcome)
    assert "pip install 'manyhands[serve]'" in outcome.err


def test_a_port_in_use_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = call("serve", "--no-browser", "--port", port)
    assert_refused(outcome)
    assert f"--port {port} is in use; leave it out" in outcome.err
    assert_refused(call("serve", "--no-browser", "--max-size", "0"))
    with pytest.raises(mh.core.SettingError, match="port must be"):
        mh.report.serve(port=-1)
