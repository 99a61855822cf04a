#!/usr/bin/env bash
# Runs a program by mpirun on hosts that only a network joins: one process on each of HOSTS network namespaces, each with a name and an
# address of its own, without a common loopback, System V memory, or the MPI's transports through memory.
#
#   hosts.sh HOSTS [delay=MS] [rate=MBIT] [cut=FILE] -- PROGRAM WORDS…
#
# delay: of each packet, one way. rate: of each host's link. cut: the last host's link goes down once there is such a file (a pattern).
# Afterwards standard error has "received N bytes" of each host. Exit codes: the program's; 77 where the machine has no such namespaces.
set -euo pipefail

if [ "${1:-}" != inside ]; then
    for tool in ip nsenter unshare mpirun; do
        command -v "$tool" >/dev/null || { echo "no $tool" >&2; exit 77; }
    done
    for own in "" "--user --map-root-user"; do
        # shellcheck disable=SC2086 # two words
        if unshare $own --net --mount sh -c 'mount -t tmpfs none /run && ip link add host1 type veth peer name eth0' 2>/dev/null; then
            # shellcheck disable=SC2086
            exec unshare $own --net --mount --uts --ipc "$BASH" "$0" inside "$@"
        fi
    done
    echo "no network namespaces: neither as this user nor as root of one's own" >&2
    exit 77
fi
shift

hosts=$1 delay="" rate="" cut=""
shift
while [ "$1" != -- ]; do
    case $1 in
    delay=*) delay=${1#*=} ;;
    rate=*) rate=${1#*=} ;;
    cut=*) cut=${1#*=} ;;
    *) echo "unknown word $1" >&2; exit 2 ;;
    esac
    shift
done
shift

mount -t tmpfs none /run
mkdir /run/netns
hostname switch
ip link set lo up
ip link add switch type bridge
ip address add 10.77.0.1/24 dev switch
ip link set switch up
on() { nsenter --net="/run/netns/$1" "${@:2}"; }
list=""
for number in $(seq "$hosts"); do
    host=host$number
    ip netns add "$host"
    ip link add "$host" type veth peer name eth0 netns "$host"
    ip link set "$host" master switch up
    on "$host" ip address add "10.77.0.$((10 + number))/24" dev eth0
    on "$host" ip link set eth0 up
    on "$host" ip link set lo up
    queue="dev eth0 root"
    if [ -n "$rate" ]; then
        # shellcheck disable=SC2086 # several words
        on "$host" tc qdisc add $queue handle 1: tbf rate "${rate}mbit" burst 256kb latency 100ms
        queue="dev eth0 parent 1:"
    fi
    if [ -n "$delay" ]; then
        # shellcheck disable=SC2086
        on "$host" tc qdisc add $queue netem delay "${delay}ms" limit 100000 || { echo "no delays in this kernel" >&2; exit 77; }
    fi
    list+="${list:+,}10.77.0.$((10 + number)):1"
done

# What mpirun starts its daemons with, in place of ssh: a host's address, then a command line.
cat >/run/agent <<'AGENT'
#!/usr/bin/env bash
number=${1##*.}
host=host$((number - 10))
shift
exec nsenter --net="/run/netns/$host" unshare --uts --ipc "$BASH" -c "hostname $host; $*"
AGENT
chmod +x /run/agent

if [ -n "$cut" ]; then
    (
        until compgen -G "$cut" >/dev/null; do sleep 0.2; done
        ip link set "host$hosts" down
        echo "the link of host$hosts is down" >&2
        # The ranks are to end by themselves; mpirun would wait for its daemon behind that link.
        while pgrep -xf "$*" >/dev/null; do sleep 0.2; done
        echo "no rank is left" >&2
        sleep 1
        pkill -9 -f 'prte_if_include 10.77.0.0/24' || true
    ) &
    cutter=$!
fi

code=0
mpirun --allow-run-as-root -n "$hosts" --host "$list" --prtemca plm_ssh_agent /run/agent \
    --prtemca prte_if_include 10.77.0.0/24 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
    -x PATH -x LD_LIBRARY_PATH -x RAYON_NUM_THREADS -x EIGENFORGE_CACHE "$@" || code=$?
[ -z "$cut" ] || kill "$cutter" 2>/dev/null || true
for number in $(seq "$hosts"); do
    on "host$number" sed -n "s/^ *eth0: *\([0-9]*\).*/received \1 bytes/p" /proc/net/dev >&2
done
exit "$code"
