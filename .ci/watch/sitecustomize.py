"""Writes down what a Python process connects to, listens at and looks up.

Python imports this file when it starts, and so do the processes that it starts, where the folder is
on ``PYTHONPATH``. Each event is a line, its name and the host, in the file that ``WATCHED`` names.
A library that reports its use, and is imported before it is told not to, is a line too: what it
sends from compiled code, or from a process that is not Python's, is not seen.
"""

import os
import socket
import sys

#: Audit events whose second argument is an address, and those whose first is a host.
ADDRESSES = ("socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto")
HOSTS = ("socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname")
#: Libraries that report their use, and the variable and the value that keep them from it.
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
