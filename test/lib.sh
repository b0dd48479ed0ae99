# What test/run, test/demo and test/bench/run share: missing packages, the choice of a server, building and installing,
# and a private throw-away cluster. Sourced by bash; sets $root and, after start_cluster, PGHOST, PGPORT and PGUSER.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
work=''      # the temporary folder of the cluster
pg_config='' # of the chosen server
missing=()   # packages to install
# Settings of an outer make or psql would reach the inner ones.
unset MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKELEVEL MAKEOVERRIDES
unset PGDATABASE PGSERVICE PGOPTIONS PGPASSWORD PGPASSFILE PGHOSTADDR PGCLIENTENCODING PGTZ PGDATESTYLE PGUSER PGPORT PGHOST
export LC_ALL=C.UTF-8

say() { printf '== %s\n' "$*"; }
die() {
    printf 'btml: %s\n' "$*" >&2
    exit 1
}

# A script may redefine it, but has to call stop_cluster.
at_exit() { stop_cluster; }
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# --- packages ---

have() { command -v "$1" >/dev/null 2>&1; }

with_rights() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif have sudo && sudo -n true 2>/dev/null; then
        sudo -n env PATH="$PATH" "$@"
    else
        die "this needs root: $*"
    fi
}

# A server that the extension can be built for and run in: version 15 or later with its headers and programs.
usable_server() {
    local config=$1 version pgxs
    version=$("$config" --version 2>/dev/null | sed -E 's/^PostgreSQL ([0-9]+).*/\1/') && [ "${version:-0}" -ge 15 ] || return 1
    pgxs=$("$config" --pgxs)
    [ -e "$pgxs" ] && [ -e "$("$config" --includedir-server)/postgres.h" ] && [ -x "$("$config" --bindir)/initdb" ] &&
        [ -x "${pgxs%/makefiles/pgxs.mk}/test/regress/pg_regress" ]
}

find_server() {
    local config
    if [ -n "${PG_CONFIG:-}" ]; then
        usable_server "$PG_CONFIG" || die "PG_CONFIG=$PG_CONFIG is not a PostgreSQL 15 or later with its server headers"
        pg_config=$(command -v "$PG_CONFIG")
        return
    fi
    for config in pg_config $(printf '%s\n' /usr/lib/postgresql/*/bin/pg_config /usr/pgsql-*/bin/pg_config | sort -rV); do
        if usable_server "$config"; then
            pg_config=$(command -v "$config")
            return
        fi
    done
    return 1
}

# need <package> <command that succeeds when it is there>
need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

# apt-get has much to say, which is of interest only if it fails.
apt_get() {
    local log
    log=$(mktemp)
    with_rights env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" \
        >"$log" 2>&1 </dev/null || {
        cat "$log" >&2
        rm -f "$log"
        die "apt-get $1 failed; needed: ${missing[*]}"
    }
    rm -f "$log"
}

# Installs what is missing among a compiler, libraries, a server and the packages named by the caller through `need` in the array
# `missing`; touches neither apt nor the network when everything is there.
install_packages() {
    need g++ have g++
    need libeigen3-dev test -e /usr/include/eigen3/unsupported/Eigen/FFT
    need libfftw3-dev test -e /usr/include/fftw3.h
    local no_server=''
    find_server || no_server=1
    if [ -z "$no_server" ] && [ ${#missing[@]} = 0 ]; then return; fi
    have apt-get || die "missing: ${missing[*]} ${no_server:+PostgreSQL 15 or later with its server headers}"
    say "installing packages"
    apt_get update
    if [ -n "$no_server" ]; then
        local version
        version=$(apt-cache search --names-only '^postgresql-server-dev-[0-9]+$' | sed -E 's/^postgresql-server-dev-([0-9]+) .*/\1/' | sort -n | tail -n 1)
        [ -n "$version" ] || die "apt knows no postgresql-server-dev package"
        missing+=("postgresql-$version" "postgresql-server-dev-$version")
    fi
    apt_get install -y --no-install-recommends "${missing[@]}"
    find_server || die "no PostgreSQL 15 or later with its server headers, although the packages are installed"
}

# --- the extension ---

cores() { nproc 2>/dev/null || echo 2; }

pg_make() { make --no-print-directory -s PG_CONFIG="$pg_config" "$@"; }

# Installs what was built, with more rights only where the server's folder wants them.
install_extension() {
    if [ -w "$("$pg_config" --pkglibdir)" ] && [ -w "$("$pg_config" --sharedir)/extension" ]; then
        pg_make "$@" install
    else
        with_rights make --no-print-directory -s PG_CONFIG="$pg_config" "$@" install
    fi
}

# --- the private cluster ---

# PostgreSQL refuses to run as root.
server_user() {
    if [ "$(id -u)" != 0 ]; then
        id -un
    elif id postgres >/dev/null 2>&1; then
        echo postgres
    else
        echo nobody
    fi
}

# Runs a command as the server's user, in a folder and with a home that this user can read.
as_server() (
    cd "$work" || exit
    export HOME=$work
    exec 3>&- # a server must not keep the caller's output open
    if [ "$(id -u)" = 0 ]; then
        exec runuser -u "$(server_user)" -- "$@"
    else
        exec "$@"
    fi
)

# start_server <folder under $work> <port> <line of configuration …>: a new cluster, reached through a socket in a folder of
# the server's user alone, so trust is enough.
start_server() {
    local folder=$work/$1 port=$2 bin
    shift 2
    bin=$("$pg_config" --bindir)
    as_server "$bin/initdb" -D "$folder" -U postgres -A trust -E UTF8 --no-locale --no-sync >"$folder.initdb.log" 2>&1 || {
        cat "$folder.initdb.log" >&2
        die "initdb failed"
    }
    cat >>"$folder/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$work'
port = $port
fsync = off
synchronous_commit = off
full_page_writes = off
max_wal_size = 4GB
shared_buffers = 256MB
CONF
    printf '%s\n' "$@" >>"$folder/postgresql.conf"
    as_server "$bin/pg_ctl" -D "$folder" -w -l "$folder.log" start >/dev/null || {
        cat "$folder.log" >&2
        die "the private cluster did not start"
    }
}

make_work_folder() {
    # Not $TMPDIR, which the server's user may not be able to enter. The socket's path must be short, too.
    work=$(mktemp -d /tmp/btml.XXXXXX)
    if [ "$(id -u)" = 0 ]; then chown "$(server_user)" "$work"; fi
}

start_cluster() {
    make_work_folder
    start_server data 5432
    export PGHOST=$work PGPORT=5432 PGUSER=postgres
    PATH="$("$pg_config" --bindir):$PATH"
}

# Stops every server under $work (TAP tests start some of their own) and removes the folder.
stop_cluster() {
    local pid_file
    [ -n "$work" ] || return 0
    trap '' INT TERM HUP # make sends a second one
    while IFS= read -r pid_file; do
        as_server "$("$pg_config" --bindir)/pg_ctl" -D "$(dirname "$pid_file")" -m immediate -w stop >/dev/null 2>&1 || true
    done < <(find "$work" -name postmaster.pid 2>/dev/null)
    rm -rf "$work"
    work=''
}
