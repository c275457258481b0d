"""The `arms` of a sweep file: each drafting setting under comparison, and the server it needs.

- autoregressive
- linear: {block_size: 8}                                  -> linear-8
- tree: {block_size: 8, budget: [7, 15], topk: [4]}        -> tree-8-7-4, tree-8-15-4
- linear: {block_size: 8, record_drafts: true}            -> linear-8-drafts, a probe: run once
- eagle3: {algorithm: EAGLE3, draft_model: PATH, flags: {...}}     an own name
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from ddbench.plan.argv import DRAFTER_FREE, EMBEDDED_ALGORITHMS, SETTINGS, SPELLINGS
from ddbench.plan.drafter_files import drafter_block_size
from ddbench.plan.drafting import read_speculations
from ddbench.plan.marked_yaml import Marked
from ddbench.plan.process_settings import read_dialect, read_env, read_flags
from ddbench.plan.server_section import DEFAULT_MODEL, ServerSection
from ddbench.records import Arm, FlagValue, ServerConfig, Speculation

KINDS: Mapping[str, str | None] = {"autoregressive": None, "linear": "DFLASH", "tree": "DDTREE"}
OVERRIDES = ("draft_model", "patches", "flags", "env", "dialect")
STARTING = ("patches", "flags", "env", "dialect")
MAX_RUNNING = "max-running-requests"
OPEN_LOOP_RUNNING = 48  # SGLang's own choice for its speculative servers; here every arm's


def read_arms(
    node: Marked, server: ServerSection, *, largest_concurrency: int, record_drafts: bool = False
) -> list[tuple[Arm, ServerConfig]]:
    """Every arm with its server config, in the order of the file, lists multiplied out.

    record_drafts: the load asks every arm to.

    Raises PlanError for a setting that cannot be drafted, and for two arms of one name.
    """
    if not isinstance(node.content, list):
        raise node.error(
            f"expected a list, found {node.said()}",
            remedy="Write each arm on a line of its own that starts with `- `.",
        )
    arms: dict[str, tuple[Arm, ServerConfig]] = {}
    for item in node.items():
        for arm, config in _read_item(item, server, largest_concurrency, record_drafts):
            if arm.name in arms:
                raise item.error(
                    f"two arms are named {arm.name}",
                    remedy=f"Remove one, or give it a name of its own: "
                    f"`- {arm.name}-b: {{algorithm: {arm.speculation.algorithm or 'null'}, ...}}`.",
                )
            arms[arm.name] = arm, config
    if server.engine == "attach" and len(arms) > 1:
        raise node.error(
            "an attached server has one drafting setting, the one it was started with",
            remedy="Keep the one arm that describes it.",
        )
    return list(arms.values())


def _read_item(
    item: Marked, server: ServerSection, largest_concurrency: int, record_drafts: bool
) -> Iterator[tuple[Arm, ServerConfig]]:
    key, section = _key_and_section(item)
    algorithm = _algorithm(key, section)
    known = (*(() if key in KINDS else ("algorithm",)), *SETTINGS, *OVERRIDES, "record_drafts")
    entries = section.mapping(known=known)
    if server.engine == "attach" and (useless := [k for k in STARTING if k in entries]):
        raise entries[useless[0]].error(
            "an attached server is run by someone else, so this would do nothing",
            remedy="Remove it, or choose another engine.",
        )
    recorded = _recorded(section, entries, server, algorithm, record_drafts)
    dialect = read_dialect(entries["dialect"]) if "dialect" in entries else server.dialect
    draft_model = _draft_model(section, entries, server, algorithm)
    flags = dict(read_flags(entries["flags"])) if "flags" in entries else {}
    env = read_env(entries["env"]) if "env" in entries else {}
    patches = _patches(section, entries.get("patches"), server)
    if server.engine == "embedded" and algorithm not in EMBEDDED_ALGORITHMS:
        raise section.error(
            f"the embedded engine does not draft with {algorithm}",
            remedy="Use engine: sglang for this arm, or a linear or tree arm here.",
        )
    every_flag = {**server.flags, **flags}
    max_running = _max_running(section, every_flag, largest_concurrency)
    speculations = read_speculations(key, section, algorithm, dialect=dialect, flags=every_flag)
    for speculation in speculations:
        arm = Arm(
            name=_name(key, speculation, single=len(speculations) == 1, recorded=recorded),
            speculation=speculation,
            draft_model=draft_model,
            patches=patches,
            flags=tuple(sorted(flags.items())),
            env=tuple(sorted(env.items())),
            dialect=dialect,
        )
        yield (
            arm,
            ServerConfig(
                engine=server.engine,
                model=server.model,
                draft_model=draft_model,
                speculation=speculation,
                max_running_requests=max_running,
                flags=tuple(sorted((n, v) for n, v in every_flag.items() if n != MAX_RUNNING)),
                env=tuple(sorted({**server.env, **env}.items())),
                dialect=dialect if speculation.block_size else (),
                python=server.python,
                patches=patches,
                base_url=server.base_url,
                launcher=server.launcher,
                launcher_options=server.launcher_options,
                host=server.host,
                port=server.port,
                ready_timeout_s=server.ready_timeout_s,
                record_drafts=recorded,
            ),
        )


def _key_and_section(item: Marked) -> tuple[str, Marked]:
    if isinstance(item.content, str):
        return item.content, Marked(item.file, item.line, item.key, {})
    entries = item.mapping()
    if len(entries) != 1:
        raise item.error(
            f"expected one arm, found {len(entries)} keys",
            remedy="Start each arm with `- ` and indent its settings under its name.",
        )
    ((key, section),) = entries.items()
    section.require_file_name(key)  # each server's log is named after its arm
    return key, section


def _algorithm(key: str, section: Marked) -> str | None:
    """SGLang's name of the algorithm: fixed for ddbench's own kinds, else the arm's `algorithm`."""
    if key in KINDS:
        return KINDS[key]
    given = section.mapping().get("algorithm")
    if given is None:
        close = get_close_matches(key, KINDS, n=1)
        raise section.error(
            f"{key!r} is no kind of arm, and has no `algorithm`",
            remedy=(f"Did you mean `{close[0]}`? " if close else "")
            + f"Kinds are {', '.join(KINDS)}; an arm of another name says `algorithm:`.",
        )
    return None if given.is_null() else given.text()


