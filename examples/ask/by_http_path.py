#!/usr/bin/env python3
"""Drops requests of HTTP whose path begins with a prefix: by_http_path.py SOCKET PREFIX...

A program for the function "ask" with first: bytes. It answers each line of JSON with one: docs/guide/ask.md.
"""
import base64
import json
import os
import socketserver
import sys

PREFIXES = tuple(p.encode() for p in sys.argv[2:])


def verdict(data):
    line, complete, _ = data.partition(b"\r\n")
    if not complete and len(data) < 8192:
        return "more"
    words = line.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return "drop"  # what cannot be read is not let through
    # A connection may carry further requests, which nobody sees: this one alone is judged.
    return "drop" if words[1].startswith(PREFIXES) else "accept"


class Gateway(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            question = json.loads(line)
            answer = {"id": question["id"], "verdict": verdict(base64.b64decode(question["data"]))}
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


if os.path.exists(sys.argv[1]):
    os.unlink(sys.argv[1])  # of a run before
Server(sys.argv[1], Gateway).serve_forever()
