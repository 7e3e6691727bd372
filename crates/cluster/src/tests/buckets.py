"""Starts moto, an emulator of S3, prints its port, and ends with the standard input.

It is found in the folder named by SKILLHUB_MOTO, or installed for this Python.
"""

import os
import sys

sys.path.insert(0, os.environ.get("SKILLHUB_MOTO", ""))

from moto.server import ThreadedMotoServer  # noqa: E402

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
