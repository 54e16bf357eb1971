# shellcheck shell=sh
# shellcheck disable=SC2154 # newline: set by supervise.sh
# The arguments that k3s gets beside the user's own. A user's own setting always wins.

# Ours, one a line. None of them holds a newline.
extra_arguments=''

# Since Kubernetes 1.35 the node affinity of a volume can be changed behind this gate, which lets a
# volume follow its node to another name. It is alpha there and settable up to 1.37.
affinity_gate=MutablePVNodeAffinity

add_argument() {
  extra_arguments="$extra_arguments$1
"
}

# has_argument FLAG NAME ARGUMENT…: is --FLAG=NAME=… (or --FLAG NAME=…) among the arguments?
has_argument() {
  flag=$1
  name=$2
  shift 2
  previous=''
  for argument; do
    case $argument in
      "--$flag=$name="*) return 0 ;;
      "$name="*) if [ "$previous" = "--$flag" ]; then return 0; fi ;;
    esac
    previous=$argument
  done
  return 1
}

# add_kubelet_argument NAME VALUE ARGUMENT…: unless the user's arguments set it.
add_kubelet_argument() {
  kubelet_name=$1
  kubelet_value=$2
  shift 2
  if ! has_argument kubelet-arg "$kubelet_name" "$@"; then
    add_argument "--kubelet-arg=$kubelet_name=$kubelet_value"
  fi
}

# Sets `minor` from "k3s version v1.MINOR.PATCH+k3s1 (…)"; empty where it cannot be told.
read_k3s_minor() {
  minor=$(k3s --version 2>/dev/null) || minor=''
  case $minor in
    'k3s version v1.'*) minor=${minor#'k3s version v1.'} ;;
    *) minor='' ;;
  esac
  minor=${minor%%.*}
  case $minor in
    *[!0-9]*) minor='' ;;
  esac
  if [ -z "$minor" ]; then
    log 'the version of k3s cannot be told: taken for one without version-bound settings'
  fi
}

# A pod that was evicted stays Failed for ever, and an image that was imported cannot be had again
# without a registry: neither may happen while the disk has any room left. The value 100 switches
# image collection off; the low threshold's default (80) is below it, as kubelet demands. Once there
# is room again the node takes pods after its next look: kubelet's own 5 min outlast every wait.
set_disk_arguments() {
  add_kubelet_argument eviction-hard 'imagefs.available<1%,nodefs.available<1%' "$@"
  add_kubelet_argument eviction-pressure-transition-period 10s "$@"
  add_kubelet_argument image-gc-high-threshold 100 "$@"
}

has_affinity_gate() {
  case $minor in
    35 | 36 | 37) return 0 ;;
  esac
  return 1
}

# merge_feature_gate COMMAND ARGUMENT…: runs COMMAND with the arguments, the gate put into the
# user's own --kube-apiserver-arg=feature-gates: of two such arguments the later one would win.
merge_feature_gate() {
  command=$1
  shift
  if ! has_affinity_gate; then
    "$command" "$@"
    return
  fi
  if ! has_argument kube-apiserver-arg feature-gates "$@"; then
    add_argument "--kube-apiserver-arg=feature-gates=$affinity_gate=true"
  fi
  previous=''
  for argument; do
    shift
    set -- "$@" "$(with_affinity_gate "$previous" "$argument")"
    previous=$argument
  done
  "$command" "$@"
}

# with_affinity_gate PREVIOUS ARGUMENT: prints ARGUMENT, with the gate where it is a list of gates.
with_affinity_gate() {
  case $2 in
    *"$affinity_gate="*) gates='' ;;
    --kube-apiserver-arg=feature-gates=*) gates=",$affinity_gate=true" ;;
    feature-gates=*) if [ "$1" = --kube-apiserver-arg ]; then gates=",$affinity_gate=true"; fi ;;
  esac
  printf '%s' "$2${gates:-}"
}
