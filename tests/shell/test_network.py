"""Default route and name servers."""

import pytest
import yaml

from tests.shell.conftest import Node

ROUTE_HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
SUBNET = "eth0\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
DEFAULT = "eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
ZERO = "0" * 32
V6_NONE = f"{ZERO} 00 {ZERO} 00 {ZERO} ffffffff 00000001 00000000 00200200       lo\n"
V6_DEFAULT = f"{ZERO} 00 {ZERO} 00 {'fe' * 16} 00000400 00000002 00000000 00450003     eth0\n"
V6_SUBNET = f"{'fd' * 16} 40 {ZERO} 00 {ZERO} 00000100 00000001 00000000 00000001     eth0\n"


@pytest.mark.parametrize(
    ("v4", "v6", "found"),
    [
        (ROUTE_HEAD + SUBNET, V6_NONE, False),
        (ROUTE_HEAD + SUBNET, V6_SUBNET + V6_NONE, False),
        (ROUTE_HEAD + SUBNET + DEFAULT, V6_NONE, True),
        (ROUTE_HEAD, V6_SUBNET + V6_DEFAULT + V6_NONE, True),
        (ROUTE_HEAD + DEFAULT, None, True),
        (ROUTE_HEAD, None, False),
    ],
)
def test_a_default_route_is_recognized(node: Node, v4: str, v6: str | None, found: bool) -> None:
    node.write("proc/net/route", v4)
    if v6 is not None:
        node.write("proc/net/ipv6_route", v6)
    assert node.answer("if has_default_route; then echo yes; else echo no; fi") == (
        "yes\n" if found else "no\n"
    )


def test_a_route_that_comes_late_is_awaited(node: Node) -> None:
    route = node.write("proc/net/route", ROUTE_HEAD)
    # The clock's stand-in moves on with every wait.
    script = f"pause() {{ printf '{DEFAULT}' >>{route}; }}; await_default_route; echo there"
    assert node.answer(script) == "there\n"


def test_a_route_that_never_comes_ends_with_64(node: Node) -> None:
    node.write("proc/net/route", ROUTE_HEAD)
    done = node.call('pause() { printf "1030.00 0\n" >"$root/proc/uptime"; }; await_default_route')
    assert done.returncode == 64
    assert "no default route within 30 s" in done.stderr


UDP = (
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    "  101: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0\n"
    "  102: 0B00007F:9C41 00000000:0000 07 00000000:00000000 00:00000000 00000000     0\n"
)
TCP = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    "   0: 0B00007F:0999 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0\n"
    "   1: 0B00007F:8899 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
)
RESOLV = (
    "# Docker's\nsearch example.test\nnameserver 127.0.0.11\nnameserver 127.0.0.12\n"
    "options ndots:0\n"
)
FLAG = "--kubelet-arg=resolv-conf="


def add_docker_resolver(node: Node, resolv: str = RESOLV, udp: str = UDP, tcp: str = TCP) -> None:
    node.write("etc/resolv.conf", resolv)
    node.write("proc/net/udp", udp)
    node.write("proc/net/tcp", tcp)
    node.write("proc/sys/net/ipv4/conf/all/route_localnet", "0\n")


def provide(node: Node, *arguments: str) -> list[str]:
    return node.answer('provide_dns "$@"; printf %s "$extra_arguments"', *arguments).splitlines()


def rules(node: Node) -> list[str]:
    file = node.root / "nat"
    return file.read_text().splitlines() if file.exists() else []


def expected_rules(udp: int, tcp: int | None) -> list[str]:
    dnat = "OPENSHELL-DNS -d 169.254.53.53 -p {} --dport 53 -j DNAT --to-destination 127.0.0.11:{}"
    return sorted(
        [
            "OPENSHELL-DNS",
            "PREROUTING -j OPENSHELL-DNS",
            "OUTPUT -j OPENSHELL-DNS",
            dnat.format("udp", udp),
            *([] if tcp is None else [dnat.format("tcp", tcp)]),
        ]
    )


