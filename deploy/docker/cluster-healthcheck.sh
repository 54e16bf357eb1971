#!/bin/sh
# The node's health check: is the Kubernetes API ready, and this node since this start of k3s?
# Prints one line with the reason. Exit status 0: healthy, 1: not. Nothing waits on it: it is a
# look for those who ask Docker.
set -eu

root=${OPENSHELL_HEALTHCHECK_ROOT:-}

# fail REASON [ANSWER]
fail() {
  printf 'unhealthy: %s\n' "$1$(shorten "${2:-}")"
  exit 1
}

# The checks that /readyz says have failed, or else the last line (kubectl's first ones are a log).
shorten() {
  printf '%s' "$1" | grep -o '\[-\][^ ]*' | tr '\n' ' ' | grep . || printf '%s' "$1" | tail -n 1
}

# Digits of a time in RFC 3339 (UTC, whole seconds), which compare as numbers.
digits() {
  printf '%s' "$1" | tr -dc 0-9
}

if refusal=$(cat "$root/run/openshell/refused" 2>/dev/null); then
  fail "k3s is not started: $refusal"
fi
if ! started=$(cat "$root/run/openshell/k3s-started" 2>/dev/null); then
  fail 'k3s has not been started yet'
fi
started=$(date -u -d "@$started" +%Y%m%d%H%M%S)

# k3s lower-cases a node's name.
name=${OPENSHELL_NODE_NAME:-$(cat "$root/proc/sys/kernel/hostname")}
name=$(printf '%s' "$name" | tr '[:upper:]' '[:lower:]')

answer=$(timeout 5 kubectl get --raw=/readyz 2>&1) ||
  fail 'the Kubernetes API is not ready: ' "$answer"

ready='.status.conditions[?(@.type=="Ready")]'
condition="{range $ready}{.status} {.lastHeartbeatTime} {.reason}{end}"
answer=$(timeout 5 kubectl get node "$name" -o "jsonpath=$condition" 2>&1) ||
  fail "node $name cannot be read: " "$answer"
read -r ready heartbeat reason <<ANSWER
$answer
ANSWER
heartbeat=$(digits "$heartbeat")

if [ "$ready" != True ]; then
  fail "node $name is not ready: $reason"
fi
# What the node said in its last life stays in the store until somebody says otherwise.
if [ "${heartbeat:-0}" -lt "$started" ]; then
  fail "node $name has not reported since k3s was started"
fi
printf 'healthy: the Kubernetes API and node %s are ready\n' "$name"
