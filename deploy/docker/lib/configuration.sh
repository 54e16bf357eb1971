# shellcheck shell=sh
# shellcheck disable=SC2154 # root, bundle, data, run: set by cluster-entrypoint.sh
# What k3s finds when it starts: its name, its token, registries, manifests, and a /run without
# the last life's remains.

# A container keeps /run over stop and start, a machine does not: containerd would take the pods of
# the last life for its own, one dead shim after the other. Without them every container that ran
# counts as lost, never as completed.
clear_runtime_state() {
  rm -rf "$root/run/k3s/containerd" "$root/run/containerd"
}

name_node() {
  if [ -n "${OPENSHELL_NODE_NAME:-}" ]; then
    add_argument "--node-name=$OPENSHELL_NODE_NAME"
    log "node name $OPENSHELL_NODE_NAME (from OPENSHELL_NODE_NAME)"
  else
    read -r host_name <"$root/proc/sys/kernel/hostname"
    log "node name $host_name (host name)"
  fi
}

# In a file: arguments are seen by everybody who can list processes.
give_token() {
  if [ -s "$bundle/token" ]; then
    add_argument "--token-file=$bundle/token"
  fi
}

# A link tells our file from the user's own.
install_registries() {
  registries=$root/etc/rancher/k3s/registries.yaml
  if [ "$(readlink "$registries" || :)" = "$bundle/registries.yaml" ]; then
    rm "$registries"
  fi
  if [ ! -e "$bundle/registries.yaml" ]; then
    return 0
  fi
  if [ -e "$registries" ]; then
    log "$registries is not ours: it is kept, and the gateway's registries are not used"
    return 0
  fi
  mkdir -p "$root/etc/rancher/k3s"
  ln -s "$bundle/registries.yaml" "$registries"
}

# Manifests that this life made itself, beside those that are shipped.
made_manifests=$run/manifests

# is_listed NAME LIST: is NAME a word of LIST?
is_listed() {
  case " $2 " in
    *" $1 "*) return 0 ;;
  esac
  return 1
}

# write_record NAME…: the manifests that are ours to replace and to remove. The record is not
# written where it says so already: a start that changes nothing leaves nothing half done.
write_record() {
  if [ "$*" = "$recorded" ]; then
    return 0
  fi
  printf '%s\n' "$*" >"$manifests_record.new"
  mv "$manifests_record.new" "$manifests_record"
  recorded=$*
}

# Sets `installable`: shipped manifests whose name is not taken by a file of the user's own.
choose_manifests() {
  installable=''
  for manifest in "$bundle"/manifests/*.yaml "$made_manifests"/*.yaml; do
    name=${manifest##*/}
    if [ ! -e "$manifest" ]; then
      continue
    fi
    if [ -e "$manifests/$name" ] && ! is_listed "$name" "$recorded"; then
      log "manifest $name on the data volume is not ours: it is kept, and ours is not used"
      continue
    fi
    installable="$installable $name"
  done
}

# is_same FILE FILE: do both have the same content?
is_same() {
  [ "$(sha256sum <"$1")" = "$(sha256sum <"$2")" ]
}

# install_manifest NAME: by rename, since the folder is watched.
install_manifest() {
  manifest=$made_manifests/$1
  [ -e "$manifest" ] || manifest=$bundle/manifests/$1
  if [ -f "$manifests/$1" ] && is_same "$manifest" "$manifests/$1"; then
    return 0
  fi
  cp "$manifest" "$data/openshell/manifest.new"
  chmod 0600 "$data/openshell/manifest.new"
  mv "$data/openshell/manifest.new" "$manifests/$1"
}

# Recorded before the first file is put in place, so that a file of ours is never taken for the
# user's. Taking a file away leaves the objects it made in the cluster: that is k3s's rule.
# shellcheck disable=SC2086 # lists of names are split on purpose
install_manifests() {
  manifests=$data/server/manifests
  manifests_record=$data/openshell/manifests
  recorded=''
  if [ -e "$manifests_record" ]; then
    read -r recorded <"$manifests_record" || :
  fi
  rm -f "$data/openshell/manifest.new" "$manifests_record.new" # of a life that was cut short
  choose_manifests
  before=$recorded
  for name in $installable; do
    is_listed "$name" "$recorded" || write_record $recorded "$name"
  done
  umask 077 # as k3s makes these folders
  mkdir -p "$manifests"
  umask 022
  for name in $installable; do
    install_manifest "$name"
  done
  for name in $before; do
    is_listed "$name" "$installable" || rm -f "$manifests/$name"
  done
  write_record $installable
}