def test_pods_reach_docker_s_resolver_by_a_fixed_address(node: Node) -> None:
    """R58, R98."""
    add_docker_resolver(node)
    file = node.root / "run/openshell/resolv.conf"
    assert provide(node, "server") == [f"{FLAG}{file}"]
    assert file.read_text() == (
        "# Docker's\nsearch example.test\nnameserver 169.254.53.53\noptions ndots:0\n"
    )
    assert rules(node) == expected_rules(0x9C41, 0x8899)
    assert (node.root / "proc/sys/net/ipv4/conf/all/route_localnet").read_text() == "1\n"


def test_again_with_other_ports_leaves_one_set_of_rules(node: Node) -> None:
    add_docker_resolver(node)
    provide(node)
    provide(node)
    assert rules(node) == expected_rules(0x9C41, 0x8899)
    add_docker_resolver(node, udp=UDP.replace("9C41", "0400"), tcp="  sl\n")
    provide(node)
    assert rules(node) == expected_rules(1024, None)


@pytest.mark.parametrize(
    "resolv", ["nameserver 10.0.0.2\nnameserver 8.8.8.8\n", "search x\n", "", "nameserver ::1\n"]
)
def test_a_file_without_loopback_servers_is_left_as_it_is(node: Node, resolv: str) -> None:
    add_docker_resolver(node, resolv)
    assert provide(node) == []
    assert rules(node) == []


def test_servers_elsewhere_are_kept(node: Node) -> None:
    add_docker_resolver(node, "nameserver 10.0.0.2\nnameserver 127.0.0.11\n")
    provide(node)
    assert (node.root / "run/openshell/resolv.conf").read_text() == (
        "nameserver 10.0.0.2\nnameserver 169.254.53.53\n"
    )


@pytest.mark.parametrize(
    "user",
    [
        ["--kubelet-arg=resolv-conf=/x"],
        ["--kubelet-arg", "resolv-conf=/x"],
        ["--resolv-conf=/x"],
        ["--resolv-conf", "/x"],
    ],
)
def test_the_user_s_own_resolver_file_wins(node: Node, user: list[str]) -> None:
    add_docker_resolver(node)
    assert provide(node, "server", *user) == []
    assert rules(node) == []


def test_a_server_that_does_not_listen_is_not_promised(node: Node) -> None:
    add_docker_resolver(node, udp="  sl\n")
    assert provide(node) == []
    assert "nothing listens on name server 127.0.0.11" in node.call("provide_dns").stderr
    assert rules(node) == []


HOSTS = """127.0.0.1\tlocalhost
172.17.0.1\thost.docker.internal
172.17.0.1\thost.openshell.internal
fd00::1\thost.openshell.internal
10.0.0.9\thost.docker.internal.example
172.18.0.2\topenshell-x
"""


def host_aliases(node: Node, hosts: str) -> str | None:
    """What the cluster's DNS is to be told; None: nothing."""
    (node.root / "etc").mkdir(exist_ok=True)
    (node.root / "etc/hosts").write_text(hosts)
    told = node.answer('provide_host_aliases; cat "$made_manifests"/*.yaml 2>/dev/null || :')
    if not told:
        return None
    data: dict[str, str] = yaml.safe_load(told)["data"]
    return data["openshell-host-aliases.server"]


def test_the_host_s_names_are_told_to_pods(node: Node) -> None:
    """R99: with the addresses of this life."""
    expected = """host.docker.internal:53 host.openshell.internal:53 {
    hosts {
      172.17.0.1 host.docker.internal
      172.17.0.1 host.openshell.internal
      fd00::1 host.openshell.internal
      ttl 30
    }
    errors
}
"""
    assert host_aliases(node, HOSTS) == expected
    moved = host_aliases(node, HOSTS.replace("172.17.", "172.30."))
    assert moved == expected.replace("172.17.", "172.30.")


def test_names_that_docker_did_not_give_are_not_told(node: Node) -> None:
    assert host_aliases(node, HOSTS)
    assert host_aliases(node, "127.0.0.1 localhost\n") is None
