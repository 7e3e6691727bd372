#!/bin/sh
# Starts a server of PostgreSQL in a temporary folder and prints the folder, which has its socket. Arguments are settings
# of the server, as `-c fsync=on`. It ends with the standard input, so with the process that started it, however that
# ends. `initdb` refuses to run as root.
set -eu
trap '' INT
cd /
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
as() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
folder=$(as mktemp -d /tmp/skillhub-postgres-XXXXXX)
trap 'as "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
as "$bin/initdb" -D "$folder/data" -U skillhub -A trust -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null
as "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -s -o "-k $folder -h '' -c fsync=off -c max_connections=300 $*" start >/dev/null
echo "$folder"
cat >/dev/null
