"""What the client does with answers that a healthy service does not give, and with wrong settings."""

import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

from coffer import Coffer, CofferError, _auth, _transport, client_auth, token_auth

ANSWER = b'{"path":"x","value":"v","version":1,"type":"generic","metadata":{}}'


class Scripted:
    """A server that gives one answer after the other, and keeps what it was asked."""

    def __init__(self, *answers) -> None:
        self.requests = []
        script = list(answers)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(handler) -> None:
                length = int(handler.headers.get("content-length") or 0)
                self.requests.append((handler.command, handler.path, dict(handler.headers), handler.rfile.read(length)))
                status, headers, body = script.pop(0)
                if status == 0:
                    handler.close_connection = True
                    return
                handler.send_response(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    handler.send_header(name, value)
                handler.end_headers()
                handler.wfile.write(body)
                handler.close_connection = "content-length" in headers

            do_GET = do_PUT = do_POST = answer

            def log_message(handler, *_) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


OK = (200, {}, ANSWER)
LOST = (0, {}, b"")


def error(status, code, **headers):
    return (status, headers, f'{{"error":{{"code":"{code}","message":"m","request_id":"req_1"}}}}'.encode())


class Rules(unittest.TestCase):
    def setUp(self) -> None:
        self.waits = []
        patched = mock.patch.object(_transport.time, "sleep", self.waits.append)
        patched.start()
        self.addCleanup(patched.stop)

    def client(self, *answers, **options):
        self.server = Scripted(*answers)
        self.addCleanup(self.server.close)
        coffer = Coffer(self.server.url, **{"token": "t0ken", **options})
        self.addCleanup(coffer.close)
        return coffer

    def refused(self, code, call, *args) -> CofferError:
        with self.assertRaises(CofferError) as caught:
            call(*args)
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def test_a_read_is_repeated_as_long_as_the_service_asks_to_wait(self) -> None:
        coffer = self.client(error(429, "RATE_LIMIT_EXCEEDED", **{"retry-after": "7"}), LOST, error(503, "UNAVAILABLE"), OK)
        self.assertEqual(coffer.secrets.get("v", "x").value, "v")
        self.assertEqual(self.waits[0], 7.0)
        self.assertTrue(all(0 < wait < 2 for wait in self.waits[1:]), self.waits)

    def test_a_wait_is_bounded_and_so_is_the_number_of_repetitions(self) -> None:
        busy = error(503, "UNAVAILABLE", **{"retry-after": "86400"})
        coffer = self.client(busy, busy, busy, OK, retries=2)
        self.assertEqual(self.refused("UNAVAILABLE", coffer.secrets.get, "v", "x").status, 503)
        self.assertEqual(len(self.server.requests), 3)
        self.assertEqual(self.waits, [30.0, 30.0])

    def test_a_write_is_repeated_with_the_same_idempotency_key(self) -> None:
        coffer = self.client(LOST, OK, OK)
        coffer.secrets.set("v", "x", "one")
        coffer.secrets.set("v", "x", "two")
        keys = [headers["Idempotency-Key"] for _, _, headers, _ in self.server.requests]
        self.assertEqual(keys[0], keys[1])
        self.assertNotEqual(keys[1], keys[2])

    def test_a_refusal_is_not_repeated(self) -> None:
        for status, code in ((400, "INVALID_REQUEST"), (403, "IP_NOT_ALLOWED"), (409, "VERSION_CONFLICT"), (500, "INTERNAL")):
            coffer = self.client(error(status, code), OK)
            self.refused(code, coffer.secrets.get, "v", "x")
            self.assertEqual(len(self.server.requests), 1)

    def test_an_exchange_that_was_lost_is_not_repeated(self) -> None:
        auth = _auth.workload_auth(1, lambda: {"oidc_token": "x"})
        coffer = self.client(LOST, OK, token=None, auth=auth)
        self.refused("NO_ANSWER", coffer.secrets.get, "v", "x")
        self.assertEqual(len(self.server.requests), 1)

    def test_a_redirect_to_another_origin_is_refused_and_gets_nothing(self) -> None:
        other = Scripted(OK)
        self.addCleanup(other.close)
        coffer = self.client((307, {"location": f"{other.url}/v1/vaults/v/secrets/x"}, b""))
        self.refused("REGION_REDIRECT", coffer.secrets.get, "v", "x")
        self.assertEqual(other.requests, [])
        for location in ("file:///etc/passwd", "//evil.example/x", "https://127.0.0.1/x", "ftp://127.0.0.1/x"):
            coffer = self.client((307, {"location": location}, b""))
            self.refused("REGION_REDIRECT", coffer.secrets.get, "v", "x")

    def test_a_redirect_to_a_listed_region_keeps_the_method_and_body(self) -> None:
        region = Scripted(OK)
        self.addCleanup(region.close)
        location = f"{region.url}/v1/vaults/v/secrets/x"
        coffer = self.client((307, {"location": location}, b""), allowed_origins=[region.url])
        coffer.secrets.set("v", "x", "value")
        [(method, path, headers, body)] = region.requests
        self.assertEqual((method, path, body), ("PUT", "/v1/vaults/v/secrets/x", b'{"value": "value"}'))
        self.assertEqual(headers["Authorization"], "Bearer t0ken")

    def test_a_circle_of_redirects_ends(self) -> None:
        coffer = self.client(*[(307, {"location": "/again"}, b"")] * 9)
        self.refused("REGION_REDIRECT", coffer.secrets.get, "v", "x")

    def test_a_list_that_turns_in_a_circle_ends(self) -> None:
        pages = [(200, {}, f'{{"secrets":[],"next_cursor":"{"abc"[i % 3]}"}}'.encode()) for i in range(12)]
        self.refused("UNEXPECTED_ANSWER", list, self.client(*pages).secrets.list("v"))

    def test_an_answer_that_is_no_json_is_an_error_without_its_text(self) -> None:
        coffer = self.client((200, {}, b"<html>s3cret</html>"))
        self.assertNotIn("s3cret", str(self.refused("UNEXPECTED_ANSWER", coffer.secrets.get, "v", "x")))

    def test_a_proxy_that_answers_instead_is_told(self) -> None:
        for body in (b'{"error": "Bad gateway"}', b"[]", b'{"error": {"message": 1}}'):
            self.refused("UNEXPECTED_ANSWER", self.client((404, {}, body)).secrets.get, "v", "x")

    def test_half_an_answer_is_none(self) -> None:
        coffer = self.client((200, {"content-length": "1000"}, b'{"value": "x"}'), retries=0)
        self.refused("NO_ANSWER", coffer.secrets.get, "v", "x")

    def test_a_service_that_drips_is_given_up(self) -> None:
        import socket
        import threading
        import time

        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def drip() -> None:
            taken, _ = server.accept()
            with taken:
                taken.recv(65536)
                taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                try:
                    for _ in range(600):
                        taken.sendall(b" ")
                        threading.Event().wait(0.05)
                except OSError:
                    pass

        threading.Thread(target=drip, daemon=True).start()
        coffer = Coffer(f"http://127.0.0.1:{server.getsockname()[1]}", token="t", timeout=0.5, retries=0)
        self.addCleanup(coffer.close)
        started = time.monotonic()
        self.refused("TIMED_OUT", coffer.secrets.get, "v", "x")
        self.assertLess(time.monotonic() - started, 20)

    def test_a_silent_service_is_given_up(self) -> None:
        import socket

        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        coffer = Coffer(f"http://127.0.0.1:{silent.getsockname()[1]}", token="t", timeout=0.2, retries=1)
        self.addCleanup(coffer.close)
        self.refused("TIMED_OUT", coffer.secrets.get, "v", "x")
        self.assertEqual(len(self.waits), 1)

    def test_names_cannot_leave_their_place_in_the_url(self) -> None:
        coffer = self.client(OK)
        coffer.secrets.get("v/../w?x#y", "a b/c?version=1#z")
        self.assertEqual(self.server.requests[0][1], "/v1/vaults/v%2F..%2Fw%3Fx%23y/secrets/a%20b%2Fc%3Fversion%3D1%23z")

    def test_a_token_is_renewed_at_two_thirds_of_its_life_and_once_after_a_401(self) -> None:
        now, logins = [1000.0], []

        def login(_):
            logins.append(now[0])
            return f"token-{len(logins)}", 300.0

        auth = _auth._Renewed(login, clock=lambda: now[0])
        coffer = self.client(OK, OK, OK, error(401, "INVALID_TOKEN"), OK, *[error(401, "INVALID_TOKEN")] * 2, token=None, auth=auth)
        coffer.secrets.get("v", "x")
        now[0] += 300 * (2 / 3 - 0.1) - 1
        coffer.secrets.get("v", "x")
        self.assertEqual(len(logins), 1)
        now[0] += 31
        coffer.secrets.get("v", "x")
        self.assertEqual(len(logins), 2)
        coffer.secrets.get("v", "x")
        self.assertEqual(len(logins), 3)
        self.refused("INVALID_TOKEN", coffer.secrets.get, "v", "x")
        self.assertEqual(len(logins), 4)
        used = [headers["Authorization"] for _, _, headers, _ in self.server.requests]
        self.assertEqual([each[-1] for each in used], list("1122334"))

    def test_the_life_of_a_token_is_measured_by_the_clock_of_the_service(self) -> None:
        self.assertEqual(_auth._life("2026-11-14T10:05:00.000Z", 1794650400.0), 300.0)

    def test_wrong_settings_are_refused_without_showing_a_credential(self) -> None:
        for url in ("http://coffer.example.com", "ftp://x", "coffer.example.com", "https://u:p@x", "https://x/path", "https://"):
            with self.assertRaises(ValueError):
                Coffer(url, token="t")
        for options in ({}, {"client_id": "x"}, {"token": "t", "client_id": "c", "client_secret": "s"}):
            with mock.patch.dict("os.environ", clear=True), self.assertRaises(ValueError):
                Coffer("https://x", **options)
        for make in (token_auth, lambda bad: client_auth("id", bad)):
            with self.assertRaises(ValueError) as caught:
                make("s3cret\r\nX-Evil: 1")
            self.assertNotIn("s3cret", str(caught.exception))
        with self.assertRaises(ValueError):
            Coffer("https://x", token="t", allowed_origins=["http://elsewhere.example"])


if __name__ == "__main__":
    unittest.main()
