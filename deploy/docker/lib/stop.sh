# shellcheck shell=sh
# shellcheck disable=SC2154 # data, k3s_pid and what processes.sh sets
# shellcheck disable=SC2086 # lists of process ids are split on purpose
# Ending the node in order, within the 60 s that `docker stop` gives: k3s, containerd, the pods,
# the rest, the store. Kubelet and containerd go first, or they would record a pod that ends on TERM
# as completed, and a Job or a pod that restarts only on failure would never go on.

k3s_grace_s=10
pods_grace_s=30

# stop_node STATUS
stop_node() {
  # A second signal changes nothing. Ignored, not caught: this runs as a trap's action, and dash
  # gives a trap within a trap the wrong exit status to return to.
  trap '' TERM INT
  log 'stopping'
  stop_k3s
  end_containerd
  stop_pods
  end_remaining_pods
  close_store
  log 'stopped'
  exit "$1"
}

stop_k3s() {
  [ -n "$k3s_pid" ] || return 0
  send TERM "$k3s_pid"
  if ! await_end "$k3s_grace_s" "$k3s_pid"; then
    log "k3s did not end within $k3s_grace_s s: killing it"
    send KILL "$k3s_pid"
    await_end 2 "$k3s_pid" || log 'k3s is still there: going on'
  fi
  k3s_pid=''
}

# k3s takes containerd with it, but asynchronously; containerd without k3s still records exits.
end_containerd() {
  find_orphans containerd
  send KILL $orphans
  await_end 2 $orphans || log 'containerd is still there: going on'
}

# All pods together, each in its own time, 30 s at most. What cannot catch TERM is not waited for.
stop_pods() {
  find_pods
  catching=''
  deaf=''
  for pid in $pod_processes; do
    if may_catch_term "$pid"; then
      catching="$catching $pid"
    else
      deaf="$deaf $pid"
    fi
  done
  send TERM $catching
  send KILL $deaf
  if ! await_end "$pods_grace_s" $catching $deaf; then
    log "pods still running after $pods_grace_s s are killed: $running"
  fi
}

# The shims go last: they are the parents that reap.
end_remaining_pods() {
  find_pods
  send KILL $pod_processes $sandboxes $shims
  await_end 3 $pod_processes $sandboxes $shims || log "still there: $running"
}

# Sets `holders`: what k3s left behind with a file of the datastore open. A pod or a `docker exec`
# that reads one has another parent, and is no danger to it.
find_store_holders() {
  holders=''
  find_orphans '*'
  for pid in $orphans; do
    case $(ls -l "$root/proc/$pid/fd" 2>/dev/null || :) in
      *" $data/server/db/"*) holders="$holders $pid" ;;
    esac
  done
}

# Nothing may hold the datastore when the next k3s opens it or when this container ends.
release_store() {
  find_store_holders
  send KILL $holders
  await_end 2 $holders || log "processes still hold the datastore: $running"
}

close_store() {
  release_store
  sync &
  await_end 8 "$!" || log 'the disk did not take all writes within 8 s: going on'
  if [ -s "$data/server/db/state.db-wal" ]; then
    log 'the datastore was not closed by k3s: its write-ahead log is replayed at the next start'
  fi
}
