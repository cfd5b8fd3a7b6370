"""`ScriptedEndpoint`: an endpoint on this machine that answers by a script, for tests and trials.

It needs neither a model nor a key:

    with ScriptedEndpoint(agent_script("uct:100", game)) as endpoint:
        make_agent(f"llm:uct?endpoint={endpoint.url}", game)
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import make_agent

from .text import PROMPTS, Message

#: From a conversation to the answer; or to a status, such as 503, and a body.
Script = Callable[[Sequence[Message]], str | tuple[int, str]]

_LARGEST = 1 << 22  # bytes of a question


class ScriptedEndpoint:
    """A context in which an endpoint listens on the loopback address.

    Args:
        script: gives the answers; called by several threads at a time.

    Attributes:
        url: its address, for ``endpoint=``.
        asked: how many questions it got.
    """

    def __init__(self, script: Script) -> None:
        self.asked = 0
        counting = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            wbufsize = -1  # one packet: small ones would wait for each other

            def do_POST(handler) -> None:  # noqa: N805  the name is the server's
                with counting:
                    self.asked += 1
                length = min(int(handler.headers.get("Content-Length") or 0), _LARGEST)
                question = json.loads(handler.rfile.read(length))
                said = script(question["messages"])
                status, body = (200, _completion(question, said)) if isinstance(said, str) else said
                content = body.encode("utf-8", "surrogatepass")
                handler.send_response(status)
                handler.send_header("Content-Length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content)

            def log_message(handler, *_: Any) -> None:  # noqa: N805
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(server, *_: Any) -> None:  # noqa: N805
                pass  # a client that is gone, or a script that fails: then the client gets nothing

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    def __enter__(self) -> ScriptedEndpoint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _completion(question: dict[str, Any], said: str) -> str:
    """A reply of the usual form; a word counts as a token."""
    asked = sum(len(message["content"].split()) for message in question["messages"])
    usage = {"prompt_tokens": asked, "completion_tokens": len(said.split())}
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return json.dumps({"model": question["model"], "choices": [choice], "usage": usage})


def position_asked(game: Game, messages: Sequence[Message]) -> Position:
    """The position that the first question of a conversation is about.

    Raises:
        ValueError: it is no position of ``game``.
    """
    label = re.escape(PROMPTS.turn.partition("{position}")[0].rpartition("\n")[2])
    found = re.search(f"^{label}(.*)$", messages[1]["content"], re.MULTILINE)
    assert found is not None, "every question has the position in one line"
    return Position.from_text(game, found[1])


def agent_script(name: str, game: Game, seed: int = 0) -> Script:
    """A script that plays as another agent does, such as ``uct:100``, one question at a time.

    Raises:
        ValueError, FileNotFoundError, ImportError: see `make_agent`.
    """
    agent, lock = make_agent(name, game, seed), threading.Lock()

    def script(messages: Sequence[Message]) -> str:
        position = position_asked(game, messages)
        with lock:
            action = agent.choose(position)
        return f"I trust a search.\n<move>{position.action_to_text(action)}</move>"

    return script
