# SPDX-License-Identifier: Apache-2.0
"""What tests with a daemon that decides nothing share: the stand-in daemon as a process. GACER_BUILD names the build folder."""
import json
import subprocess

from stage import BUILD, LIMIT_S


class StandIn:
    """A daemon without a policy; end() answers what it has seen."""

    def __init__(self, socket, *words):
        self.process = subprocess.Popen([BUILD / "tests" / "gacer_standin", "--socket", socket, *words],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def end(self):
        return json.loads(self.process.communicate(timeout=LIMIT_S)[0])

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=LIMIT_S)
