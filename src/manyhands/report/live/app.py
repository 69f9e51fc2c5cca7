"""The addresses of the page, and what they do."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from manyhands.report.live.guard import Guard, Refusal, form_values, upload_parts
from manyhands.report.live.pages import Pages, download, static_file
from manyhands.report.live.results import DOWNLOADS
from manyhands.report.live.session import OpenedFile, Session, name_on_disk

Handler = Callable[[Request], Awaitable[Response]]


class _Site:
    """The handlers of all addresses."""

    def __init__(self, session: Session, pages: Pages) -> None:
        self.session, self.pages, self.n_uploads = session, pages, 0

    def routes(self) -> list[Route]:
        """Every address, with its method and handler."""
        get, post = self._get, self._post
        return [
            get("/", self.start),
            post("/files", self.upload),
            post("/demo", self.demo),
            get("/files/{id}", self.file),
            post("/files/{id}/columns", self.columns),
            post("/files/{id}/results", self.run),
            post("/files/{id}/comparisons", self.compare),
            post("/files/{id}/remove", self.remove),
            get("/results/{id}", self.result),
            get("/results/{id}/items", self.items),
            post("/results/{id}/exclude", self.leave_out),
            get("/results/{id}/files/{name}", self.result_file),
            get("/comparisons/{id}", self.comparison),
            get("/comparisons/{id}/files/{name}", self.comparison_file),
            get("/{kind}/{id}/state", self.state),
            post("/{kind}/{id}/stop", self.stop),
            get("/static/{name}", self.static),
        ]

    def _get(self, path: str, handler: Callable[[Request], Response]) -> Route:
        async def answer(request: Request) -> Response:
            return await run_in_threadpool(handler, request)  # a long table keeps nobody waiting

        return Route(path, answer, methods=["GET"])

    def _post(self, path: str, handler: Handler) -> Route:
        return Route(path, handler, methods=["POST"])

    def _to(self, path: str) -> Response:
        return RedirectResponse(f"{self.pages.base}{path}", 303)

    def start(self, _: Request) -> Response:
        return HTMLResponse(self.pages.start())

    async def upload(self, request: Request) -> Response:
        """Keep the body as a file, part by part, and read it."""
        if self.n_uploads >= self.session.limits.max_uploads:
            raise Refusal(503, "Other files are on their way. Try again in a moment.")
        name = request.query_params.get("name", "")[:300] or "labels"
        path = self.session.new_folder() / name_on_disk(name)
        parts = upload_parts(request, self.session.limits)
        self.n_uploads += 1
        try:
            path.parent.mkdir(mode=0o700)
            with path.open("xb") as stream:
                async for part in parts:
                    await asyncio.to_thread(stream.write, part)
            file = self.session.open_upload(path, name)
        except BaseException:
            path.unlink(missing_ok=True)
            path.parent.rmdir()
            raise
        finally:
            self.n_uploads -= 1
        return JSONResponse({"page": f"{self.pages.base}/files/{file.id}"})

    async def demo(self, request: Request) -> Response:
        await form_values(request, self.session.limits)
        file = await run_in_threadpool(self.session.open_demo)
        return self._to(f"/files/{file.id}")

    def file(self, request: Request) -> Response:
        file = self._file(request)
        page = self.pages.progress(file.job, None) if file.job.busy else self.pages.file(file)
        return HTMLResponse(page)

    async def columns(self, request: Request) -> Response:
        file, form = self._file(request), await form_values(request, self.session.limits)
        self.session.change_columns(file, form)
        return self._to(f"/files/{file.id}")

    async def run(self, request: Request) -> Response:
        file, form = self._file(request), await form_values(request, self.session.limits)
        result = self.session.run(file, form.get("method", [""])[0])
        return self._to(f"/results/{result.id}")

    async def compare(self, request: Request) -> Response:
        file, form = self._file(request), await form_values(request, self.session.limits)
        made = self.session.compare(file, form.get("methods", []))
        return self._to(f"/comparisons/{made.id}")

    async def remove(self, request: Request) -> Response:
        await form_values(request, self.session.limits)
        self.session.remove(self._file(request).id)
        return self._to("/")

    def result(self, request: Request) -> Response:
        return self._made("results", request, self.pages.result)

    def items(self, request: Request) -> Response:
        given = dict(request.query_params)
        return self._made("results", request, lambda made: self.pages.items(made, given))

    async def leave_out(self, request: Request) -> Response:
        await form_values(request, self.session.limits)
        file = self.session.leave_out(self._kept("results", request))
        return self._to(f"/files/{file.id}")

    def comparison(self, request: Request) -> Response:
        return self._made("comparisons", request, self.pages.comparison)

    def result_file(self, request: Request) -> Response:
        return self._download("results", request, tuple(DOWNLOADS))

    def comparison_file(self, request: Request) -> Response:
        return self._download("comparisons", request, ("comparison.csv",))

    def state(self, request: Request) -> Response:
        return JSONResponse(self._job(request).as_dict())

    async def stop(self, request: Request) -> Response:
        await form_values(request, self.session.limits)
        self._job(request).stop()
        kind, number = (request.path_params[name] for name in ("kind", "id"))
        return self._to(f"/{kind}/{number}")

    def static(self, request: Request) -> Response:
        text, kind = static_file(request.path_params["name"])
        return Response(text, media_type=kind)

    def _made(self, kind: str, request: Request, render: Callable[[Any], str]) -> Response:
        """The page of a result or a comparison, of its progress, or of its failure."""
        made = self._kept(kind, request)
        if made.job.state == "done":
            return HTMLResponse(render(made))
        return HTMLResponse(self.pages.progress(made.job, self.pages.file_of(made)))

    def _download(self, kind: str, request: Request, known: tuple[str, ...]) -> Response:
        name = request.path_params["name"]
        path = download(self._kept(kind, request), name, known)
        # The report has scripts of its own: a browser that shows it gives them no rights here.
        headers = {"content-security-policy": "sandbox"}
        return FileResponse(path, filename=name, headers=headers)

    def _kept(self, kind: str, request: Request) -> Any:
        kinds: dict[str, Any] = {
            "files": self.session.files,
            "results": self.session.results,
            "comparisons": self.session.comparisons,
        }
        return self.session.of(kinds.get(kind, {}), request.path_params["id"])

    def _file(self, request: Request) -> OpenedFile:
        return self.session.of(self.session.files, request.path_params["id"])

    def _job(self, request: Request) -> Any:
        return self._kept(request.path_params["kind"], request).job


def make_app(session: Session) -> Guard:
    """The page of a session, behind its guard."""

    async def unkept(_: Request, error: Exception) -> Response:
        text = f"The file could not be kept: {getattr(error, 'strerror', None) or error}.\n"
        return PlainTextResponse(text, 507, {"connection": "close"})

    starlette = Starlette(exception_handlers={OSError: unkept})
    guard = Guard(starlette, session.limits.max_head)
    pages = Pages(session, guard.path)
    starlette.router.routes.extend(_Site(session, pages).routes())
    return guard
