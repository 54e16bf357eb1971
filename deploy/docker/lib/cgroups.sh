# shellcheck shell=sh
# shellcheck disable=SC2154 # root, minor: set by the other parts
# The container's cgroup. Pods stay inside it on both versions of cgroups.

cgroup=$root/sys/fs/cgroup
evacuation_attempts=50

has_cgroup_v2() {
  [ -e "$cgroup/cgroup.controllers" ]
}

# From 1.35 on kubelet refuses cgroup v1 unless told otherwise; older ones may not know the flag.
set_cgroup_arguments() {
  if ! has_cgroup_v2 && [ "${minor:-35}" -ge 35 ]; then
    add_kubelet_argument fail-cgroupv1 false "$@"
  fi
}

# In a private namespace the container's own cgroup is the root that the node sees.
has_private_cgroup_root() {
  while IFS= read -r line; do
    if [ "$line" = 0::/ ]; then
      return 0
    fi
  done <"$root/proc/self/cgroup"
  return 1
}

# On cgroup v2 a cgroup cannot both hold processes and pass controllers on. k3s makes room only
# where it is PID 1; kubelet would die of "cannot enter cgroupv2 … it is in an invalid state". In
# the host's namespace the root is the host's: nothing there is ours to move.
leave_root_cgroup() {
  if ! has_cgroup_v2 || ! has_private_cgroup_root; then
    return 0
  fi
  mkdir -p "$cgroup/init"
  read -r controllers <"$cgroup/cgroup.controllers"
  wanted=''
  for controller in $controllers; do
    wanted="$wanted +$controller"
  done
  attempt=0
  # `docker exec` and the health check put new processes into the root at any time.
  until move_processes && pass_controllers; do
    attempt=$((attempt + 1))
    if [ "$attempt" -ge "$evacuation_attempts" ]; then
      log "the container's cgroup still holds processes: $(cat "$cgroup/cgroup.procs" || :)"
      exit 71
    fi
    pause 0.1
  done
}

# A process may end before it is moved; 0 stands for one that this namespace cannot see yet.
move_processes() {
  while read -r pid; do
    printf '%s\n' "$pid" >"$cgroup/init/cgroup.procs" || :
  done 2>/dev/null <"$cgroup/cgroup.procs"
}

pass_controllers() {
  printf '%s\n' "${wanted# }" 2>/dev/null >"$cgroup/cgroup.subtree_control"
}
