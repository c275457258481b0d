"""The words of the grammar."""

from dataclasses import dataclass

# fmt: off
NAMES = (
    "Ada", "Ben", "Cleo", "Dan", "Edda", "Finn", "Greta", "Hugo", "Ines", "Jonas", "Kira",
    "Leo", "Mila", "Nils", "Olga", "Paul", "Rosa", "Sven", "Tara", "Uwe", "Vera", "Willa",
    "Yuri", "Zoe"
)
THINGS = (
    "apples", "books", "candles", "lamps", "pens", "plums", "shells", "stamps", "stones",
    "tickets", "spoons", "ropes", "maps", "keys", "kites", "jars"
)
CITIES = (
    "Oslo", "Lima", "Bonn", "Cairo", "Delhi", "Essen", "Ghent", "Hanoi", "Kyoto", "Lagos",
    "Malmo", "Nice", "Porto", "Quito", "Riga", "Turin"
)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December"
)
RECORDS = (
    "order", "user", "node", "basket", "ticket", "parcel", "account", "device", "sensor",
    "worker", "sample", "route"
)
FIELDS = (
    "price", "size", "weight", "score", "age", "rank", "delay", "cost", "load", "depth",
    "width", "hits"
)
SERVICES = (
    "gateway", "router", "cache", "store", "queue", "index", "mailer", "ledger", "proxy",
    "planner"
)
ANIMALS = (
    "fox", "heron", "beaver", "badger", "crow", "hare", "swan", "stag", "lynx", "goose", "wolf",
    "robin", "toad", "mole"
)
PLACES = (
    "river", "mill", "harbour", "forest", "bridge", "quarry", "orchard", "chapel", "meadow",
    "lighthouse", "well", "moor"
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Event:
    asked: str
    level: str
    seen: str
    after: tuple[str, ...]


EVENTS = (
    Event(
        "restarts",
        "WARN",
        "restart requested",
        ("started again", "ready for work", "came back", "resumed its queue"),
    ),
    Event(
        "runs out of memory",
        "ERROR",
        "out of memory",
        ("killed by the kernel", "heap dump written", "started with less load"),
    ),
    Event(
        "loses its link",
        "ERROR",
        "connection reset",
        ("retrying with a fresh socket", "peer is gone", "fell back to another route"),
    ),
    Event(
        "is slow",
        "WARN",
        "request took too long",
        ("load moved to another host", "cache was cold", "waiting for a lock"),
    ),
    Event(
        "gets a new config",
        "INFO",
        "config reloaded",
        ("new limits in force", "old values kept until idle", "certificates changed"),
    ),
    Event(
        "fills its disk",
        "ERROR",
        "no space left on device",
        ("old segments removed", "writes are paused", "compaction started early"),
    ),
    Event(
        "joins",
        "INFO",
        "joined the cluster",
        ("took over its share of keys", "copies the index", "votes from now on"),
    ),
    Event(
        "fails a check",
        "WARN",
        "health check failed",
        ("taken out of rotation", "next check soon", "marked as suspect"),
    ),
)


@dataclass(frozen=True, slots=True)
class Season:
    name: str
    weather: tuple[str, ...]
    scenes: tuple[str, ...]


SEASONS = (
    Season(
        "spring",
        ("Rain fell all night", "The ice had gone", "Warm wind came up", "The hedges were green"),
        ("the snow melted", "the first leaves opened", "the water rose", "lambs were born"),
    ),
    Season(
        "summer",
        ("Dust lay on the road", "The days were long", "Bees hung in the heat", "No cloud passed"),
        ("the grass turned yellow", "swallows hunted late", "the air stood still", "hay was cut"),
    ),
    Season(
        "autumn",
        ("Fog came early", "The nights grew cold", "Leaves blew past", "Smoke rose from fires"),
        ("apples fell", "the geese left", "mushrooms grew", "the light turned red"),
    ),
    Season(
        "winter",
        ("Snow lay deep", "The pond had frozen", "Frost bit hard", "The sky was white"),
        ("the wind howled", "ice broke branches", "no bird sang", "the lanterns burned all day"),
    ),
)


@dataclass(frozen=True, slots=True)
class Mood:
    adjective: str
    verbs: tuple[str, ...]
    acts: tuple[str, ...]
    manner: tuple[str, ...]


MOODS = (
    Mood(
        "shy",
        ("crept", "tiptoed", "went softly"),
        ("hid", "peered out", "waited", "slipped away"),
        ("quiet", "small", "still"),
    ),
    Mood(
        "proud",
        ("marched", "strode", "walked tall"),
        ("stood guard", "looked down on all", "turned its head", "kept its ground"),
        ("bright", "grand", "calm"),
    ),
    Mood(
        "hungry",
        ("hurried", "ran", "pushed"),
        ("dug for roots", "searched", "ate what it found", "sniffed about"),
        ("quick", "thin", "sharp"),
    ),
    Mood(
        "old",
        ("limped", "walked slowly", "wandered"),
        ("slept", "rested", "remembered better years", "sat and watched"),
        ("slow", "grey", "patient"),
    ),
    Mood(
        "playful",
        ("danced", "skipped", "raced"),
        ("chased its tail", "rolled over", "jumped about", "splashed"),
        ("merry", "light", "wild"),
    ),
)
WHERE = (
    "under the old oak",
    "behind a wall",
    "near the gate",
    "in the reeds",
    "among the stones",
    "beside the path",
    "at the edge of the field",
    "on the far bank",
)
SOON = ("At dusk", "Before long", "Towards evening", "Once all was quiet", "At first light")
LIKE = ("a feather", "the moon", "falling water", "a bell at noon", "any king", "a child at play")
HELD = ("guarded", "carried off", "left behind", "found", "buried")
GIFTS = ("a silver ring", "an empty nest", "a warm coat", "some bread", "an old song", "a letter")
FELT = ("thought of", "wished for", "spoke of", "gave it", "had lost")
FIRST = ("First add", "To begin, add", "Start by adding", "Add", "Put together")
THEN = ("Then take off", "Next subtract", "Now remove", "From that take", "Subtract")
SO = ("So", "Therefore", "In the end", "That means", "Hence")
REMAIN = ("remain", "are left", "stay behind", "are still there")
HOLD = ("hold", "contain", "make", "take in", "come to")
WITH = ("With", "Counting", "Adding", "Together with")
EXTRA = ("left over", "more", "loose ones", "outside", "besides")
OWNS = ("has", "counts", "owns", "ends up with", "keeps")
NOTES = (
    "handle with care,",
    "first of its kind,",
    "checked twice,",
    "seen before,",
    "not urgent,",
    "made by hand,",
    "for the archive,",
    "on trial,",
    "never empty,",
    "as agreed,",
)
NOTED = (
    "ask the owner",
    "keep it dry",
    "slow on Mondays",
    "no second copy",
    "works in place",
    "may be late",
    "must stay small",
    "bring a lamp",
    "mind the order",
    "see below",
)
WAYS = ("train", "ship", "truck", "bike", "drone", "post", "foot", "barge")
MEASURES = ("ms", "kb", "tries", "hops", "depth", "lag")
ASIDES = ("(as planned)", "(again)", "(see runbook)", "(first time)", "(quietly)", "(by hand)")
CLOSING = (
    "Nobody spoke of",
    "All that stayed was",
    "Years later someone found",
    "In the evening there was",
    "Far away a bell rang for",
    "The children drew",
    "Only the wind kept",
)
