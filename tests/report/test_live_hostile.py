"""Over 200 hostile requests to the running server: no data, no crash, bounded memory, no rest."""

import json
import signal
from contextlib import ExitStack

import psutil
import pytest
from live_server import answer_of, head, live_server

pytestmark = pytest.mark.slow

SECRET = "secret-item"
LABELS = "item,annotator,label\n" + "".join(
    f"{SECRET}-{n % 40},person-{n % 5},{'yes' if n % 3 else 'no'}\n" for n in range(200)
)
BYTES, FORM = "application/octet-stream", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"
MAX_GROWTH = 150e6  # bytes of memory


def other_hosts(path):
    names = ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example",
             "evil.example#127.0.0.1", "127.0.0.1@evil.example", "0.0.0.0", "127.0.0.2", "127.1",
             "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]", "localhost.", "local",
             "", " ", "127.0.0.1:", "127.0.0.1:80:80", "127.0.0.1:-1", "127.0.0.1:1e3",
             "127.0.0.1\x00", "127.0.0.1,evil.example", "ⓛocalhost", "localhost/", "*", "null",
             "192.168.0.1", "10.0.0.1", "example.com:443"]  # fmt: skip
    names[17] = "127.0.0.1:²"
    return [head("GET", f"{path}/files/1", host=name) for name in names]


def wrong_tokens(path):
    guesses = ["/", "/files/1", "/files/1/state", "/results/2", "/results/2/files/consensus.csv",
               "/static/report.js", "/demo", "/open/", "/open/x", f"{path[:-1]}/", f"{path}x/",
               path.swapcase() + "/", path[1:] + "/", f"/{path[2:]}/files/1", f"/x{path}/files/1",
               f"/open{path}/", f"/%2f{path}", "/" + "A" * 43 + "/files/1", f"{path[:20]}/files/1",
               f"/?token={path[1:]}", "/;" + path, "/." + path, "//files/1", "/%00/files/1",
               "/favicon.ico", "/robots.txt", "/.git/config", "/index.html", "/admin",
               "*"]  # fmt: skip
    more = (f"Content-Type: {BYTES}", f"Content-Length: {len(LABELS)}")
    posts = [f"{guess}?name=x.csv" for guess in ("/files", "/files/", "/demo", f"{path[:-1]}/files",
             f"{path}x/files", "/upload", f"/x{path}/files", "/open/files")]  # fmt: skip
    found = [head("GET", guess) for guess in guesses]
    return found + [head("POST", guess, *more) + LABELS.encode() for guess in posts]


def traversals(path):
    targets = ["/static/../../page.py", "/static/..%2f..%2fpage.py",
               "/static/%2e%2e/%2e%2e/page.py",
               "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/static/....//page.py",
               "/static/..%5c..%5cpage.py", "/static/%252e%252e%252fpage.py",
               "/static/report.js%00",
               "/static/report.js/..", "/files/..", "/files/../1", "/files/%2e", "/files/1/../1",
               "/results/2/files/..", "/results/2/files/../consensus.csv",
               "/results/2/files/..%2f..%2f1%2flabels.csv", "/results/2/files/%2fetc%2fpasswd",
               "/results/2/files/file:%2f%2f%2fetc%2fpasswd", "/results/2/files/consensus.csv%00",
               "/results/2/files/CON", "/comparisons/1/files/../../1/labels.csv",
               "/results/2/items/..", "/files/1;/state", "/%2e%2e/%2e%2e/etc/passwd"]  # fmt: skip
    return [head("GET", path + target) for target in targets]


