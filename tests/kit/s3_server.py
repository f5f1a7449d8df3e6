"""A small S3 server on loopback, so that real S3 clients can be put to work without a network.

It keeps objects in memory and knows what those of obstore and Arrow ask: get, put, copy, delete,
list, and uploads in parts. Run as a program it prints its port. Under `/-/` a test sees which
requests came, says which are to be refused or to get a wrong answer, and whether conditions are to
be heeded: some stores pass over them.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

objects: dict[str, tuple[bytes, float]] = {}
buckets = {"bucket"}
uploads: dict[str, dict[int, bytes]] = {}
requests: list[tuple[str, str]] = []
refusals: list[dict[str, Any]] = []
careless: list[bool] = []
clock = iter(range(1_700_000_000, 2_000_000_000))
guard = threading.Lock()


class S3(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self) -> None:
        parts = urlsplit(self.path)
        self.key = unquote(parts.path).lstrip("/")
        self.query = {k: v[0] for k, v in parse_qs(parts.query, keep_blank_values=True).items()}
        self.body = self.read_body()
        if self.key.startswith("-/"):
            self.control(self.key[2:])
            return
        with guard:
            requests.append((self.command, self.key))
            refused = next(filter(self.is_meant, refusals), None)
            if refused is not None:
                self.refuse(refused)
            elif self.key.split("/")[0] not in buckets:
                self.fail(404, "NoSuchBucket")
            else:
                getattr(self, f"on_{self.command.lower()}")()

    def refuse(self, refusal: dict[str, Any]) -> None:
        """Give a wrong answer, perhaps only so many times.

        Perhaps after all that was asked for was done.
        """
        if refusal.get("removes"):
            objects.pop(self.key, None)
        if refusal.get("obeys"):
            self.send, answer = (lambda *_, **__: None), self.send
            getattr(self, f"on_{self.command.lower()}")()
            self.send = answer
        refusal["times"] = refusal.get("times", -1) - 1
        if not refusal["times"]:
            refusals.remove(refusal)
        self.fail(refusal["status"], refusal["code"])

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - the base class's names

    def on_head(self) -> None:
        if self.key in buckets:
            self.send(200)
        else:
            self.on_get()

    def on_get(self) -> None:
        if self.key.rstrip("/") in buckets:
            self.send_list()
            return
        if self.key not in objects:
            self.fail(404, "NoSuchKey")
            return
        content, changed_at = objects[self.key]
        headers = {"ETag": tag(content), "Last-Modified": formatdate(changed_at, usegmt=True)}
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            self.send(200, content, headers)
            return
        if int(asked[1]) >= len(content):
            self.fail(416, "InvalidRange")
            return
        start, stop = int(asked[1]), min(int(asked[2] or len(content)) + 1, len(content))
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
        self.send(206, content[start:stop], headers)

    def on_put(self) -> None:
        if "uploadId" in self.query:
            uploads[self.query["uploadId"]][int(self.query["partNumber"])] = self.body
            self.send(200, headers={"ETag": tag(self.body)})
            return
        if self.headers.get("If-None-Match") == "*" and self.key in objects and not careless:
            self.fail(412, "PreconditionFailed")
            return
        source = self.headers.get("x-amz-copy-source")
        if source is None:
            self.store(self.body)
            self.send(200, headers={"ETag": tag(self.body)})
            return
        source = unquote(source).lstrip("/")
        if source not in objects:
            self.fail(404, "NoSuchKey")
            return
        self.store(objects[source][0])
        etag = escape(tag(objects[source][0]))
        self.send(200, xml(f"<CopyObjectResult><ETag>{etag}</ETag></CopyObjectResult>"))

    def on_post(self) -> None:
        if "uploads" in self.query:
            number = f"upload-{next(clock)}"
            uploads[number] = {}
            found = f"<Key>{escape(self.key)}</Key><UploadId>{number}</UploadId>"
            wrap = "InitiateMultipartUploadResult"
        elif "uploadId" in self.query:
            done = uploads.pop(self.query["uploadId"])
            self.store(b"".join(done[part] for part in sorted(done)))
            found = f"<ETag>{escape(tag(objects[self.key][0]))}</ETag>"
            wrap = "CompleteMultipartUploadResult"
        else:
            for name in re.findall(r"<Key>(.*?)</Key>", self.body.decode()):
                objects.pop(f"{self.key.rstrip('/')}/{name}", None)
            found, wrap = "", "DeleteResult"
        self.send(200, xml(f"<{wrap}>{found}</{wrap}>"))

    def on_delete(self) -> None:
        objects.pop(self.key, None)
        self.send(204)

    def send_list(self) -> None:
        bucket, prefix = self.key.rstrip("/"), self.query.get("prefix", "")
        delimiter, limit = self.query.get("delimiter", ""), int(self.query.get("max-keys", 1000))
        after = self.query.get("continuation-token", self.query.get("start-after", ""))
        found: dict[str, str] = {}
        for name, (content, changed_at) in sorted(objects.items()):
            name = name.removeprefix(f"{bucket}/")
            if not name.startswith(prefix):
                continue
            rest = name[len(prefix) :]
            if delimiter and delimiter in rest:
                name = prefix + rest.split(delimiter)[0] + delimiter
                entry = f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            else:
                entry = (
                    f"<Contents><Key>{escape(name)}</Key><Size>{len(content)}</Size>"
                    f"<LastModified>{iso(changed_at)}</LastModified>"
                    f"<ETag>{escape(tag(content))}</ETag></Contents>"
                )
            if name > after:
                found[name] = entry
        names = list(found)[:limit]
        more = len(found) > limit
        last = escape(names[-1]) if more else ""
        token = f"<NextContinuationToken>{last}</NextContinuationToken>" * more
        self.send(
            200,
            xml(
                f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>"
                f"<KeyCount>{len(names)}</KeyCount><MaxKeys>{limit}</MaxKeys>"
                f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}"
                f"{''.join(found[name] for name in names)}</ListBucketResult>"
            ),
        )

    # -- below and beside S3 -----------------------------------------------------------------------

    def store(self, content: bytes) -> None:
        objects[self.key] = content, next(clock)

    def is_meant(self, refusal: dict[str, Any]) -> bool:
        asked = f"{self.key}?{self.query.get('prefix', '')}"
        return self.command in refusal["methods"] and bool(re.search(refusal["key"], asked))

    def control(self, what: str) -> None:
        with guard:
            if what == "refuse":
                refusals[:] = json.loads(self.body)
            if what == "careless":
                careless[:] = json.loads(self.body)
            said = json.dumps(requests).encode()
            requests.clear()
        self.send(200, said)

    def read_body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = self.read_chunks()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return body
        # Each piece has its size in front, perhaps with a signature.
        # A checksum may follow the last.
        content = b""
        while body:
            head, _, body = body.partition(b"\r\n")
            size = int(head.split(b";")[0], 16)
            if not size:
                break
            content, body = content + body[:size], body[size + 2 :]
        return content

    def read_chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def fail(self, status: int, code: str) -> None:
        self.send(status, xml(f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"))

    def send(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def xml(text: str) -> bytes:
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode()


def tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def iso(at: float) -> str:
    import datetime as dt

    return dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), S3)
    server.daemon_threads = True
    print(server.server_port, flush=True)  # noqa: T201 - how whoever started it learns the port
    server.serve_forever()
