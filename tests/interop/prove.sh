#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves the guest: prove.sh [CACHE_DIR]. Ends with "proved" and status 0, or stops at what failed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${1:-$HOME/.cache/openndk/siw-guest}
"$here/build.sh" "$cache"
echo "== 1. boot, siw0, verbs"
time "$here/run.sh" -c "$cache" 'rdma link | grep "siw0/1 state ACTIVE" && ibv_devinfo -d siw0 | grep PORT_ACTIVE'
echo "== 2. rping with data validation and perftest, guest to itself"
"$here/run.sh" -c "$cache" '
    rping -s -a 10.0.2.15 -p 7174 -V -C 20 -S 4000 >/tmp/s 2>&1 & s=$!
    wait-listen 7174
    rping -c -a 10.0.2.15 -p 7174 -V -C 20 -S 4000 && wait $s || { cat /tmp/s; exit 1; }
    echo rping ok
    for t in ib_send_bw ib_write_bw ib_read_bw ib_send_lat ib_write_lat ib_read_lat; do
        $t -R -F -n 200 -s 4096 >/tmp/s 2>&1 & s=$!
        wait-listen 18515
        $t -R -F -n 200 -s 4096 10.0.2.15 >/tmp/c 2>&1 && wait $s || { cat /tmp/c /tmp/s; exit 1; }
        echo $t ok
    done'
echo "== 3. MPA, siw as responder"
python3 "$here/probe.py" server "$cache"
echo "== 4. MPA, siw as initiator"
python3 "$here/probe.py" client "$cache"
echo proved
