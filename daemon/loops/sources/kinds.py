"""Make the source of an entry of `[[sources]]`. A kind's modules are imported only when a source of it is configured."""

from daemon.env import Env
from daemon.loops.sources.all import RunningSource
from daemon.runtime.config import SourceSettings
from daemon.runtime.log import Log
from daemon.wire import SourceKind


def new_source(env: Env, log: Log, settings: SourceSettings) -> RunningSource:
    """Return the source of an entry that is not of kind `modem`."""
    if settings.kind == SourceKind.ANDROID:
        from daemon.loops.sources.android import AndroidSource  # noqa: PLC0415 -- only if configured

        return AndroidSource(env, log, settings)
    assert settings.kind == SourceKind.HILINK, "the settings allow only kinds that are here"
    from daemon.loops.sources.hilink import HiLinkSource  # noqa: PLC0415 -- only if configured

    return HiLinkSource(env, log, settings)
