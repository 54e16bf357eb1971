"""What was saved of a gateway, by the name of its part."""

import tarfile

from openshell_bootstrap.gateway.evidence.diagnostics import bundle


def archive(path):
    with tarfile.open(path) as opened:
        read = {member.name.partition("/")[2]: opened.extractfile(member) for member in opened}
        return {name: file.read().decode() for name, file in read.items() if file is not None}


def saved(world, name="t1"):
    folder = world.store.diagnostics.folder(name)
    return sorted(folder.iterdir()) if folder.exists() else []


def saved_by(error):
    return archive(error.value.diagnostics)


def bundle_of(world, name="t1"):
    return bundle(name, engine=world.engine, store=world.store, file=None)
