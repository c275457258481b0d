"""The tables of a run. A change here raises SCHEMA_VERSION and keeps older runs readable.

`sweep` and its `schema_version` stay as they are for ever: that is how a newer run is known.
"""

SCHEMA_VERSION = 1

TABLES = """
CREATE TABLE sweep (
    schema_version INTEGER NOT NULL,
    name TEXT NOT NULL,
    plan_text TEXT NOT NULL,     -- the sweep file, exactly
    created_at TEXT NOT NULL,    -- UTC, ISO 8601
    ddbench_version TEXT NOT NULL
);

CREATE TABLE servers (
    server_id INTEGER PRIMARY KEY,
    config TEXT NOT NULL UNIQUE  -- ServerConfig as JSON
);

CREATE TABLE launches (
    launch_id INTEGER PRIMARY KEY,
    server_id INTEGER NOT NULL REFERENCES servers,
    argv TEXT NOT NULL,          -- JSON
    log_name TEXT,               -- beside the database
    startup_s REAL,
    environment TEXT NOT NULL,   -- JSON
    failure TEXT                 -- JSON; NULL: it became ready
);

CREATE TABLE trials (
    trial_id INTEGER PRIMARY KEY,
    launch_id INTEGER NOT NULL REFERENCES launches,
    key TEXT NOT NULL,
    arm TEXT NOT NULL,
    server_id INTEGER NOT NULL REFERENCES servers,
    concurrency INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    visit INTEGER NOT NULL,
    load TEXT NOT NULL,            -- LoadConfig as JSON
    started_at TEXT NOT NULL,      -- UTC, ISO 8601
    wall_s REAL,
    client TEXT,                   -- ClientHealth as JSON
    log TEXT NOT NULL,             -- LogExcerpt as JSON, without its windows
    counters_before TEXT NOT NULL, -- JSON
    counters_after TEXT NOT NULL,  -- JSON
    failure TEXT                   -- JSON; NULL: the trial is done
);

CREATE UNIQUE INDEX one_valid_result_a_key ON trials (key) WHERE failure IS NULL;

CREATE TABLE requests (
    trial_id INTEGER NOT NULL REFERENCES trials,
    position INTEGER NOT NULL,     -- in the order of the prompts
    status TEXT NOT NULL CHECK (status IN ('completed', 'failed')),
    prompt_id TEXT NOT NULL,
    sent_s REAL NOT NULL,
    lateness_s REAL NOT NULL,
    reason TEXT,
    http_status INTEGER,
    ttft_s REAL,
    e2e_s REAL,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    output_ids TEXT,               -- JSON
    output_logprobs BLOB,          -- little-endian doubles
    finish_reason TEXT,
    retractions INTEGER,
    cached_tokens INTEGER,
    verify_ct INTEGER,
    correct_drafts INTEGER,
    committed_drafts INTEGER,
    histogram TEXT,                -- JSON
    chunk_offsets_s BLOB,          -- little-endian doubles
    text TEXT,
    PRIMARY KEY (trial_id, position)
) WITHOUT ROWID;

CREATE TABLE decode_windows (
    trial_id INTEGER NOT NULL REFERENCES trials,
    position INTEGER NOT NULL,
    logged_at TEXT,
    ranks TEXT NOT NULL,
    running_requests INTEGER,
    queued_requests INTEGER,
    kv_tokens INTEGER,
    accept_len_logged REAL,
    accept_rate_logged REAL,
    graph INTEGER,
    throughput_tokens_per_s REAL,
    accepted_depth REAL,
    commit_len REAL,
    tree_nodes REAL,
    PRIMARY KEY (trial_id, position)
) WITHOUT ROWID;

CREATE TABLE prefill_windows (
    trial_id INTEGER NOT NULL REFERENCES trials,
    position INTEGER NOT NULL,
    logged_at TEXT,
    ranks TEXT NOT NULL,
    new_requests INTEGER,
    new_tokens INTEGER,
    cached_tokens INTEGER,
    running_requests INTEGER,
    queued_requests INTEGER,
    PRIMARY KEY (trial_id, position)
) WITHOUT ROWID;
"""

_FACT_TABLES = (
    "sweep",
    "servers",
    "launches",
    "trials",
    "requests",
    "decode_windows",
    "prefill_windows",
)

# Nobody edits a measurement, not even with the sqlite3 shell by accident.
WRITE_ONCE = "".join(
    f"""
CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table}
BEGIN SELECT RAISE(ABORT, 'facts are written once and never edited'); END;
"""
    for table in _FACT_TABLES
    for verb in ("UPDATE", "DELETE")
)
