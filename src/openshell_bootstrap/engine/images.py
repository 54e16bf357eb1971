"""Images over the Docker library."""

from collections.abc import Iterable
from dataclasses import dataclass

from docker.errors import APIError, NotFound

from openshell_bootstrap.engine import translate
from openshell_bootstrap.engine.api import Progress
from openshell_bootstrap.engine.connection import Connection
from openshell_bootstrap.engine.wire import ImageAnswer, PullLine, convert
from openshell_bootstrap.errors import PullError
from openshell_bootstrap.models import Image


@dataclass(frozen=True, slots=True)
class DockerImages:
    """Satisfies ``engine.api.Images``."""

    connection: Connection

    def find(self, reference: str) -> Image | None:
        """The image of this tag, digest or id."""
        with self.connection.doing(f"inspect the image {reference}"):
            try:
                answer = self.connection.api.inspect_image(reference)  # type: ignore[no-untyped-call]
            except NotFound:
                return None
            return translate.image(convert(answer, ImageAnswer))

    def pull(self, reference: str, progress: Progress) -> Image:
        """Pull it; raises PullError with the registry's answer."""
        name, tag = split_reference(reference)
        with self.connection.doing(f"pull the image {reference}"):
            try:
                lines = self.connection.api.pull(name, tag=tag, stream=True, decode=True)
                follow_pull(reference, lines, progress)
            except APIError as error:
                raise _not_pulled(reference, str(error.explanation)) from error
        image = self.find(reference)
        if image is None:
            raise _not_pulled(
                reference, "The engine says that it pulled it, and has no such image."
            )
        return image


def split_reference(reference: str) -> tuple[str, str]:
    """A reference as the engine's pull wants it: the name, and a digest or else a tag.

    A digest says all: beside it the tag is left out, as the ``docker`` command does.
    """
    name, _, digest = reference.partition("@")
    path, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        path, tag = name, "latest"
    return path, digest or tag


def follow_pull(reference: str, lines: Iterable[object], progress: Progress) -> None:
    """Read a pull's progress to its end; its errors come in the stream, after a 200.

    Raises:
        PullError: The stream holds an error.
    """
    errors = []
    for raw in lines:
        line = convert(raw, PullLine)
        if line.error:
            errors.append(line.error)
        if line.id and line.detail.total and line.status in {"Downloading", "Extracting"}:
            progress(f"{line.id} {line.status.lower()}", line.detail.current, line.detail.total)
    if errors:
        raise _not_pulled(reference, "\n".join(errors))


def _not_pulled(reference: str, details: str) -> PullError:
    return PullError(
        f"The image {reference} could not be pulled",
        details,
        [
            "Bring it by other means: `docker load -i FILE`.",
            "Or name an image that the engine has: --image, OPENSHELL_NODE_IMAGE.",
        ],
    )
