"""A cluster that is reached with certificates, and not without: scheduler, worker and client over tls://."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
from command_line import ROOT, SCALE, assert_one_line, in_a_process

pytest.importorskip("distributed")

import dask.config as dask_config

from app.cluster import joining

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make certificates with")


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def certificates(folder):
    """An authority of one's own and a certificate by it, as Dask's environment names them."""
    folder.mkdir()
    authority, key, cert = folder / "ca.pem", folder / "key.pem", folder / "cert.pem"
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", folder / "ca.key", "-out", authority, "-days", 2, "-subj", "/CN=authority")
    openssl("req", *new, "-keyout", key, "-out", folder / "asked.csr", "-subj", "/CN=one of ours")
    openssl("x509", "-req", "-in", folder / "asked.csr", "-CA", authority, "-CAkey", folder / "ca.key",
            "-CAcreateserial", "-out", cert, "-days", 2)  # fmt: skip
    names = {"CA_FILE": authority}
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        names |= {f"{who}__CERT": cert, f"{who}__KEY": key}
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(path) for name, path in names.items()}


def ended(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def dask(what, around, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{what}", *map(str, arguments)], cwd=ROOT,
        env=os.environ | around, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """The address of a scheduler with one worker, and what is in the environment of those who may join."""
    folder = tmp_path_factory.mktemp("tls")
    around, told = certificates(folder / "ours"), folder / "scheduler.json"
    scheduler = dask(
        "scheduler", around, "--protocol", "tls", "--host", "127.0.0.1", "--port", 0, "--no-dashboard",
        "--scheduler-file", told,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not told.exists():
            time.sleep(0.05)  # for another process, which says where it is in a file
        address = json.loads(told.read_text())["address"]
        worker = dask(
            "worker", around, address, "--nthreads", 1, "--no-dashboard", "--preload", "app.cluster.preload",
            "--local-directory", folder,
        )  # fmt: skip
        try:
            yield address, around
        finally:
            ended(worker)
    finally:
        ended(scheduler)


def with_these(around, *arguments):
    return in_a_process(*arguments, env=os.environ | around)


def set_here(around):
    """The same in this process, which read its environment long ago: a process for each question takes a second."""
    return dask_config.set({name.removeprefix("DASK_").lower().replace("__", "."): around[name] for name in around})


@pytest.mark.parametrize("talks", [False, True], ids=["says nothing", "has certificates, and says nothing then"])
def test_somebody_who_never_answers_is_given_up(kernelglass, monkeypatch, tmp_path, talks):
    around = certificates(tmp_path / "ours")
    monkeypatch.setattr(joining, "_CONNECT", 1.5)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*(around[f"DASK_DISTRIBUTED__COMM__TLS__SCHEDULER__{kind}"] for kind in ("CERT", "KEY")))
    lines = []  # kept open, so that whoever waits is not told that nobody is there

    def listen():
        while True:
            try:
                lines.append(port.accept()[0])
                lines[-1] = context.wrap_socket(lines[-1], server_side=True) if talks else lines[-1]
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as port:
        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        address = f"tls://127.0.0.1:{port.getsockname()[1]}"
        with set_here(around):
            found = kernelglass("cluster", "status", address)
        assert_one_line(found, 4, f"no scheduler at {address}", "within 1.5 s")
        port.shutdown(socket.SHUT_RDWR)
        listener.join()
    for line in lines:
        line.close()


def workers(kernelglass, address, around):
    with set_here(around):
        status, out, _ = kernelglass("cluster", "status", address, "--json")
    return json.loads(out)["workers"] if status == 0 else []


def test_whoever_has_a_certificate_works_there(secure, kernelglass, tmp_path):
    address, around = secure
    assert address.startswith("tls://127.0.0.1:")
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not workers(kernelglass, address, around):
        time.sleep(0.1)  # for the worker to join
    found = with_these(around, "cluster", "status", address, "--json")
    assert [worker["refusal"] for worker in json.loads(found.stdout)["workers"]] == [""]
    source, spec = tmp_path / "scale.py", tmp_path / "small.toml"
    source.write_text(SCALE)
    spec.write_text('sources = ["scale.py"]\ntargets = ["cpu", "sm_90a"]\nlevels = [0]')
    done = with_these(around, "sweep", spec, "--scheduler", address, "--db", tmp_path / "x.db", "--json")
    assert [cell["status"] for cell in json.loads(done.stdout)["cells"]] == ["done", "done"], done.stderr
    ran = with_these(around, "run", source, "--device", f"{address}/cpu", "--repeat", 3, "--check", "--json", "--no-db")
    found = json.loads(ran.stdout)
    assert found["check"][0]["ok"] and found["conditions"]["remote"] == f"{address}/cpu", ran.stderr


def refused(done, *words):
    assert_one_line((done.returncode, done.stdout, done.stderr), 4, "no scheduler", *words)


def refused_here(kernelglass, around, *words):
    """That the same is said to whoever asks from this process."""
    with set_here(around):
        assert_one_line(kernelglass("cluster", "status", words[0]), 4, "no scheduler", *words)


def test_whoever_has_none_is_refused_in_one_line(secure):
    address, _ = secure
    refused(with_these({}, "cluster", "status", address), address, "distributed.comm.tls")


def test_a_certificate_by_somebody_else_is_refused_in_one_line(secure, tmp_path):
    address, _ = secure
    refused(with_these(certificates(tmp_path / "theirs"), "cluster", "status", address), address)


def test_a_file_that_is_no_certificate_is_one_line(secure, kernelglass, tmp_path):
    address, around = secure
    for name in ("DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT", "DASK_DISTRIBUTED__COMM__TLS__CA_FILE"):
        for path in (tmp_path / "none.pem", ROOT / "README.md"):
            refused_here(kernelglass, around | {name: str(path)}, address)


def test_a_client_that_does_not_ask_for_encryption_is_refused(secure, kernelglass, monkeypatch):
    """Scheduler and client wait for each other's words."""
    address, around = secure
    monkeypatch.setattr(joining, "_CONNECT", 1.5)
    refused_here(kernelglass, around, address.replace("tls://", "tcp://"))
