"""A bucket of moto, an emulator of S3, or of another server, behind a proxy that fails when it is told to."""

import os
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.request

MOTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/cluster/src/tests/buckets.py")
BUCKET = "skills"
REFUSAL = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
HANGS_FOR = 3.0


class Bucket:
    """The proxy passes bytes on. While `fails` is set, each message of a client may be answered by an error, by silence and
    a closed connection, or by half of the answer."""

    def __init__(self, port=None):
        """Starts moto and makes the bucket, unless another server listens on a port of this machine and has it."""
        self.moto, self.behind = None, port
        if port is None:
            self.moto = subprocess.Popen([sys.executable, MOTO], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, text=True)
            self.behind = int(self.moto.stdout.readline())
            bucket = f"http://127.0.0.1:{self.behind}/{BUCKET}"
            urllib.request.urlopen(urllib.request.Request(bucket, method="PUT")).read()
        self.fails, self.faults = False, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        threading.Thread(target=self.accept, daemon=True).start()

    def storage(self):
        """Returns the address of the bucket and of its server."""
        return f"s3://{BUCKET}", f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.behind))
            cut = threading.Event()
            threading.Thread(target=self.pass_on, args=(client, server, self.before_request, cut), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, self.before_answer, cut), daemon=True).start()

    def pass_on(self, source, target, before, cut):
        try:
            while data := source.recv(65536):
                data = before(source, data, cut)
                if data is None:
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def before_request(self, client, data, cut):
        fault = random.choice(["refuse", "hang", "cut", *[None] * 9]) if self.fails else None
        self.faults += fault is not None
        if fault == "refuse":
            client.sendall(REFUSAL)
            return None
        if fault == "hang":
            time.sleep(HANGS_FOR)
            return None
        if fault == "cut":
            cut.set()
        return data

    def before_answer(self, _server, data, cut):
        return data[: len(data) // 2] if cut.is_set() else data

    def end(self):
        if self.moto:
            self.moto.stdin.close()
            self.moto.wait()
