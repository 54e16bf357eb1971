# shellcheck shell=sh
# shellcheck disable=SC2154 # root, bundle, data: set by cluster-entrypoint.sh
# What protects the data volume before k3s may write to it: one node at a time, no new authorities
# over a store in use, one node identity for the volume's life.

# The lock is this process's for life, and gone with it however it ends.
lock_volume() {
  mkdir -p "$data/openshell"
  exec 9>>"$data/openshell/lock"
  status=0
  flock -n 9 || status=$?
  case $status in
    0) ;;
    1)
      refuse 75 volume-locked "another node runs on this data volume: stop it first"
      ;;
    *)
      log "the data volume cannot be locked: flock ended with status $status"
      exit "$status"
      ;;
  esac
}

# secret_of TOKEN: sets `secret` to what k3s compares of a token, whose forms are
# K10<hash>::<user>:<secret>, <user>:<secret> and <secret>.
secret_of() {
  secret=$1
  case $secret in
    K10*::*) secret=${secret#*::} ;;
  esac
  case $secret in
    *:*) secret=${secret#*:} ;;
  esac
}

# Sets `secret` to that of the volume; empty where both files that hold it are lost.
read_volume_secret() {
  token=''
  if [ -s "$data/server/token" ]; then
    read -r token <"$data/server/token" || :
  elif [ -s "$data/server/cred/passwd" ]; then
    # <secret>,<name>,<uid>,<groups>; the server's own line is the one that counts.
    while IFS=, read -r password user _; do
      if [ "$user" = server ]; then
        token=$password
      fi
    done <"$data/server/cred/passwd"
  fi
  secret_of "$token"
}

# An API server has written here. A first start that was cut short leaves a store without a single
# object and without a token; k3s takes that up again by itself.
has_used_store() {
  grep -rqs /registry/ "$data/server/db"
}

# is_kept_elsewhere ARGUMENT…: the cluster's store is on no volume of this node.
is_kept_elsewhere() {
  if [ -n "${K3S_DATASTORE_ENDPOINT:-}" ] ||
    grep -rqs datastore-endpoint "$root/etc/rancher/k3s"; then
    return 0
  fi
  for argument; do
    case $argument in
      --datastore-endpoint | --datastore-endpoint=*) return 0 ;;
    esac
  done
  return 1
}

# The gateway's record names a cluster only once its API has run.
has_recorded_cluster() {
  grep -qs '"cluster_id": *"[0-9a-f]' "$data/openshell/gateway.json"
}

# k3s makes the store before the authorities: where only these are, the store was there.
has_lost_store() {
  if has_recorded_cluster; then
    ! has_used_store
  else
    [ -s "$data/server/tls/server-ca.crt" ] && [ -z "$(find "$data/server/db" -size +0 -type f 2>/dev/null)" ]
  fi
}

# guard_store ARGUMENT…
# Where the store is missing k3s makes an empty one, under the authorities of the one that was
# lost: nobody could tell the new cluster from the old. Where it is no store, k3s ends again and
# again.
guard_store() {
  if is_kept_elsewhere "$@"; then
    return 0
  fi
  store=$data/server/db/state.db
  if [ -s "$store" ] && [ "$(head -c 15 "$store" | tr -d '\0')" != 'SQLite format 3' ]; then
    refuse 78 store-damaged "$store is no SQLite database any more: nothing was changed; put all" \
      "files of server/db back from a copy"
  fi
  if has_lost_store; then
    refuse 78 store-lost "$data/server/db does not hold the datastore of the cluster that used" \
      "this data volume, and k3s would start an empty one: put all its files back from a copy"
  fi
}

# Without both token files k3s writes new authorities to the volume before it finds that the store
# is encrypted with another token; after that not even the right token is accepted.
guard_token() {
  given=''
  if [ -s "$bundle/token" ]; then
    read -r given <"$bundle/token" || :
    secret_of "$given"
    given=$secret
  fi
  read_volume_secret
  if [ -n "$given" ] && [ -n "$secret" ] && [ "$given" != "$secret" ]; then
    refuse 78 token-differs "the given token is not the one this data volume was made with:" \
      "start without a token or with the volume's own"
  fi
  if [ -z "$given" ] && [ -z "$secret" ] && has_used_store; then
    refuse 78 token-files-lost "server/token and server/cred/passwd are gone from a data volume" \
      "in use, and k3s would write new authorities over it: give its token or restore a file"
  fi
}

# keep_identity_file NAME: complete on the volume's disk before it counts as kept.
keep_identity_file() {
  if [ -s "$identity/$1" ] && [ ! -s "$kept_identity/$1" ]; then
    cp "$identity/$1" "$kept_identity/.$1"
    chmod 0600 "$kept_identity/.$1"
    sync "$kept_identity/.$1"
    mv "$kept_identity/.$1" "$kept_identity/$1"
    sync "$kept_identity"
  fi
}

# The volume's own password is the one that the store knows; another one is not thrown away.
set_identity_aside() {
  if [ -s "$identity/password" ] &&
    [ "$(cat "$identity/password")" != "$(cat "$kept_identity/password")" ]; then
    aside=$identity.$(date +%s)
    log "another node password was found: kept as $aside"
    mv "$identity" "$aside"
  else
    rm -rf "$identity"
  fi
}

# k3s keeps the node's password outside its data folder: lost with a container, it would make the
# node a stranger to its own store. Cut short anywhere, the password is whole on one side at least.
keep_node_identity() {
  identity=$root/etc/rancher/node
  kept_identity=$data/openshell/node
  mkdir -p "$root/etc/rancher" "$kept_identity"
  chmod 0700 "$kept_identity"
  if [ "$(readlink "$identity" || :)" = "$kept_identity" ]; then
    return 0
  fi
  if mountpoint -q "$identity"; then
    log "$identity is a mount of its own: the node's identity stays there"
    return 0
  fi
  keep_identity_file password
  keep_identity_file id
  set_identity_aside
  ln -s "$kept_identity" "$identity"
}
