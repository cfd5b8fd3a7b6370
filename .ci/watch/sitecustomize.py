"""Writes down what a Python process connects to, listens at and looks up.

Python imports this file when it starts, and so do the processes that it starts, where the folder is
on ``PYTHONPATH``. Each event is a line, its name and the host, in the file that ``WATCHED`` names.
"""

import os
import socket
import sys

#: Audit events whose second argument is an address, and those whose first is a host.
ADDRESSES = ("socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto")
HOSTS = ("socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname")


def _write_down(event, arguments):
    if event in ADDRESSES and arguments[0].family != getattr(socket, "AF_UNIX", None):
        host = arguments[1][0]
    elif event in HOSTS:
        host = arguments[0]
    else:
        return
    with open(os.environ["WATCHED"], "a", encoding="utf-8") as file:
        file.write(f"{event} {host}\n")


sys.addaudithook(_write_down)
