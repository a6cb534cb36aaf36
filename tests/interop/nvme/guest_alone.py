# SPDX-License-Identifier: MIT
"""Linux' NVMe over Fabrics with itself: proves the guest, so that another scenario's failure is not the guest's."""
from peers import GUEST_ADDRESS, NQN

OPTIONS = "--reconnect-delay=1 --keep-alive-tmo=5"


def tree(transport, port):
    def scenario(peers):
        peers.machine.run(f"""set -e
            modprobe brd rd_nr=1 rd_size=131072
            nvme-serve {transport} {port} {NQN} /dev/ram0
            nvme discover -t {transport} -a {GUEST_ADDRESS} -s {port} | grep -q {NQN}
            name=$(nvme-attach {transport} {GUEST_ADDRESS} {port} {NQN} 2 {OPTIONS})
            nvme id-ctrl /dev/$name | grep -q {NQN}
            nvme-tree /dev/${{name}}n1
            blockload keep /dev/${{name}}n1 64 16 2
            nvme disconnect -n {NQN}
            nvme-serve stop {port} {NQN}
            rmmod brd""")
    return scenario


SCENARIOS = {"guest-rdma": tree("rdma", 4420), "guest-tcp": tree("tcp", 4421)}
