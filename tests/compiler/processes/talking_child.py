"""A child for tests: says back what it is told, after doing what its argument says."""

import gc
import os
import signal
import subprocess
import sys
import time

KNOWN = {"words": tuple[str, ...]}
LATER = ("json.tool",)
prepared = False
walked = []
"""The collections of what was loaded."""


def prepare():
    global prepared, loaded
    prepared = True
    gc.callbacks.append(lambda phase, _: gc.get_freeze_count() or walked.append(phase))
    loaded = [[] for _ in range(10_000)]


def give_way():
    os.nice(3)


def serve(channel, how):
    told = channel.receive().value
    print("printed by Python", flush=True)
    os.write(1, b"printed by a kernel\n")
    sys.stderr.write("its last words\n")
    if how == "where":
        channel.send((os.getcwd(), os.environ.get("WHO", ""), str(prepared), str(os.getpgrp() == os.getpid())), "words")
        return
    if how == "nice":
        channel.send((str(os.nice(0)),), "words")
        return
    if how == "walked":
        channel.send(tuple(walked), "words")
        return
    if how == "family":  # a process of its own that outlives its last answer
        channel.send((str(os.getpid()), str(subprocess.Popen(["sleep", "600"]).pid)), "words")
        channel.receive()
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "damage":
        os.write(channel.fileno(), b"not a frame at all, but long enough to be taken for one")
    if how == "hang":
        time.sleep(600)
    if how == "half":
        os.write(channel.fileno(), b"kgf1")
        os._exit(3)
    channel.send(told, "words")
