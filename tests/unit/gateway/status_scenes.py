"""States in which status may meet a gateway, each brought about by what brings it about."""

from openshell_bootstrap.errors import ContainerNotRunningError
from openshell_bootstrap.models import Health
from tests.fakes import kube_objects as objects
from tests.unit.gateway.conftest import NAME

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


def api_leaves_between(world):
    world.start()

    def leave(kube):
        kube.is_up = False

    world.kube.before[len(world.kube.runs) + 1] = leave


def ends_between(world):
    world.start()
    ended = ContainerNotRunningError("The container does not run")
    world.engine.fail("containers.exec", ended, after=1)


def network_gone(world):
    world.start()
    world.engine.state.networks.clear()


def network_made_again(world):
    world.start()
    world.engine.replace_network(NAME)


def retired(world):
    world.run_retired()
