#!/bin/sh
# Level sets beside OpenVDB: builds both programs and runs the bench. Needs Debian's libopenvdb-dev, libtbb-dev and
# libboost-dev; without them our own figures are printed alone. Arguments go to the bench (try --help).
set -eu
cd "$(dirname "$0")/../.."
peer=target/openvdb_peer
if [ ! -x "$peer" ] || [ benches/level_sets/openvdb_peer.cpp -nt "$peer" ]; then
    g++ -O3 -std=c++17 benches/level_sets/openvdb_peer.cpp -o "$peer" -lopenvdb -ltbb -lImath \
        || echo "no OpenVDB here: the peer's columns stay empty" >&2
fi
cargo build -q --release -p unsnarl-benches --bin level_sets
exec target/release/level_sets "$@"
