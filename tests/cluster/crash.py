#!/usr/bin/env python3
"""Three replicas over PostgreSQL that are killed while clients publish and install.

    python3 tests/cluster/crash.py PROGRAM [--seconds 30] [--publishers 6] [--proxy] [--faults] [--bucket-port PORT]

PROGRAM is built with the feature `cluster`. PostgreSQL comes from the system. In turn, one of the replicas is killed with
SIGKILL each second, the leader among them, and started again. With --proxy, clients ask nginx with the configuration of
`deploy/cluster`. With --faults, PostgreSQL is then killed and started again, and replaced by its synchronous standby; and
the bucket, which is one of moto behind a proxy, refuses, hangs and cuts connections. --bucket-port names an S3 server on
this machine in place of moto, with the bucket `skills` and both keys "test". At the end:

- every acknowledged release is found on every replica, with the files that were sent;
- no version has two contents;
- the git repository has each release exactly once, and the rows agree with it and with the archives.
"""

import argparse
import contextlib
import hashlib
import http.client
import io
import json
import os
import random
import re
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

import bucket
import postgres

NGINX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/cluster/nginx.conf")
REPLICAS = 3
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
            except urllib.error.HTTPError as error:
                reason = f"{error.code} {error.read()[:300]}"
            except OSError as error:
                reason = str(error)
            time.sleep(0.05)
        sys.exit(f"the replica at port {self.port} does not become ready: {reason}")


def archive(name, text):
    """Returns a skill as a zip, and its only file."""
    body = f"---\nname: {name}\ndescription: Takes notes. Use in tests.\n---\n\n{text}\n".encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("SKILL.md", body)
    return out.getvalue(), body


class Proxy:
    """nginx in front of the replicas, with the shipped configuration but for addresses and encryption."""

    def __init__(self, folder, replicas):
        self.port = free_port()
        ports = iter([replica.port for replica in replicas])
        with open(NGINX) as file:
            text = re.sub(r"server 10\.0\.0\.\d+:8700", lambda _: f"server 127.0.0.1:{next(ports)}", file.read())
        text = re.sub(r"^ *ssl_.*\n", "", text.replace("listen 443 ssl", f"listen 127.0.0.1:{self.port}"), flags=re.M)
        user = "user root;" if os.geteuid() == 0 else ""
        place = os.path.join(folder, "nginx")
        os.mkdir(place)
        with open(f"{place}/nginx.conf", "w") as file:
            file.write(f"daemon off; {user} pid {place}/pid; error_log {place}/log; worker_processes 1;\n"
                       f"events {{ worker_connections 1024; }}\nhttp {{ access_log off;\n{text}}}\n")
        self.process = subprocess.Popen(["nginx", "-p", place, "-c", f"{place}/nginx.conf"])

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"


class Traffic:
    """Clients that publish and install, and what was acknowledged to them.

    Without a proxy, each asks a replica of its choice, and another one where that does not answer."""

    def __init__(self, replicas, proxy, tokens):
        self.places, self.tokens = [proxy] if proxy else replicas, tokens
        self.acknowledged, self.lock, self.ending = {}, threading.Lock(), threading.Event()
        self.begin("replicas killed")

    def begin(self, phase):
        self.phase, self.installs, self.failed, self.failed_twice = phase, 0, 0, 0
        self.before, self.began = len(self.acknowledged), time.monotonic()

    def report(self):
        print(f"{self.phase} ({time.monotonic() - self.began:.0f} s): {len(self.acknowledged) - self.before} acknowledged, "
              f"{self.installs} installs, {self.failed} failed, {self.failed_twice} also on retry", flush=True)

    def ask(self, method, path, token=None, body=None):
        request = urllib.request.Request(random.choice(self.places).url(path), data=body, method=method)
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
                except (OSError, http.client.HTTPException):
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
        for _ in self.places:
            try:
                return found(self.ask("GET", f"/v1/skills/{name}/{version}/archive")) == expected
            except urllib.error.HTTPError:
                return False
            except (OSError, http.client.HTTPException, zipfile.BadZipFile):
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
    parser.add_argument("--kill-each", type=float, default=1.0)
    parser.add_argument("--proxy", action="store_true")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--bucket-port", type=int)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory(prefix="skillhub-crash-") as folder, contextlib.ExitStack() as ends:
        database = postgres.Postgres()
        ends.callback(database.end)
        store = None
        if options.faults:
            database.add_standby()
            store = bucket.Bucket(options.bucket_port)
            ends.callback(store.end)
        run(options, program, folder, database, store, ends)


