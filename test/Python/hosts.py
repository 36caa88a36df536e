# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two machines on one: network namespaces with a cable between them, each with a host name of its own.

Where that is not permitted there is nothing to test on: `Hosts.open` says why."""
from __future__ import annotations

import os
import pathlib
import subprocess


class Hosts:
    """Machines `a` and `b` with the addresses 10.199.0.1 and 10.199.0.2, which know each other's names."""
    ADDRESS = {"a": "10.199.0.1", "b": "10.199.0.2"}

    def __init__(self, folder: pathlib.Path):
        self._tag = f"tsp{os.getpid()}"
        self._hosts = folder / "hosts"
        self._hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {self.name(host)}\n" for host, address in self.ADDRESS.items()))

    def name(self, host: str) -> str:
        """What the machine calls itself: nodes of a list as Slurm writes it."""
        return f"tspnode{'ab'.index(host) + 1}"

    def open(self) -> str:
        """Makes them; the reason why not, or ''."""
        steps = [["ip", "netns", "add", self._namespace(host)] for host in self.ADDRESS]
        steps.append(["ip", "link", "add", self._cable("a"), "type", "veth", "peer", "name", self._cable("b")])
        for host, address in self.ADDRESS.items():
            inside = ["ip", "-n", self._namespace(host)]
            steps += [["ip", "link", "set", self._cable(host), "netns", self._namespace(host)],
                      [*inside, "address", "add", f"{address}/24", "dev", self._cable(host)],
                      [*inside, "link", "set", self._cable(host), "up"], [*inside, "link", "set", "lo", "up"]]
        steps += [self.command(host, ["true"]) for host in self.ADDRESS]
        for step in steps:
            try:
                done = subprocess.run(step, capture_output=True, text=True)
            except FileNotFoundError as error:
                return str(error)
            if done.returncode:
                return f"{' '.join(step)}: {done.stderr.strip()}"
        return ""

    def close(self) -> None:
        for host in self.ADDRESS:
            subprocess.run(["ip", "netns", "delete", self._namespace(host)], capture_output=True)

    def command(self, host: str, command: list) -> list[str]:
        """The command line that runs a command there, with the same process id."""
        setup = f'mount --bind {self._hosts} /etc/hosts && hostname {self.name(host)} && exec "$@"'
        return ["nsenter", f"--net=/run/netns/{self._namespace(host)}", "unshare", "--mount", "--uts", "sh", "-c", setup, "sh", *map(str, command)]

    def _namespace(self, host: str) -> str:
        return f"{self._tag}{host}"

    def _cable(self, host: str) -> str:
        return f"{self._tag}v{host}"
