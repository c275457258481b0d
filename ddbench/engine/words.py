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
class Animal:
    name: str
    looks: tuple[str, ...]
    acts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    things: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Season:
    name: str
    weather: tuple[str, ...]
    scenes: tuple[str, ...]
    looks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mood:
    name: str
    verbs: tuple[str, ...]
    manners: tuple[str, ...]


ANIMALS = (
    Animal("fox", ("red", "lean", "clever"), ("trotted", "listened", "dug", "yawned")),
    Animal("heron", ("tall", "grey", "stiff"), ("stood", "fished", "stared", "rose")),
    Animal("beaver", ("wet", "round", "busy"), ("gnawed", "swam", "built", "dived")),
    Animal("badger", ("broad", "striped", "stubborn"), ("dug", "grunted", "slept", "sniffed")),
    Animal("crow", ("black", "hoarse", "clever"), ("called", "hopped", "stole", "circled")),
    Animal("hare", ("lean", "long", "nervous"), ("ran", "froze", "drummed", "listened")),
    Animal("stag", ("tall", "crowned", "brown"), ("roared", "grazed", "stood", "leapt")),
    Animal("lynx", ("spotted", "silent", "lean"), ("crouched", "stared", "leapt", "purred")),
    Animal("goose", ("white", "loud", "round"), ("hissed", "waddled", "swam", "called")),
    Animal("wolf", ("grey", "lean", "silent"), ("howled", "trotted", "waited", "sniffed")),
    Animal("robin", ("tiny", "red", "round"), ("sang", "hopped", "pecked", "nested")),
    Animal("toad", ("brown", "wet", "broad"), ("croaked", "sat", "blinked", "hopped")),
)
PLACES = (
    Place("river", ("ford", "reeds", "boats", "bank")),
    Place("mill", ("wheel", "sacks", "pond", "hedge")),
    Place("harbour", ("nets", "boats", "crane", "steps")),
    Place("forest", ("ferns", "oaks", "clearing", "brook")),
    Place("bridge", ("arches", "railing", "road", "bank")),
    Place("quarry", ("rocks", "crane", "ladder", "pond")),
    Place("orchard", ("trees", "baskets", "hedge", "ladder")),
    Place("chapel", ("bell", "steps", "graves", "lamp")),
    Place("meadow", ("hay", "brook", "hedge", "flowers")),
    Place("lighthouse", ("rocks", "lamp", "steps", "waves")),
    Place("well", ("rope", "bucket", "stones", "yard")),
    Place("moor", ("heather", "bog", "road", "stones")),
)
SEASONS = (
    Season(
        "spring",
        ("Rain fell", "The ice was gone", "Warm wind rose", "Hedges turned green"),
        ("the snow melted", "leaves opened", "the water rose", "lambs were born"),
        ("muddy", "green", "fresh", "noisy", "swollen"),
    ),
    Season(
        "summer",
        ("Dust hung low", "Days were long", "Bees hummed", "No cloud passed"),
        ("the grass dried", "swallows hunted", "the air stood still", "hay was cut"),
        ("hot", "dusty", "golden", "lazy", "bright"),
    ),
    Season(
        "autumn",
        ("Fog came early", "Nights grew cold", "Leaves blew past", "Smoke rose"),
        ("apples fell", "the geese left", "mushrooms grew", "the light turned red"),
        ("misty", "golden", "windy", "brown", "wet"),
    ),
    Season(
        "winter",
        ("Snow lay deep", "The pond froze", "Frost bit hard", "The sky was white"),
        ("the wind howled", "ice broke branches", "no bird sang", "lanterns burned"),
        ("frozen", "white", "silent", "bare", "cold"),
    ),
)
MOODS = (
    Mood("shy", ("crept", "tiptoed", "slipped"), ("softly", "alone", "unseen", "slowly")),
    Mood("proud", ("marched", "strode", "walked"), ("upright", "slowly", "grandly", "alone")),
    Mood("hungry", ("hurried", "ran", "pushed"), ("quickly", "blindly", "onward", "early")),
    Mood("old", ("limped", "walked", "wandered"), ("slowly", "carefully", "alone", "late")),
    Mood("playful", ("danced", "skipped", "raced"), ("gladly", "loudly", "early", "wildly")),
)
WHERE = ("under", "behind", "near", "among", "beside", "above", "beyond")
SOON = ("At dusk", "Before long", "Towards evening", "At noon", "At first light", "Later")
LIKE = ("a feather", "the moon", "water", "a bell", "any king", "a child", "old silver")
HELD = ("guarded", "took", "left", "found", "buried", "broke", "dropped")
GIFTS = (
    "ring",
    "nest",
    "coat",
    "loaf",
    "song",
    "letter",
    "key",
    "lamp",
    "drum",
    "mask",
    "shoe",
    "map",
    "coin",
    "flute",
)
FELT = ("wished for", "drew", "saw", "lost", "sold", "hid", "carried")
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
    "Nobody mentioned",
    "What stayed was",
    "Years later they found",
    "Evening brought",
    "A bell rang for",
    "Children drew",
    "Only wind touched",
)
