# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ports for processes that a test starts."""
import random
import socket


def free_port():
    """A port that nobody listens on, nor on the next one: where torchrun's own store listens on the first, processes meet at the second.

    It lies below the ports that systems give to connections, so that none of them takes it before the processes do.
    """
    while True:
        port = random.SystemRandom().randrange(10000, 32000)
        try:
            for each in (port, port + 1):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("", each))
            return port
        except OSError:
            continue
