#!/usr/bin/env python3
"""Drops requests of HTTP whose path begins with a prefix: by_http_path.py SOCKET PREFIX...

A program for the function "ask" with first: bytes. It answers each line of JSON with one: docs/guide/ask.md.
"""
import base64
import json
import os
import posixpath
import re
import socketserver
import sys
import urllib.parse

PREFIXES = tuple(sys.argv[2:])


def path_of(target):
    """The path of a request's target as most servers read it; one may read it otherwise still."""
    text = target.decode("latin-1")
    if not text.startswith("/"):  # http://host/path
        text = "/" + text.partition("://")[2].partition("/")[2]
    text = urllib.parse.unquote(re.split("[?#]", text)[0], "latin-1")
    return posixpath.normpath(re.sub(r"[/\\]+", "/", text))


def verdict(data):
    line, complete, _ = data.partition(b"\r\n")
    if not complete and len(data) < 8192:
        return "more"
    words = line.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return "drop"  # what cannot be read is not let through
    # A connection may carry further requests, which nobody sees: this one alone is judged.
    return "drop" if path_of(words[1]).startswith(PREFIXES) else "accept"


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