def huge_uploads(path):
    target = f"{path}/files?name=huge.csv"
    lengths = [
        1_000_001,
        10**7,
        10**9,
        10**12,
        10**18,
        2**63,
        2**64,
        10**30,
        "9" * 5000,
        "²",
        "0x9",
    ]
    found = [
        head("POST", target, f"Content-Type: {BYTES}", f"Content-Length: {n}") + b"x" * 65536
        for n in lengths
    ]
    found += [
        head(
            "POST", target, f"Content-Type: {BYTES}", f"Content-Length: {n}", "Expect: 100-continue"
        )
        for n in lengths[:4]
    ]
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    for n in (17, 32, 64, 128):  # more than a million bytes, whose number nobody says
        start = head("POST", target, f"Content-Type: {BYTES}", "Transfer-Encoding: chunked")
        found.append(start + chunk * n + b"0\r\n\r\n")
    for name in (
        "demo",
        "files/1/columns",
        "files/1/results",
        "files/1/remove",
        "results/2/exclude",
    ):
        start = head("POST", f"{path}/{name}", f"Content-Type: {FORM}", "Content-Length: 70000")
        found.append(start + b"a=" + b"x" * 69998)
    return found


def malformed_multipart(path):
    bodies = [b"", b"--", b"--x", b"--x--", b"--x\r\n", b"--x\r\n\r\n\r\n--x--\r\n",
              b"--y\r\n\r\nz",
              b'--x\r\nContent-Disposition: form-data; name="f"; filename="../../x"\r\n\r\nz\r\n',
              b'--x\r\nContent-Disposition: form-data; name="' + b"n" * 9000 + b'"\r\n\r\n',
              b"--x\r\nContent-Disposition: form-data\r\n" * 50, b"\x00" * 100, b"--x\n\nz\n--x--",
              b"--x\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!!\r\n--x--"]  # fmt: skip
    found = []
    for n, body in enumerate((*bodies, *bodies[:12])):
        kind = "multipart/form-data" if n % 4 == 3 else MULTIPART
        target = f"{path}/files?name=x.csv" if n < len(bodies) else f"{path}/demo"
        more = (f"Content-Type: {kind}", f"Content-Length: {len(body)}")
        found.append(head("POST", target, *more) + body)
    return found


def bad_methods(path):
    names = ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "PRI", "get",
             "X" * 200, "GETS", "POST"]  # fmt: skip
    found = [head(name, f"{path}/files/1") for name in names]
    for origin in ("http://evil.example", "null"):  # a form of another page that knows the token
        more = (f"Origin: {origin}", f"Content-Type: {FORM}", "Content-Length: 0")
        found.append(head("POST", f"{path}/files/1/remove", *more))
        found.append(head("POST", f"{path}/results/2/exclude", *more))
    more = ("Sec-Fetch-Site: cross-site", f"Content-Type: {FORM}", "Content-Length: 0")
    return [*found, head("POST", f"{path}/files/1/remove", *more)]


def giant_headers(path):
    target = f"{path}/files/1"
    found = [head("GET", target, f"X-Long: {'x' * n}") for n in (2**14, 2**16, 2**18, 2**20, 2**22)]
    found += [
        head("GET", target, *(f"X-{n}: {n}" for n in range(n_lines))) for n_lines in (5000, 99999)
    ]
    found += [head("GET", f"{target}?{'x' * n}") for n in (2**15, 2**17, 2**20)]
    found += [head("GET", f"{path}/{'x/' * n}") for n in (2**14, 2**17)]
    found += [
        head("GET", target, f"{'X' * 2**18}: 1"),
        head("GET", target, f"Cookie: {'a=b;' * 2**16}"),
    ]
    return [*found, head("GET", target, host="127.0.0.1:" + "1" * 2**15)]


def broken_http(path):
    target = f"{path}/files/1".encode()
    return [
        b"\r\n\r\n\r\n\r\nx", b"GET\r\n\r\n", b"GET " + target + b"\r\n\r\n", b"\x00" * 500,
        b"GET " + target + b" HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET " + target + b" HTTP/1.1\r\n\r\n",  # no host
        b"GET " + target + b" HTTP/1.0\r\n\r\n",
        b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nX : y\r\n\r\n",
        b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n: y\r\n\r\n",
        b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n",
        b"GET " + target + b"\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET http://evil.example" + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1, 2\r\n\r\n",
        b"POST " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: x\r\n\r\n",
        b"POST /files HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x11" * 300,  # a greeting of TLS
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    ]  # fmt: skip


