"""States in which status may meet a gateway, each brought about by what brings it about."""

from dataclasses import replace

from openshell_bootstrap.errors import ContainerNotRunningError
from openshell_bootstrap.gateway.record import encode_record
from openshell_bootstrap.models import Health
from tests.fakes import kube_objects as objects
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import record_of

NODE = "openshell-t1"
FULL = b"write /var/lib/rancher/k3s/x: no space left on device"


def well(world):
    world.start()


def absent(_world):
    pass


def volume_only(world):
    world.start()
    world.engine.prune(NAME)


def recorded_only(world):
    volume_only(world)
    world.engine.state.disks.clear()


def recorded_and_damaged(world):
    recorded_only(world)
    damage_host_record(world)


def damage_host_record(world):
    (world.store.config / "gateways/t1/metadata.json").write_text("{")


def created(world):
    world.start()
    box = world.engine.box(NAME)
    box.status, box.started_at = "created", ""


def stopped(world):
    world.start()
    world.engine.write_log(NAME, FULL)
    world.engine.containers.stop(NAME, 1)


def exited(world):
    world.start()
    world.engine.end(NAME, 75, b"nothing known")


def exited_with_a_sign(world):
    world.start()
    world.engine.end(NAME, 78, b"openshell: refused: token-differs: it is another one")


def exited_with_an_error(world):
    world.start()
    world.engine.end(NAME, 128, FULL)
    world.engine.box(NAME).error = "network n1 not found"


def paused(world):
    world.start()
    world.engine.containers.pause(NAME)


def restarting(world):
    world.start()
    world.engine.crash_loop(NAME, 1, 3, FULL)


def restarting_and_its_sign_is_of_an_earlier_life(world):
    stopped(world)
    world.clock.advance(60)
    world.engine.containers.start(world.engine.seen(NAME).id)
    world.engine.crash_loop(NAME, 70, 3, b"nothing known")


def api_away(world):
    world.start()
    world.kube.is_up = False


def k3s_not_started(world):
    world.start()
    world.kube.started_s = None


def unhealthy(world):
    api_away(world)
    world.engine.set_health(NAME, Health(status="unhealthy", output="readyz: failed\n"))
    world.engine.write_log(NAME, FULL)


def unhealthy_without_a_sign(world):
    api_away(world)
    world.engine.set_health(NAME, Health(status="unhealthy"))


def healthy_with_a_sign(world):
    api_away(world)
    world.engine.set_health(NAME, Health(status="healthy"))
    world.engine.write_log(NAME, FULL)


def exec_finds_it_ended(world):
    world.start()
    ended = ContainerNotRunningError("The container does not run")
    world.engine.fail("containers.exec", ended, times=None)


def unregistered(world):
    world.start()
    del world.kube.objects["Node", "", NODE]


def stale(world):
    world.start()
    world.clock.advance(5)
    world.kube.started_s = int(world.clock.now)


def not_ready(world):
    world.start()
    ready = world.kube.get("Node", NODE)["status"]["conditions"][1]
    ready.update(status="False", message="no CNI plugin")


def not_ready_with_a_sign(world):
    not_ready(world)
    world.engine.set_health(NAME, Health(status="unhealthy"))
    world.engine.write_log(NAME, FULL)


def foreign(world):
    world.start()
    world.kube.add(objects.node("old-1"), objects.node("old-2"))


def pod_gone(world):
    world.start()
    del world.kube.objects["Pod", "kube-system", "coredns-0"]


def deployment_gone(world):
    world.start()
    del world.kube.objects["Deployment", "kube-system", "coredns"]


def deployment_unseen(world):
    world.start()
    world.kube.get("Deployment", "coredns", "kube-system")["metadata"]["generation"] = 2


def ends_between(world):
    world.start()
    ended = ContainerNotRunningError("The container does not run")
    world.engine.fail("containers.exec", ended, after=1)


def refuses(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.nodes.refuses = "token-differs: it is another one"
    world.engine.containers.start(world.engine.seen(NAME).id)


def short_of_disk(world):
    world.start()
    pressure = {"type": "DiskPressure", "status": "True"}
    world.kube.get("Node", NODE)["status"]["conditions"].append(pressure)


def cordoned(world):
    """As ``kubectl cordon`` leaves it."""
    world.start()
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    world.kube.get("Node", NODE)["spec"] |= {"unschedulable": True, "taints": [taint]}


def add_claim(world, name, *, node):
    """A claim of 1Gi that is bound to a volume on a node, and the pod that mounts it."""
    world.kube.add(objects.volume(name, node, claim_uid="u"), objects.claim(name, uid=f"u-{name}"))
    world.kube.folders[f"{objects.STORAGE}/{name}"] = f"{objects.STORAGE}/{name}"
    pod = objects.pod(f"work-{name}", NODE, controller="StatefulSet")
    source = {"persistentVolumeClaim": {"claimName": f"claim-{name}"}}
    pod["spec"]["volumes"] = [{"name": "data", **source}, {"name": "x", "emptyDir": {}}]
    world.kube.add(pod)


def stranded(world):
    world.start()
    add_claim(world, "pvc-1", node=NODE)
    add_claim(world, "pvc-2", node="old")


def no_names_outside(world):
    world.start()
    world.kube.pod_dns = "cluster answered\noutside failed\n"


def no_names(world):
    world.start()
    world.kube.pod_dns = "cluster failed\n"


def names_not_asked(world):
    world.start()
    world.kube.pod_dns = ""


def write_record(world, **changes):
    tree = world.engine.volume_files(NAME)
    record = replace(record_of(world), **changes)
    tree.write("/openshell/gateway.json", encode_record(record))


def record_of_another_gateway(world):
    world.start()
    write_record(world, spec=replace(record_of(world).spec, name="t2"))


def record_of_another_cluster(world):
    world.start()
    write_record(world, cluster_id="c" * 64)


def record_lost(world):
    world.start()
    world.engine.volume_files(NAME).remove("/openshell/gateway.json")


def record_damaged(world):
    world.start()
    world.engine.volume_files(NAME).write("/openshell/gateway.json", b"{")


def record_of_a_newer_release(world):
    world.start()
    world.engine.volume_files(NAME).write("/openshell/gateway.json", b'{"schema": 99}')


def emptied(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.volume_files(NAME).nodes.clear()


def volume_gone(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    del world.engine.state.disks[NAME]


def network_gone(world):
    world.start()
    world.engine.state.networks.clear()


def network_made_again(world):
    world.start()
    world.engine.replace_network(NAME)


def retired(world):
    world.run_retired()
