"""PostgreSQL in temporary folders: killed, started again, and replaced by a synchronous standby."""

import glob
import os
import shutil
import signal
import subprocess
import time

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/cluster/src/tests/postgres.sh")


def as_postgres(*words):
    """Runs a program of PostgreSQL; as the user `postgres` where this user is root, whom it refuses."""
    bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: float(path.split("/")[-2]))
    command = [os.path.join(bins[-1], words[0]) if os.path.exists(os.path.join(bins[-1], words[0])) else words[0], *words[1:]]
    if os.geteuid() == 0:
        command = ["runuser", "-u", "postgres", "--", *command]
    return subprocess.run(command, cwd="/", check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout.strip()


class Postgres:
    """A primary, and a synchronous standby once it was added."""

    def __init__(self):
        self.script = subprocess.Popen(["sh", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.primary = self.script.stdout.readline().strip()
        assert self.primary, "PostgreSQL does not start"
        self.standby = None

    def address(self):
        """Returns the connection string, with both hosts."""
        return f"host={','.join(filter(None, [self.primary, self.standby]))} user=skillhub dbname=postgres"

    def sql(self, folder, *statements):
        words = [word for statement in statements for word in ("-c", statement)]
        as_postgres("psql", "-X", "-q", "-h", folder, "-U", "skillhub", "-d", "postgres", *words)

    def start(self, folder):
        options = f"-k {folder} -h '' -c fsync=off -c max_connections=300"
        as_postgres("pg_ctl", "-D", f"{folder}/data", "-l", f"{folder}/log", "-w", "-s", "-o", options, "start")

    def kill_primary(self):
        """Kills the primary. Its other processes end by themselves when they notice."""
        with open(f"{self.primary}/data/postmaster.pid") as file:
            os.kill(int(file.readline()), signal.SIGKILL)

    def start_primary(self):
        for attempt in range(20):
            try:
                return self.start(self.primary)
            except subprocess.CalledProcessError:
                # Processes of the killed one still use its shared memory.
                if attempt == 19:
                    raise
                time.sleep(0.5)

    def add_standby(self):
        """Adds a standby that has every change before it is acknowledged."""
        folder = as_postgres("mktemp", "-d", "/tmp/skillhub-standby-XXXXXX")
        self.standby = folder
        as_postgres("pg_basebackup", "-h", self.primary, "-U", "skillhub", "-D", f"{folder}/data", "-R", "--no-sync", "-c", "fast")
        self.start(folder)
        self.sql(self.primary, "alter system set synchronous_standby_names = '*'", "select pg_reload_conf()")

    def fail_over(self):
        """Kills the primary and makes the standby the primary."""
        self.kill_primary()
        as_postgres("pg_ctl", "-D", f"{self.standby}/data", "-w", "-s", "promote")
        # It would wait for a standby of its own before it acknowledges anything.
        self.sql(self.standby, "alter system reset synchronous_standby_names", "select pg_reload_conf()")

    def end(self):
        if self.standby:
            as_postgres("pg_ctl", "-D", f"{self.standby}/data", "-m", "immediate", "-w", "-s", "stop")
            shutil.rmtree(self.standby)
        self.script.stdin.close()
        self.script.wait()
