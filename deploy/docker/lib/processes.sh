# shellcheck shell=sh
# shellcheck disable=SC2154 # root: set by cluster-entrypoint.sh
# Looking at /proc with the shell's own means, so that no process is made per process looked at.
# Answers are left in the variables that each function names.

# Sets `now`: seconds since the machine started. Unlike the clock it is never put back.
read_now() {
  read -r now _ <"$root/proc/uptime"
  now=${now%.*}
}

# read_process PID: sets `comm`, `state` and `ppid`; fails where the process is gone.
read_process() {
  read -r stat 2>/dev/null <"$root/proc/$1/stat" || return 1
  comm=${stat#*\(}
  comm=${comm%\)*}
  # shellcheck disable=SC2086 # the fields are taken apart here
  set -- ${stat##*\) }
  state=$1
  ppid=$2
}

# is_running PID: a zombie has ended, it only waits to be reaped.
is_running() {
  read_process "$1" || return 1
  case $state in
    Z | X) return 1 ;;
  esac
}

# await_end SECONDS PID…: fails at the deadline; sets `running` to what has not ended by then.
await_end() {
  read_now
  deadline=$((now + $1))
  shift
  running=$*
  while :; do
    remaining=''
    for pid in $running; do
      if is_running "$pid"; then
        remaining="$remaining $pid"
      fi
    done
    running=${remaining# }
    [ -n "$running" ] || return 0
    read_now
    [ "$now" -lt "$deadline" ] || return 1
    pause 0.1
  done
}

# send SIGNAL PID…: a process that has ended meanwhile is what was wanted.
send() {
  signal=$1
  shift
  if [ "$#" -gt 0 ]; then
    kill -s "$signal" "$@" 2>/dev/null || :
  fi
}

# may_catch_term PID: has a handler for TERM, or blocks it to take it with sigwait or a signalfd
# (tini and systemd do). Anything else either dies of TERM or, as PID 1 of its namespace, never
# gets it. /proc/PID/status, proc(5): signal n is bit n-1, so TERM (15) is 4 in the fourth digit.
may_catch_term() {
  while read -r key mask; do
    case $key in
      SigBlk: | SigCgt:)
        case ${mask%???} in
          *[4567cdef]) return 0 ;;
        esac
        ;;
    esac
  done 2>/dev/null <"$root/proc/$1/status"
  return 1
}

# is_pod_shim PID: a shim of this node's containerd. A pod may run a containerd of its own.
is_pod_shim() {
  [ "$comm" = containerd-shim ] || return 1
  cmdline=''
  # No newline ends it, and the shell drops the NULs between the arguments.
  read -r cmdline 2>/dev/null <"$root/proc/$1/cmdline" || :
  case $cmdline in
    *"-address$root/run/k3s/containerd/containerd.sock"*) ;;
    *) return 1 ;;
  esac
}

# Sets `shims`, `sandboxes` (the pause processes, which hold a pod's namespaces and nothing else)
# and `pod_processes` (what runs in the pods' containers, by way of the shims' children).
find_pods() {
  shims=' '
  sandboxes=' '
  pod_processes=''
  parents=''
  for process in "$root"/proc/[0-9]*; do
    pid=${process##*/}
    read_process "$pid" || continue
    parents="$parents $pid:$ppid"
    if is_pod_shim "$pid"; then
      shims="$shims$pid "
      # A shim works in the bundle folder of its pod's sandbox.
      sandbox=''
      read -r sandbox 2>/dev/null <"$process/cwd/init.pid" || :
      sandboxes="$sandboxes$sandbox "
    fi
  done
  for pair in $parents; do
    case $shims in
      *" ${pair#*:} "*) add_pod_process "${pair%:*}" ;;
    esac
  done
}

add_pod_process() {
  case $sandboxes in
    *" $1 "*) ;;
    *) pod_processes="$pod_processes $1" ;;
  esac
}

# find_orphans PATTERN: sets `orphans` to the processes so called whose parent has ended, so that
# they are this one's now. Shims live on without a parent by design and hold none of k3s's files.
find_orphans() {
  orphans=''
  for process in "$root"/proc/[0-9]*; do
    pid=${process##*/}
    read_process "$pid" || continue
    [ "$ppid" = "$$" ] || continue
    # shellcheck disable=SC2254 # a pattern
    case $comm in
      containerd-shim) ;;
      $1) orphans="$orphans $pid" ;;
    esac
  done
}