def _draft_model(
    section: Marked, entries: Mapping[str, Marked], server: ServerSection, algorithm: str | None
) -> str | None:
    """The arm's own, else the server's, else the shipped drafter for the shipped model.

    Also checks the arm's block size against the drafter's config.json, where that can be read.
    """
    own = entries.get("draft_model")
    if algorithm is None or algorithm in DRAFTER_FREE:
        if own is not None and not own.is_null():
            raise own.error(
                f"{algorithm or 'an autoregressive arm'} uses no drafter", remedy="Remove it."
            )
        return None
    if own is not None and not own.is_null():
        draft_model = own.text()
    elif server.draft_model is not None:
        draft_model = server.draft_model
    elif algorithm not in SPELLINGS or server.engine == "attach":
        return None  # some algorithms draft with layers of the target itself
    elif server.model == DEFAULT_MODEL:
        draft_model = "builtin"
    else:
        raise section.error(
            "no drafter for this arm", remedy="Add `draft_model:` to it or to the server section."
        )
    trained = drafter_block_size(draft_model) if algorithm in SPELLINGS else None
    if trained is not None and "block_size" in entries:
        for block_size in entries["block_size"].items():
            if block_size.content != trained:
                raise block_size.error(
                    f"the drafter {draft_model} was trained for block size {trained}",
                    remedy=f"Write `block_size: {trained}`, or use another drafter.",
                )
    return draft_model


def _recorded(
    section: Marked,
    entries: Mapping[str, Marked],
    server: ServerSection,
    algorithm: str | None,
    every_arm: bool,
) -> bool:
    own = entries.get("record_drafts")
    recorded = every_arm if own is None else own.flag()
    if recorded and (algorithm != "DFLASH" or server.engine == "attach"):
        raise (own or section).error(
            "drafts are recorded by a linear (DFLASH) server that ddbench starts",
            remedy="Give `record_drafts: true` to a linear arm: it predicts every tree as well.",
        )
    return recorded


def _patches(section: Marked, own: Marked | None, server: ServerSection) -> str | None:
    patches = server.patches
    if own is not None:
        patches = None if own.is_null() else own.text()
    if patches is not None and server.engine != "sglang":
        raise (own or section).error(
            f"engine: {server.engine} has no SGLang to patch",
            remedy="Remove `patches`, or set engine: sglang.",
        )
    as_it_runs = "allow" not in dict(server.launcher_options)
    if patches is not None and server.launcher == "systemd-unit" and as_it_runs:
        raise (own or section).error(
            "the unit is measured as it runs, so patches would do nothing",
            remedy="Remove `patches`, or let ddbench restart the unit: `allow: restart`.",
        )
    return patches


def _max_running(section: Marked, flags: Mapping[str, FlagValue], largest_concurrency: int) -> int:
    """Always explicit: SGLang silently takes 48 for speculative arms only.

    largest_concurrency: 0 for an open loop, which has no number in flight to make room for.
    """
    asked = flags.get(MAX_RUNNING, largest_concurrency or OPEN_LOOP_RUNNING)
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < max(1, largest_concurrency):
        raise section.error(
            f"{MAX_RUNNING} {asked} would queue requests at concurrency {largest_concurrency}",
            remedy=f"Set at least {largest_concurrency}, or remove the flag.",
        )
    return asked


def _name(key: str, speculation: Speculation, *, single: bool, recorded: bool) -> str:
    """`linear-8`, `tree-8-31-4`; an own key as it is, with its settings where it is many arms."""
    if key not in KINDS and single:
        return key
    values = (getattr(speculation, setting) for setting in SETTINGS)
    drafts = ["drafts"] if recorded and key in KINDS else []  # beside the measured arm
    return "-".join([key, *(str(value) for value in values if value is not None), *drafts])
