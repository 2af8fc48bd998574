#!/usr/bin/env python3
"""Publishes events to subscribers of ZeroMQ: zmq_publish.py [--bind] [--server-key FILE] URL

A command for a sink of events. Each line of standard input is a message of two parts: the event's kind, which is its topic, and the line.
"""
import argparse
import json
import sys

import zmq

LINGER = 1000  # milliseconds for what is still to go out at the end


def publisher(arguments):
    socket = zmq.Context.instance().socket(zmq.PUB)
    socket.linger = LINGER
    if arguments.server_key:
        with open(arguments.server_key, "rb") as file:
            socket.curve_serverkey = file.read().strip()
        socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
    if arguments.bind:
        socket.bind(arguments.url)
    else:
        socket.connect(arguments.url)
    return socket


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bind", action="store_true", help="subscribers come here, instead of this going to them")
    parser.add_argument("--server-key", metavar="FILE", help="the collector's public CURVE key, as zmq.curve_keypair() makes it")
    parser.add_argument("url", metavar="URL", help="as tcp://127.0.0.1:5556")
    socket = publisher(parser.parse_args())
    for line in sys.stdin:
        line = line.rstrip("\n")
        socket.send_multipart([json.loads(line)["kind"].encode(), line.encode()])
    socket.close()
    zmq.Context.instance().term()


main()
