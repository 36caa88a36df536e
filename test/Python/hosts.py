# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two machines on one: network namespaces with a cable between them, each with a host name of its own. Where that is not
permitted they differ in nothing but the numbers that a launcher gives their processes."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess


class Hosts:
    """Machines `a` and `b`, which know each other's names."""
    ADDRESS = {"a": "10.199.0.1", "b": "10.199.0.2"}
    NAME = {"a": "tspnode1", "b": "tspnode2"}

    def __init__(self, folder: pathlib.Path):
        self._tag = f"tsp{os.getpid()}"
        self._hosts = folder / "hosts"
        self._hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {self.NAME[host]}\n" for host, address in self.ADDRESS.items()))
        self.reason = self._open()  # why they are not apart; "" if they are
        if self.reason:
            self.close()

    @property
    def address(self) -> str:
        """Of `a`."""
        return "127.0.0.1" if self.reason else self.ADDRESS["a"]

    @property
    def nodes(self) -> str:
        """A list of both, as Slurm writes it."""
        return "localhost" if self.reason else "tspnode[1-2]"

    def _open(self) -> str:
        """Makes them; the reason why not, or ""."""
        steps = [["ip", "netns", "add", self._namespace(host)] for host in self.ADDRESS]
        steps.append(["ip", "link", "add", self._cable("a"), "type", "veth", "peer", "name", self._cable("b")])
        for host, address in self.ADDRESS.items():
            inside = ["ip", "-n", self._namespace(host)]
            steps += [["ip", "link", "set", self._cable(host), "netns", self._namespace(host)],
                      [*inside, "address", "add", f"{address}/24", "dev", self._cable(host)],
                      [*inside, "link", "set", self._cable(host), "up"], [*inside, "link", "set", "lo", "up"]]
        steps += [self._inside(host, ["true"]) for host in self.ADDRESS]
        for step in steps:
            try:
                done = subprocess.run(step, capture_output=True, text=True)
            except FileNotFoundError as error:
                return str(error)
            if done.returncode:
                return f"{' '.join(step)}: {done.stderr.strip()}"
        return ""

    def close(self) -> None:
        for host in self.ADDRESS if shutil.which("ip") else ():
            subprocess.run(["ip", "netns", "delete", self._namespace(host)], capture_output=True)

    def command(self, host: str, command: list) -> list[str]:
        """The command line that runs a command there, with the same process id."""
        return [*map(str, command)] if self.reason else self._inside(host, command)

    def _inside(self, host: str, command: list) -> list[str]:
        setup = f'mount --bind {self._hosts} /etc/hosts && hostname {self.NAME[host]} && exec "$@"'
        return ["nsenter", f"--net=/run/netns/{self._namespace(host)}", "unshare", "--mount", "--uts", "sh", "-c", setup, "sh", *map(str, command)]

    def _namespace(self, host: str) -> str:
        return f"{self._tag}{host}"

    def _cable(self, host: str) -> str:
        return f"{self._tag}v{host}"
