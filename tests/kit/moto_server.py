"""Moto's S3 on loopback, which heeds conditions as S3 does.

Prints its port, and ends with its input. It answers one request at a time: between its look whether
there is an object and its put, another request could come.
"""

from __future__ import annotations

import logging
import sys
import threading
import urllib.request

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)

if __name__ == "__main__":
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bucket = f"http://127.0.0.1:{server.server_port}/bucket"
    urllib.request.urlopen(urllib.request.Request(bucket, method="PUT")).close()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()
