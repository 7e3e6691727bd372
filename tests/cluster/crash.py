#!/usr/bin/env python3
"""Three replicas over PostgreSQL that are killed while clients publish and install.

    python3 tests/cluster/crash.py PROGRAM [--seconds 30] [--publishers 6] [--objects s3://BUCKET --endpoint URL]

PROGRAM is built with the feature `cluster`. PostgreSQL comes from the system. In turn, one of the replicas is killed with
SIGKILL each second, the leader among them, and started again. At the end:

- every acknowledged release is found on every replica, with the files that were sent;
- no version has two contents;
- the git repository has each release exactly once, and the rows agree with it and with the archives.
"""

import argparse
import hashlib
import io
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
POSTGRES = os.path.join(HERE, "../../crates/cluster/src/tests/postgres.sh")
REPLICAS = 3
KILL_EACH = 1.0
RETRIES = 40


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Replica:
    """One server, started again after each kill."""

    def __init__(self, program, config, folder, environment):
        self.port = free_port()
        self.command = [program, "serve", "--config", config, "--addr", f"127.0.0.1:{self.port}", "--data", folder]
        self.environment = environment
        self.log = open(f"{folder}.log", "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdout=subprocess.DEVNULL, stderr=self.log, stdin=subprocess.DEVNULL)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def wait_ready(self, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(self.url("/readyz"), timeout=2).read()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit(f"the replica at port {self.port} does not become ready")


def archive(name, text):
    """Returns a skill as a zip, and its only file."""
    body = f"---\nname: {name}\ndescription: Takes notes. Use in tests.\n---\n\n{text}\n".encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("SKILL.md", body)
    return out.getvalue(), body


class Traffic:
    """Clients that publish and install, and what was acknowledged to them."""

    def __init__(self, replicas, tokens):
        self.replicas, self.tokens = replicas, tokens
        self.acknowledged, self.lock, self.ending = {}, threading.Lock(), threading.Event()
        self.installs = self.failed = self.failed_twice = 0

    def ask(self, method, path, token=None, body=None):
        request = urllib.request.Request(random.choice(self.replicas).url(path), data=body, method=method)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        return urllib.request.urlopen(request, timeout=30).read()

    def publish_until_done(self, account):
        chance, version = random.Random(account), 0
        while not self.ending.is_set():
            version += 1
            name, text = f"notes-{chance.randrange(3)}", f"{account} {version} {chance.random()}"
            packed, body = archive(name, text)
            path = f"/v1/skills/{account}/{name}/0.{version}.0"
            for _ in range(RETRIES):
                try:
                    answer = json.loads(self.ask("PUT", path, self.tokens[account], packed))
                except urllib.error.HTTPError as error:
                    if error.code not in (429, 500, 502, 503):
                        sys.stderr.write(f"{path}: {error.code} {error.read()[:300]}\n")
                        os._exit(1)
                    time.sleep(0.1)
                except OSError:
                    time.sleep(0.1)
                else:
                    assert answer["ok"], answer
                    with self.lock:
                        self.acknowledged[f"{account}/{name}", f"0.{version}.0"] = hashlib.sha256(body).hexdigest()
                    break

    def install_until_done(self):
        while not self.ending.is_set():
            with self.lock:
                known = list(self.acknowledged.items())
            if not known:
                time.sleep(0.1)
                continue
            release, expected = random.choice(known)
            self.installs += 1
            if not self.installs_once(release, expected):
                self.failed += 1
                time.sleep(0.2)
                self.failed_twice += not self.installs_once(release, expected)

    def installs_once(self, release, expected):
        name, version = release
        for _ in range(REPLICAS):
            try:
                return found(self.ask("GET", f"/v1/skills/{name}/{version}/archive")) == expected
            except urllib.error.HTTPError as error:
                return error.code == 503 and False
            except OSError:
                continue
        return False


def found(packed):
    """Returns the hash of the only file of an archive."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive_file:
        return hashlib.sha256(archive_file.read("SKILL.md")).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--publishers", type=int, default=6)
    parser.add_argument("--installers", type=int, default=3)
    parser.add_argument("--objects")
    parser.add_argument("--endpoint")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory(prefix="skillhub-crash-") as folder:
        postgres = subprocess.Popen(["sh", POSTGRES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        replicas = []
        try:
            run(options, program, folder, postgres.stdout.readline().strip(), replicas)
        finally:
            for replica in replicas:
                replica.kill()
            postgres.stdin.close()
            postgres.wait()


def run(options, program, folder, database, replicas):
    assert database, "PostgreSQL does not start"
    remote, objects, config = (os.path.join(folder, name) for name in ("index.git", "archives", "serve.toml"))
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", remote], check=True)
    os.mkdir(objects)
    os.chmod(folder, 0o755)
    storage = [
        'kind = "cluster"', f"database = {json.dumps(f'host={database} user=skillhub dbname=postgres')}",
        f"objects = {json.dumps(options.objects or objects)}", f"index_remote = {json.dumps(remote)}",
        'archives_url = "https://skills.example.org/index/bundles/{hex:0:2}/{hex:2:4}/{hex}.skill"',
    ]
    if options.endpoint:
        storage.append(f"endpoint = {json.dumps(options.endpoint)}")
    with open(config, "w") as out:
        out.write("rate = 0\n[storage]\n" + "\n".join(storage) + "\n")
    environment = {**os.environ, "HOME": folder, "SKILLHUB_HOME": os.path.join(folder, "home")}
    of = lambda *words: subprocess.run(
        [program, *words, "--config", config], env=environment, check=True, capture_output=True, text=True).stdout
    of("serve", "schema", "apply")
    admin = of("serve", "admin-token").strip()
    for at in range(REPLICAS):
        replicas.append(Replica(program, config, os.path.join(folder, f"replica-{at}"), environment))
    for replica in replicas:
        replica.wait_ready()
    traffic = Traffic(replicas, {})
    for at in range(options.publishers):
        body = json.dumps({"account": f"user-{at}", "scope": "publish"}).encode()
        request = urllib.request.Request(replicas[0].url("/v1/tokens"), data=body, headers={
            "Authorization": f"Bearer {admin}", "Content-Type": "application/json"})
        traffic.tokens[f"user-{at}"] = json.loads(urllib.request.urlopen(request).read())["secret"]
    threads = [threading.Thread(target=traffic.publish_until_done, args=(account,)) for account in traffic.tokens]
    threads += [threading.Thread(target=traffic.install_until_done) for _ in range(options.installers)]
    for thread in threads:
        thread.start()
    kills, end = 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        time.sleep(KILL_EACH)
        victim = replicas[kills % REPLICAS]
        victim.kill()
        victim.start()
        kills += 1
    traffic.ending.set()
    for thread in threads:
        thread.join()
    for replica in replicas:
        replica.wait_ready()
    print(f"{kills} kills, {len(traffic.acknowledged)} acknowledged, {traffic.installs} installs, "
          f"{traffic.failed} failed, {traffic.failed_twice} also on retry")
    verify(traffic, replicas, remote, of)


def verify(traffic, replicas, remote, of):
    assert traffic.acknowledged and traffic.installs, "nothing happened"
    assert traffic.failed_twice == 0, "installs failed twice"
    for (name, version), expected in traffic.acknowledged.items():
        for replica in replicas:
            packed = urllib.request.urlopen(replica.url(f"/v1/skills/{name}/{version}/archive")).read()
            assert found(packed) == expected, f"{name} {version} has another content"
    end = time.monotonic() + 60
    while True:
        lines = subprocess.run(
            ["git", "-C", remote, "log", "--format=%s", "main"], check=True, capture_output=True, text=True).stdout
        subjects = lines.splitlines()
        releases = {f"{name} {version}" for name, version in traffic.acknowledged}
        if releases <= set(subjects) or time.monotonic() > end:
            break
        time.sleep(0.5)
    assert releases <= set(subjects), f"git lacks {sorted(releases - set(subjects))[:5]}"
    doubled = [subject for subject in set(subjects) if subjects.count(subject) > 1]
    assert not doubled, f"git has twice: {doubled[:5]}"
    checked = json.loads(of("serve", "check", "--json"))
    assert checked["ok"] and checked["files"], checked
    print(f"git has {len(subjects)} commits, each once; {checked['releases']} releases and "
          f"{checked['archives']} archives agree")


if __name__ == "__main__":
    main()
