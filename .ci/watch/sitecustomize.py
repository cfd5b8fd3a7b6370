"""Logs the hosts that a Python process connects to, listens at and looks up.

Every Python process imports this file when it starts, if the folder is on ``PYTHONPATH``. Each
event is a line with its name and the host, in the file that ``WATCHED`` names. A library that
reports its use, and is imported before it is told not to, is a line too, because its connections
from compiled code, or from other processes than Python's, are not seen.
"""

import os
import socket
import sys

#: Audit events whose second argument is an address, and those whose first is a host.
ADDRESSES = ("socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto")
HOSTS = ("socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname")
#: Libraries that report their use, with the variable and the value that prevent it.
SILENT = {"onnxruntime": ("ORT_DISABLE_TELEMETRY", "1"), "ray": ("RAY_USAGE_STATS_ENABLED", "0")}


def _write_down(event, arguments):
    if event in ADDRESSES and arguments[0].family != getattr(socket, "AF_UNIX", None):
        host = arguments[1][0]
    elif event in HOSTS or (event == "import" and _may_report(arguments[0])):
        host = arguments[0]
    else:
        return
    with open(os.environ["WATCHED"], "a", encoding="utf-8") as file:
        file.write(f"{event} {host}\n")


def _may_report(module):
    variable, value = SILENT.get(module.partition(".")[0], (None, None))
    return variable is not None and os.environ.get(variable) != value


sys.addaudithook(_write_down)