def run(options, program, folder, database, store, ends):
    remote, objects, config = (os.path.join(folder, name) for name in ("index.git", "archives", "serve.toml"))
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", remote], check=True)
    os.mkdir(objects)
    os.chmod(folder, 0o755)
    objects, endpoint = store.storage() if store else (objects, None)
    storage = {
        "kind": "cluster", "database": database.address(), "objects": objects, "index_remote": remote,
        "archives_url": "https://skills.example.org/index/bundles/{hex:0:2}/{hex:2:4}/{hex}.skill",
        **({"endpoint": endpoint} if endpoint else {}),
    }
    with open(config, "w") as out:
        out.write("rate = 0\n[storage]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in storage.items()))
    environment = {**os.environ, "HOME": folder, "SKILLHUB_HOME": os.path.join(folder, "home"),
                   "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    of = lambda *words: subprocess.run(
        [program, *words, "--config", config], env=environment, check=True, capture_output=True, text=True).stdout
    of("serve", "schema", "apply")
    admin = of("serve", "admin-token").strip()
    replicas = []
    for at in range(REPLICAS):
        replicas.append(Replica(program, config, os.path.join(folder, f"replica-{at}"), environment))
        ends.callback(replicas[at].kill)
    for replica in replicas:
        replica.wait_ready()
    proxy = Proxy(folder, replicas) if options.proxy else None
    if proxy:
        ends.callback(proxy.process.terminate)
    traffic = Traffic(replicas, proxy, {})
    for at in range(options.publishers):
        body = json.dumps({"account": f"user-{at}", "scope": "publish"}).encode()
        request = urllib.request.Request(replicas[0].url("/v1/tokens"), data=body, headers={
            "Authorization": f"Bearer {admin}", "Content-Type": "application/json"})
        traffic.tokens[f"user-{at}"] = json.loads(urllib.request.urlopen(request).read())["secret"]
    threads = [threading.Thread(target=traffic.publish_until_done, args=(account,)) for account in traffic.tokens]
    threads += [threading.Thread(target=traffic.install_until_done) for _ in range(options.installers)]
    for thread in threads:
        thread.start()
    kill_in_turn(replicas, options)
    traffic.report()
    assert traffic.failed_twice == 0, "installs failed twice"
    for replica in replicas:
        replica.wait_ready()
    if options.faults:
        fail_stores(traffic, database, store)
    traffic.ending.set()
    for thread in threads:
        thread.join()
    for replica in replicas:
        replica.wait_ready()
    verify(traffic, replicas, remote, program, of)


def kill_in_turn(replicas, options):
    kills, end = 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        time.sleep(options.kill_each)
        victim = replicas[kills % REPLICAS]
        victim.kill()
        victim.start()
        kills += 1
    print(f"{kills} kills")


def fail_stores(traffic, database, store):
    """Each fault is followed by some seconds in which everything has to work again."""
    def phase(title, seconds):
        traffic.begin(title)
        time.sleep(seconds)
        traffic.report()

    def fault(title, act):
        traffic.begin(title)
        act()
        traffic.report()
        phase("  settling", 5)
        phase("  after it", 10)
        assert len(traffic.acknowledged) > traffic.before and traffic.failed == 0, f"{title}: it does not work again"

    def kill_and_start():
        database.kill_primary()
        time.sleep(2)
        database.start_primary()

    def fail_for_a_while():
        store.fails = True
        time.sleep(20)
        store.fails = False

    fault("PostgreSQL killed and started", kill_and_start)
    fault("failover to the standby", database.fail_over)
    fault("faults of the bucket", fail_for_a_while)
    print(f"  {store.faults} faults")


def verify(traffic, replicas, remote, program, of):
    assert traffic.acknowledged, "nothing happened"
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
    subprocess.run([program, "index", "verify", remote], check=True, stdout=subprocess.DEVNULL)
    print(f"git has {len(subjects)} commits, each once; {checked['releases']} releases and "
          f"{checked['archives']} archives agree")


if __name__ == "__main__":
    main()
