#!/bin/sh
# Level sets beside OpenVDB: installs the peer's libraries (Debian or Ubuntu, as root or with sudo), builds both programs and runs the bench.
# Where they cannot be installed, our own figures are printed alone. Arguments go to the bench (try --help).
set -eu
cd "$(dirname "$0")/../.."
peer=target/openvdb_peer
packages="g++ libopenvdb-dev libboost-dev libtbb-dev"
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }
if command -v dpkg-query >/dev/null && ! dpkg-query --show $packages >/dev/null 2>&1; then
    { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $packages; } >/dev/null \
        || echo "cannot install $packages" >&2
fi
mkdir -p target
if [ ! -x "$peer" ] || [ benches/level_sets/openvdb_peer.cpp -nt "$peer" ]; then
    g++ -O3 -std=c++17 benches/level_sets/openvdb_peer.cpp -o "$peer" -lopenvdb -ltbb -lImath \
        || echo "no OpenVDB here: the peer's columns stay empty" >&2
fi
cargo build -q --release --locked -p unsnarl-benches --bin level_sets
exec target/release/level_sets "$@"
