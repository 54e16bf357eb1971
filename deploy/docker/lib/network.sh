# shellcheck shell=sh
# shellcheck disable=SC2154 # root, run, made_manifests, newline: set by the other parts
# The network as the node finds it: a default route, and name servers that pods can reach.

route_wait_s=30

# The address at which pods reach the resolver of the container's loopback. It is link-local and
# the same in every life of the node, so it stays right when the container's own address changes.
resolver_address=169.254.53.53
resolver_chain=OPENSHELL-DNS

# The destination and mask of a default route are zero; the loopback's entry for IPv6 says that
# there is none.
has_default_route() {
  while read -r _ destination _ _ _ _ _ mask _; do
    if [ "$destination$mask" = 0000000000000000 ]; then
      return 0
    fi
  done 2>/dev/null <"$root/proc/net/route"
  while read -r _ prefix _ _ _ _ _ _ _ interface; do
    if [ "$prefix" = 00 ] && [ "$interface" != lo ]; then
      return 0
    fi
  done 2>/dev/null <"$root/proc/net/ipv6_route"
  return 1
}

# k3s takes the node's address from the default route, and ends where there is none.
await_default_route() {
  read_now
  deadline=$((now + route_wait_s))
  until has_default_route; do
    read_now
    if [ "$now" -ge "$deadline" ]; then
      log "no default route within $route_wait_s s: is the gateway's network internal, or gone?"
      exit 64
    fi
    pause 0.2
  done
}

# Sets `loopback_server`: the first name server that lies on the container's own loopback.
find_loopback_server() {
  loopback_server=''
  while read -r keyword server _; do
    case "$keyword $server" in
      'nameserver 127.'*)
        loopback_server=$server
        return 0
        ;;
    esac
  done <"$root/etc/resolv.conf"
}

# find_port PROTOCOL ADDRESS: sets `port` to where something listens on exactly this address. An
# address is little-endian hexadecimal in /proc/net/udp and tcp, a port is hexadecimal.
find_port() {
  port=''
  protocol=$1
  IFS=.
  # shellcheck disable=SC2086 # the four bytes are taken apart here
  set -- $2
  unset IFS
  listening=$(printf '%02X%02X%02X%02X' "$4" "$3" "$2" "$1")
  while read -r _ socket _ state _; do
    case $socket/$state in
      "$listening":*/07 | "$listening":*/0A)
        socket=${socket#*:}
        port=$((0x$socket))
        return 0
        ;;
    esac
  done <"$root/proc/net/$protocol"
}

# redirect PROTOCOL PORT
redirect() {
  iptables -w -t nat -A "$resolver_chain" -d "$resolver_address" -p "$1" --dport 53 \
    -j DNAT --to-destination "$loopback_server:$2"
}

# Pods come in by PREROUTING, pods on the node's own network by OUTPUT. A destination on the
# loopback is refused on any other interface without route_localnet.
redirect_resolver() {
  printf '1\n' >"$root/proc/sys/net/ipv4/conf/all/route_localnet"
  iptables -w -t nat -N "$resolver_chain" 2>/dev/null || iptables -w -t nat -F "$resolver_chain"
  redirect udp "$udp_port"
  if [ -n "$tcp_port" ]; then
    redirect tcp "$tcp_port"
  fi
  for chain in PREROUTING OUTPUT; do
    iptables -w -t nat -C "$chain" -j "$resolver_chain" 2>/dev/null ||
      iptables -w -t nat -I "$chain" -j "$resolver_chain"
  done
}

# The container's file with the reachable address in place of the servers on the loopback.
write_resolver_file() {
  mkdir -p "$run"
  placed=''
  while IFS= read -r line; do
    case $line in
      nameserver[[:space:]]*127.*)
        if [ -n "$placed" ]; then
          continue
        fi
        line="nameserver $resolver_address"
        placed=yes
        ;;
    esac
    printf '%s\n' "$line"
  done <"$root/etc/resolv.conf" >"$run/resolv.conf"
}

# On a network of its own a container's resolver is Docker's, on 127.0.0.11 and random ports. Pods
# cannot reach it, and k3s would give them a public server instead. Servers elsewhere are left as
# they are. Names in the container's /etc/hosts are not served to pods by this.
provide_dns() {
  case " $*" in
    *' --resolv-conf='* | *' --resolv-conf '*) return 0 ;;
  esac
  if has_argument kubelet-arg resolv-conf "$@"; then
    return 0
  fi
  find_loopback_server
  if [ -z "$loopback_server" ]; then
    return 0
  fi
  find_port tcp "$loopback_server"
  tcp_port=$port
  find_port udp "$loopback_server"
  udp_port=$port
  if [ -z "$udp_port" ]; then
    log "nothing listens on name server $loopback_server: k3s chooses the pods' name server"
    return 0
  fi
  redirect_resolver
  write_resolver_file
  add_argument "--kubelet-arg=resolv-conf=$run/resolv.conf"
}

# Docker puts the host's names into the container's /etc/hosts, of which pods see nothing: they ask
# the cluster's DNS, which k3s lets us add to. Written anew in every life, since addresses change,
# and installed as any other manifest of ours is: a file of the user's own under its name wins.
# k3s applies manifests by name, and this name comes before its own coredns.yaml.
provide_host_aliases() {
  manifest=$made_manifests/coredns-custom.yaml
  rm -f "$manifest"
  zones=''
  hosts=''
  while read -r address name _; do
    case $name in
      host.docker.internal | host.openshell.internal)
        is_listed "$name:53" "$zones" || zones="$zones$name:53 "
        hosts="$hosts          $address $name$newline"
        ;;
    esac
  done 2>/dev/null <"$root/etc/hosts" || :
  if [ -n "$zones" ]; then
    mkdir -p "$made_manifests"
    write_host_aliases >"$manifest"
  fi
}

write_host_aliases() {
  cat <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: coredns-custom
  namespace: kube-system
data:
  openshell-host-aliases.server: |
    $zones{
        hosts {
$hosts          ttl 30
        }
        errors
    }
EOF
}
