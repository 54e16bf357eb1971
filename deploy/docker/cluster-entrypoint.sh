#!/bin/sh
# PID 1 of a gateway's node: prepares the node, runs k3s, and ends k3s and the pods in order.
#
# usage: cluster-entrypoint.sh server [K3S-ARGUMENT…]
#
# Reads OPENSHELL_NODE_NAME (the node's name; unset or empty: the host name), the bundle that lies
# beside this script (manifests/, token, registries.yaml) and the data volume.
# Writes /run/openshell/k3s-started (whole seconds of the epoch) before every start of k3s, or
# /run/openshell/refused with the reason why k3s is not started. One that refuses stays alive until
# it is stopped: a container that ended would be started again and again by its restart policy.
#
# Exit status:
#    0  stopped in order by TERM or INT
#   64  no default route within 30 s: k3s could not choose the node's address
#   70  k3s ended by itself more often than it is started again in place
#   71  the container's cgroup could not be prepared
#   75  stopped after it had refused: another node runs on this data volume
#   78  stopped after it had refused: k3s would harm the volume, or could not start on it
#
# Must run under busybox ash and dash with the tools of the rancher/k3s image.

# Nothing runs yet that would have to be ended, and every step below may be cut short.
trap 'exit 0' TERM INT
set -eu

# Tests source this file: they set the variable below to its folder and `root` to a folder that
# stands for /.
if [ -z "${OPENSHELL_ENTRYPOINT_LIBRARY:-}" ]; then
  root=''
fi
bundle=${OPENSHELL_ENTRYPOINT_LIBRARY:-${0%/*}}
data=$root/var/lib/rancher/k3s
run=$root/run/openshell

log() {
  printf 'openshell: %s\n' "$*" >&2
}

# Sleeps so that a signal is acted on at once: a shell defers traps while a foreground command runs.
pause() {
  sleep "$1" &
  wait "$!" || :
}

# await_stop STATUS: nothing is left to do but to be stopped.
await_stop() {
  # shellcheck disable=SC2064 # the status is known now
  trap "exit $1" TERM INT
  while :; do
    pause 3600
  done
}

note_refusal() {
  mkdir -p "$run" && printf '%s\n' "$1" >"$run/.refused" && mv "$run/.refused" "$run/refused"
}

# refuse STATUS REASON SENTENCE…
refuse() {
  status=$1
  reason=$2
  shift 2
  log "refused: $reason: $*"
  note_refusal "$reason: $*" || log 'the refusal could not be noted for those who ask'
  await_stop "$status"
}

# shellcheck source=deploy/docker/lib/processes.sh
. "$bundle/lib/processes.sh"
# shellcheck source=deploy/docker/lib/arguments.sh
. "$bundle/lib/arguments.sh"
# shellcheck source=deploy/docker/lib/volume.sh
. "$bundle/lib/volume.sh"
# shellcheck source=deploy/docker/lib/configuration.sh
. "$bundle/lib/configuration.sh"
# shellcheck source=deploy/docker/lib/cgroups.sh
. "$bundle/lib/cgroups.sh"
# shellcheck source=deploy/docker/lib/network.sh
. "$bundle/lib/network.sh"
# shellcheck source=deploy/docker/lib/stop.sh
. "$bundle/lib/stop.sh"
# shellcheck source=deploy/docker/lib/supervise.sh
. "$bundle/lib/supervise.sh"

run_node() {
  guard_store "$@"
  guard_token
  clear_runtime_state
  keep_node_identity
  name_node
  give_token
  install_registries
  provide_host_aliases
  install_manifests
  read_k3s_minor
  set_cgroup_arguments "$@"
  leave_root_cgroup
  set_disk_arguments "$@"
  await_default_route
  provide_dns "$@"
  supervise_k3s "$@"
}

main() {
  forget_last_life
  lock_volume
  # The shell moves the lock's descriptor out of the way to one that is closed on exec: no child
  # can keep the volume locked after this process.
  run_node "$@" 9>&-
}

if [ -z "${OPENSHELL_ENTRYPOINT_LIBRARY:-}" ]; then
  main "$@"
fi