def never_complete(path):
    """Requests whose rest never comes: heads and bodies."""
    upload = head("POST", f"{path}/files?name=slow.csv", f"Content-Type: {BYTES}",
                  "Content-Length: 5000")  # fmt: skip
    chunked = head("POST", f"{path}/files?name=slow.csv", f"Content-Type: {BYTES}",
                   "Transfer-Encoding: chunked")  # fmt: skip
    form = head("POST", f"{path}/demo", f"Content-Type: {FORM}", "Content-Length: 50")
    half = head("GET", f"{path}/files/1")[:-2]
    return [b"", b"G", b"GET / HTTP/1.1\r\n", half, half[:-1], half + b"X: ",
            upload, upload + b"item,", chunked + b"5\r\nitem,", chunked + b"5\r\nit",
            form, form + b"go="]  # fmt: skip


def test_no_hostile_request_gets_data_or_does_harm(tmp_path):
    with live_server(tmp_path, "--max-size", 1) as server, ExitStack() as stack:
        status, told = server.post("/files?name=labels.csv", LABELS.encode(), BYTES)
        assert (status, json.loads(told)["page"]) == (200, f"{server.path}/files/1")
        server.wait("/files/1")
        assert server.post("/files/1/results", b"method=majority")[0] == 303
        server.wait("/results/2")
        assert SECRET.encode() in server.get("/results/2/files/consensus.csv")[1]
        memory = psutil.Process(server.process.pid).memory_info
        before = memory().rss

        unfinished = never_complete(server.path)
        clients = [stack.enter_context(server.connect()) for _ in unfinished]
        for client, content in zip(clients, unfinished, strict=True):
            client.sendall(content)
        hostile = [
            request
            for make in (other_hosts, wrong_tokens, traversals, huge_uploads, malformed_multipart,
                         bad_methods, giant_headers, broken_http)
            for request in make(server.path)
        ]  # fmt: skip
        assert len(hostile) + len(unfinished) >= 200
        answers = [server.ask(request) for request in hostile]
        answers += [answer_of(client) for client in clients]  # they are closed in the end
        for request, (status, body) in zip([*hostile, *unfinished], answers, strict=True):
            assert status is None or 400 <= status < 600, request[:200]
            assert status != 500, request[:200]
            for data in (SECRET, "person-", server.path[1:], "manyhands-serve", "Traceback"):
                assert data.encode() not in body, request[:200]

        assert memory().rss - before < MAX_GROWTH
        assert server.process.poll() is None
        kept = {each.name for each in next(tmp_path.glob("manyhands-serve-*")).iterdir()}
        assert kept == {"1", "2"}  # the file and its result
        assert SECRET.encode() in server.get("/results/2/items")[1]
        code, _, err = server.end()
        assert (code, err) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_silent_connections_do_no_lasting_harm(tmp_path):
    """More than it accepts at a time, and bodies of which one byte comes; then all go."""
    with live_server(tmp_path) as server:
        upload = head("POST", f"{server.path}/files?name=x.csv", f"Content-Type: {BYTES}",
                      "Content-Length: 9")  # fmt: skip
        with ExitStack() as stack:
            clients = [stack.enter_context(server.connect()) for _ in range(100)]
            for client in clients[::5]:
                client.sendall(upload + b"i")
            assert server.get("/")[0] in (200, 503, None)
        # those that are gone are seen one by one
        assert any(server.get("/")[0] == 200 for _ in range(1000))
        assert server.process.poll() is None
        assert server.end()[0] == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_signals_end_it_and_nothing_is_left(tmp_path, number):
    """While a file is read, or after: nobody knows, and nothing is left in either case."""
    labels, home = tmp_path / "labels.csv", tmp_path / "home"
    labels.write_text(LABELS)
    home.mkdir()
    with live_server(home, labels) as server:
        assert server.page == f"{server.url}files/1"
        assert len(list(home.iterdir())) == 1
        assert server.end(number) == (0, "", "")
    assert list(home.iterdir()) == []
    assert labels.read_text() == LABELS  # a file of the command line stays
