"""`Model`: a server on loopback that answers like the APIs of Anthropic, OpenAI and Google, from a script.

Each request is recorded. The script is a list of tool calls and texts. Each answer holds the next of them; a text, and
the answer after the last call, ends the host's session. Requests without tools (a title, a token count) get text and use no call.
"""

import collections.abc
import dataclasses
import http.server
import json
import threading


@dataclasses.dataclass
class Call:
    """A call of one of the host's tools."""

    tool: str
    arguments: dict


@dataclasses.dataclass
class Seen:
    """The texts of a request with tools, unescaped and joined: all, and those that the one before did not hold."""

    text: str
    new: str


# A step that depends on the request, such as a path that the host chose, is a function. Without a call or a text, the
# answer is "Done.".
Step = Call | collections.abc.Callable[[Seen], Call | str | None]


class Model:
    def __init__(self, script: list[Step]) -> None:
        self.script = list(script)
        self.requests: list[dict] = []
        self._known: set[str] = set()
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def sent(self) -> str:
        """The texts of all requests, unescaped and joined."""
        with self._lock:
            return "\n".join("\n".join(_texts(request)) for request in self.requests)

    def record(self, request: dict) -> None:
        with self._lock:
            self.requests.append(request)

    def next_answer(self, request: dict) -> Call | str:
        if not request.get("tools"):
            return "Done."
        texts = _texts(request)
        with self._lock:
            step = self.script.pop(0) if self.script else None
            seen = Seen("\n".join(texts), "\n".join(text for text in texts if text not in self._known))
            self._known.update(texts)
        return (step(seen) if callable(step) else step) or "Done."

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in parts for text in _texts(part)]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._document({})

    def do_GET(self) -> None:
        self._document({"data": [], "object": "list", "models": []})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            request = {}
        path = self.path.split("?")[0]
        self.model.record(request)
        if path.endswith("/count_tokens"):
            self._document({"input_tokens": 100})
        elif path.endswith("/messages"):
            self._message(request)
        elif path.endswith("/responses"):
            self._response(request)
        elif path.endswith("enerateContent"):
            self._content(request, is_stream=path.endswith(":streamGenerateContent"))
        else:
            self._document({})

    def _message(self, request: dict) -> None:
        """The Messages API of Anthropic, as one document or as a stream."""
        answer = self.model.next_answer(request)
        call = answer if isinstance(answer, Call) else None
        block = {"type": "text", "text": answer}
        if call:
            number = len(self.model.requests)
            block = {"type": "tool_use", "id": f"toolu_{number:024}", "name": call.tool, "input": call.arguments}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model", "stub"),
            "content": [block], "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 10},
        }
        if not request.get("stream"):
            return self._document(message)
        if call:
            opening = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        else:
            opening, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        events = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": opening},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
             "usage": {"output_tokens": 10}},
            {"type": "message_stop"},
        ]
        self._stream(events)

    def _response(self, request: dict) -> None:
        """The Responses API of OpenAI, as a stream."""
        answer = self.model.next_answer(request)
        number = len(self.model.requests)
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": answer, "annotations": []}]}
        if isinstance(answer, Call):
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": answer.tool,
                    "arguments": json.dumps(answer.arguments), "status": "completed"}
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20,
                 "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
        events = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed",
             "response": {**response, "status": "completed", "output": [item], "usage": usage}},
        ]
        self._stream(events)

    def _content(self, request: dict, is_stream: bool) -> None:
        """The Gemini API of Google, as one document or as a stream of one event."""
        answer = self.model.next_answer(request) if is_stream else "Done."
        is_call = isinstance(answer, Call)
        part = {"functionCall": {"name": answer.tool, "args": answer.arguments}} if is_call else {"text": answer}
        document = {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
        }
        if is_stream:
            self._send("text/event-stream", f"data: {json.dumps(document)}\r\n\r\n".encode())
        else:
            self._document(document)

    def _stream(self, events: list[dict]) -> None:
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send("text/event-stream", text.encode())

    def _document(self, document: dict) -> None:
        self._send("application/json", json.dumps(document).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
