"""Which object store does a URI mean? From `s3://`, `gs://`, `az://` and `abfs://` to obstore's.

What can be said in a URI is said here, option by option: `SERVICES` has for each kind of store what
its options mean. An option that is not known is refused by name. Credentials are no options:
obstore takes them from the environment.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from wavedex.errors import BadPath, DiskFailed
from wavedex.extras import require
from wavedex.files.objects import ObjectFiles

RETRIES_MAX = 6
"""How often a request is sent again: some six seconds in all.

That is if it got no answer, or one that asks for patience.
"""
REQUEST_MINUTES_MAX = 15
"""How long a request may take in all, with the bytes of a large file."""

_AZURE_FORMS = "az://container/folder or abfs://container@account.dfs.core.windows.net/folder"


@dataclass
class _Place:
    """A bucket, a folder in it, and what a URI says of how to get there."""

    bucket: str
    """The bucket, or what a store calls so."""
    base: str
    """The folder in it."""
    options: dict[str, str]
    """What the URI says after its path."""
    config: dict[str, Any] = field(default_factory=dict)
    """What obstore is told."""

    def says(self, name: str) -> bool:
        """Whether an option says yes. Raises BadPath where it says neither."""
        said = self.options.get(name, "false")
        if said not in ("true", "false", "1", "0"):
            raise BadPath(f"{name}={said} is neither true nor false.")
        return said in ("true", "1")

    @property
    def endpoint(self) -> str | None:
        """Where the store answers, if not where its maker's does.

        The scheme is its own, or that of an option.
        """
        endpoint = self.options.get("endpoint_override")
        if endpoint is None or "://" in endpoint:
            return endpoint
        return f"{self.options.get('scheme', 'https')}://{endpoint}"

    @property
    def retry_limit(self) -> dt.timedelta:
        """How long a request that gets no answer is sent again. Raises BadPath."""
        said = self.options.get("retry_limit_seconds", "180")
        if not said.isdecimal():
            raise BadPath(f"retry_limit_seconds={said} is no whole number.")
        return dt.timedelta(seconds=int(said))


@dataclass(frozen=True)
class Service:
    """A kind of object store."""

    store: str
    """What obstore calls it."""
    find: Callable[[SplitResult, _Place], None]
    """Completes a place by what a URI says."""
    options: tuple[str, ...]
    """What can be said in a URI."""


def object_files_at(uri: str) -> ObjectFiles:
    """The files at a URI of an object store. Raises BadPath, DiskFailed and PackageMissing."""
    parts = urlsplit(uri)
    if any(letter.isspace() for letter in uri):
        raise BadPath(
            f"{uri!r} cannot be used: it has a space in it. Write %20 where a name has one."
        )
    if not parts.path.strip("/"):
        raise BadPath(f"{uri!r} names no folder. Say where in it the index is to be.")
    service = SERVICES[parts.scheme]
    place = _place_of(parts, uri)
    _check_known(place.options, service)
    service.find(parts, place)
    if place.says("anonymous"):
        place.config["skip_signature"] = True
    store = _store_of(service, place, uri)
    return ObjectFiles(store, place.base, uri, place.says("one_writer"))


def _place_of(parts: SplitResult, uri: str) -> _Place:
    base = unquote(parts.path).strip("/")
    if any(part in ("", ".", "..") for part in base.split("/")):
        raise BadPath(f"{uri!r} has an empty name, . or .. in it. Write the path without.")
    bucket = parts.netloc.rpartition("@")[2]
    if not bucket:
        raise BadPath(f"{uri!r} names no bucket. Write {parts.scheme}://bucket/folder.")
    return _Place(bucket, base, dict(parse_qsl(parts.query, keep_blank_values=True)))


def _store_of(service: Service, place: _Place, uri: str) -> Any:
    retry_config = {"max_retries": RETRIES_MAX, "retry_timeout": place.retry_limit}
    endpoint = str(place.config.get("endpoint") or place.config.get("base_url") or "")
    try:
        return getattr(require("obstore").store, service.store)(
            place.bucket,
            config=place.config,
            client_options={
                "allow_http": endpoint.startswith("http://"),
                "timeout": dt.timedelta(minutes=REQUEST_MINUTES_MAX),
                "read_timeout": dt.timedelta(seconds=30),
            },
            retry_config=retry_config,
        )
    except require("obstore").exceptions.BaseError as error:
        said = str(error).partition("\n")[0]
        raise BadPath(f"{uri!r} cannot be used ({said}). See docs/filesystems.md.") from error


def _find_s3(parts: SplitResult, place: _Place) -> None:
    _check_no_user(parts)
    region = place.options.get("region") or _region_of(place.bucket, place.endpoint)
    # Objects are removed one by one, and not all that speaks like S3 can remove several at once.
    place.config = {"region": region, "disable_bulk_delete": True}
    place.config |= _if_said(endpoint=place.endpoint)


def _region_of(bucket: str, endpoint: str | None) -> str:
    """Where a bucket lies: as the environment says, or else S3."""
    said = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if said or endpoint or os.environ.get("AWS_ENDPOINT_URL"):
        return said or "us-east-1"
    from pyarrow.fs import resolve_s3_region

    try:
        return resolve_s3_region(bucket)
    except OSError as error:
        raise DiskFailed(
            f"Cannot say in which region the bucket {bucket} lies ({error}). Check its name and "
            "the connection, or write ?region=... after the path."
        ) from error


def _find_google(parts: SplitResult, place: _Place) -> None:
    if parts.username == "anonymous":  # As Arrow has it.
        place.options["anonymous"] = "true"
    else:
        _check_no_user(parts)
    place.config = _if_said(base_url=place.endpoint)


def _find_azure(parts: SplitResult, place: _Place) -> None:
    """Find an account and a container.

    A URI has both. Or it has only the container, and the environment has the account.
    """
    user, host = parts.username, place.bucket
    account, _, domain = host.partition(".")
    if domain:
        service, _, domain = domain.partition(".")
        if service not in ("dfs", "blob") or not domain:
            raise BadPath(f"{parts.geturl()!r} names no account. Write {_AZURE_FORMS}.")
        if user is None:
            user, _, place.base = place.base.partition("/")
        place.bucket = user
        place.config["account_name"] = account
        if domain != "core.windows.net":
            place.config["endpoint"] = f"https://{account}.blob.{domain}"
    elif user is not None:
        place.config["account_name"] = user
    if not place.base:
        raise BadPath(f"{parts.geturl()!r} names no folder. Say where in it the index is to be.")
    place.config |= _if_said(
        endpoint=place.endpoint,
        tenant_id=place.options.get("tenant_id"),
        client_id=place.options.get("client_id"),
    )


_ALL = ("endpoint_override", "scheme", "anonymous", "retry_limit_seconds", "one_writer")
_S3 = Service("S3Store", _find_s3, (*_ALL, "region"))
_GOOGLE = Service("GCSStore", _find_google, _ALL)
_AZURE = Service("AzureStore", _find_azure, (*_ALL, "tenant_id", "client_id"))
SERVICES = {
    "s3": _S3,
    "gs": _GOOGLE,
    "gcs": _GOOGLE,
    "az": _AZURE,
    "abfs": _AZURE,
    "abfss": _AZURE,
}

_INSTEAD = {
    "allow_bucket_creation": "Make the bucket with the store's own tools",
    "allow_bucket_deletion": "Remove the bucket with the store's own tools",
    "default_bucket_location": "Make the bucket with the store's own tools",
    "check_directory_existence_before_creation": "Leave it out: there are no folders",
    "credential_kind": "Leave it out, or write anonymous=true",
    "blob_storage_authority": "Write endpoint_override=http://host:port/account",
    "dfs_storage_authority": "Leave it out",
    "enable_tls": "Write endpoint_override=http://host:port/account",
    "role_arn": "Set AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, or give the role's own keys",
    "project_id": "Leave it out",
}
"""What to do instead of options that Arrow has for such URIs."""


def _check_known(options: Mapping[str, str], service: Service) -> None:
    for name in options.keys() - set(service.options):
        advice = _INSTEAD.get(name, f"Those that are: {', '.join(service.options)}")
        raise BadPath(f"The option {name} is not known for such a URI. {advice}.")


def _check_no_user(parts: SplitResult) -> None:
    if parts.username is not None:
        raise BadPath(
            f"The {parts.scheme}:// URI has a user in it. Leave it out and give credentials "
            "through the environment, as docs/filesystems.md says."
        )


def _if_said(**options: str | None) -> dict[str, str]:
    return {name: value for name, value in options.items() if value is not None}
