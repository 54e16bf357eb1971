# shellcheck shell=sh
# shellcheck disable=SC2154 # run, minor, extra_arguments and now: set by the other parts
# Running k3s. This shell stays PID 1: its `wait` reaps whatever orphan ends, and pods outlive a
# k3s that ends by itself.

restart_limit=3
restart_window_s=300
k3s_pid=''
terminated=''
restarts=''
newline='
'

# Evidence about the node's readiness is worth something only if it is younger than this.
note_start() {
  mkdir -p "$run"
  date +%s >"$run/.k3s-started"
  mv "$run/.k3s-started" "$run/k3s-started"
}

forget_last_life() {
  rm -f "$run/k3s-started" "$run/refused"
}

# Until the process id is known a signal is only noted, so that no k3s can be missed.
start_k3s() {
  note_start
  trap 'terminated=yes' TERM INT
  k3s "$@" &
  k3s_pid=$!
  trap 'stop_node 0' TERM INT
  if [ -n "$terminated" ]; then
    stop_node 0
  fi
}

# Notes a restart; fails where there were too many lately.
may_restart() {
  read_now
  recent=''
  for restart in $restarts; do
    if [ "$restart" -gt "$((now - restart_window_s))" ]; then
      recent="$recent $restart"
    fi
  done
  # shellcheck disable=SC2086 # counts them
  set -- $recent
  restarts="$* $now"
  [ "$#" -lt "$restart_limit" ]
}

run_k3s() {
  while :; do
    start_k3s "$@"
    status=0
    wait "$k3s_pid" || status=$?
    k3s_pid=''
    if ! may_restart; then
      log "k3s ended by itself with status $status after $restart_limit restarts in" \
        "$restart_window_s s: giving up"
      stop_node 70
    fi
    log "k3s ended by itself with status $status: starting it again, pods are left running"
    end_containerd
    release_store
  done
}

# Runs k3s with the user's arguments, then ours.
supervise_k3s() {
  merge_feature_gate run_with_extra_arguments "$@"
}

run_with_extra_arguments() {
  set -f
  IFS=$newline
  # shellcheck disable=SC2086 # one argument a line
  set -- "$@" $extra_arguments
  unset IFS
  set +f
  run_k3s "$@"
}
