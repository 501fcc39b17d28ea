-- The ledger's first shape.
--
-- Instants are nanoseconds since 1970; 0 means none, and what lies beyond the year 2262 is
-- kept as the last instant before it. Those named not_before and expires are on the ledger's
-- clock, all others are wall times.
--
-- A document's number, seq, is its job's id times 2^32 plus its place in the list, counted
-- from 1: numbers follow the list, with gaps for its repeats, however many jobs are listed
-- at once, and the documents of a job are one range of keys, so that nothing but lanes, runs
-- and requests needs a column that names the job.

-- How the ledger's clock follows from the machine's, in the boot that wrote last.
CREATE TABLE clock (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	boot   TEXT NOT NULL,
	anchor INTEGER NOT NULL, -- the ledger's clock minus the time since boot
	skew   INTEGER NOT NULL  -- the wall clock minus the ledger's, when a wait was last written
) STRICT;

-- The numbers that are given out and never taken back.
CREATE TABLE next (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	request INTEGER NOT NULL
) STRICT;
INSERT INTO next VALUES (1, 1);

-- One row a process that works on the ledger. Who is not in here may not write.
CREATE TABLE holders (
	n       INTEGER PRIMARY KEY AUTOINCREMENT,
	lock    TEXT NOT NULL,    -- the name of its lock file
	pid     INTEGER NOT NULL,
	host    TEXT NOT NULL,
	boot    TEXT NOT NULL,
	started INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	waiting TEXT NOT NULL     -- JSON: how many requests wait for each scope
) STRICT;

CREATE TABLE jobs (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	name     TEXT NOT NULL,
	stage    INTEGER NOT NULL, -- 0 it is being listed, 1 it is a job, 2 it is being deleted
	holder   INTEGER NOT NULL, -- who lists it
	settings TEXT NOT NULL,    -- JSON
	sink     TEXT NOT NULL,
	created  INTEGER NOT NULL,
	total    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX jobs_name ON jobs (name) WHERE stage = 1;
CREATE INDEX jobs_unready ON jobs (stage) WHERE stage <> 1;

-- Sets of scope keys, joined by line feeds in key order. Rows never change.
CREATE TABLE sets (
	id   INTEGER PRIMARY KEY,
	keys TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE lanes (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	job     INTEGER NOT NULL,
	listed  INTEGER NOT NULL, -- sets.id; the scopes that its documents were listed with
	scopes  INTEGER NOT NULL, -- sets.id; the scopes that they are read under
	pending INTEGER NOT NULL
) STRICT;
CREATE INDEX lanes_job ON lanes (job);

-- What moves comes first: a row's tail is only read when it is wanted.
CREATE TABLE documents (
	seq        INTEGER PRIMARY KEY,
	lane       INTEGER NOT NULL,
	state      INTEGER NOT NULL, -- dogear.State
	done       INTEGER NOT NULL, -- 1 in the state done; apart, so that claims leave its index alone
	attempts   INTEGER NOT NULL,
	not_before INTEGER NOT NULL,
	holder     INTEGER,          -- who has it in flight
	reason     TEXT,
	found      TEXT,             -- the version that was found instead of the job's
	partial    TEXT,             -- JSON: ledger.Partial
	id         TEXT NOT NULL,
	address    TEXT,             -- NULL where it is the id, or secret
	secret     INTEGER NOT NULL,
	list       INTEGER NOT NULL,
	line       INTEGER NOT NULL,
	offset     INTEGER NOT NULL,
	name       TEXT NOT NULL,
	version    TEXT NOT NULL,
	size       INTEGER,          -- NULL where the list promises none
	sha256     ANY               -- 32 bytes; the text where it is no digest
) STRICT;

-- What can be claimed, in the order of claiming.
CREATE INDEX documents_claim ON documents (lane, attempts) WHERE state = 0 AND not_before = 0;
-- What is pending and delayed on its own account.
CREATE INDEX documents_delayed ON documents (lane, not_before, attempts) WHERE state = 0 AND not_before > 0;
-- What a dead holder leaves.
CREATE INDEX documents_held ON documents (holder) WHERE holder IS NOT NULL;
-- What a new run looks at again.
CREATE INDEX documents_ended ON documents (state) WHERE state > 2;
-- What is not done, in the order of the list.
CREATE INDEX documents_left ON documents (done) WHERE done = 0;

-- Finds a document by its id: hash is the first eight bytes of the id's SHA-256. It is
-- filled when a listing has ended, in the order of its keys.
CREATE TABLE ids (
	job  INTEGER NOT NULL,
	hash INTEGER NOT NULL,
	seq  INTEGER NOT NULL,
	PRIMARY KEY (job, hash, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE results (
	doc          INTEGER PRIMARY KEY,
	run          INTEGER NOT NULL,
	folded       INTEGER NOT NULL, -- of job and folded path, the first eight bytes of SHA-256
	size         INTEGER NOT NULL,
	read_at      INTEGER NOT NULL,
	version      TEXT NOT NULL,
	path         TEXT NOT NULL,
	sha256       ANY,
	content_type TEXT NOT NULL
) STRICT;
CREATE INDEX results_folded ON results (folded);

-- Results that may not have their final name yet.
CREATE TABLE unplaced (
	doc    INTEGER PRIMARY KEY,
	temp   TEXT NOT NULL,
	folded TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	job       INTEGER NOT NULL,
	number    INTEGER NOT NULL,
	holder    INTEGER NOT NULL,
	pid       INTEGER NOT NULL,
	reason    TEXT NOT NULL,
	started   INTEGER NOT NULL,
	ended     INTEGER NOT NULL,
	deadline  INTEGER NOT NULL,
	sent      INTEGER NOT NULL,
	throttled INTEGER NOT NULL,
	done      INTEGER NOT NULL,
	bytes     INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_job ON runs (job, number);
CREATE INDEX runs_open ON runs (job) WHERE ended = 0;

CREATE TABLE requests (
	n       INTEGER PRIMARY KEY,
	job     INTEGER NOT NULL,
	run     INTEGER NOT NULL,
	doc     INTEGER NOT NULL,
	parent  INTEGER NOT NULL,
	holder  INTEGER NOT NULL,
	scopes  INTEGER NOT NULL, -- sets.id
	kind    INTEGER NOT NULL, -- dogear.Kind
	granted INTEGER NOT NULL,
	sent    INTEGER NOT NULL DEFAULT 0,
	ended   INTEGER NOT NULL DEFAULT 0,
	status  INTEGER NOT NULL DEFAULT 0,
	outcome INTEGER NOT NULL DEFAULT 0, -- dogear.Outcome
	hint    TEXT,
	until   INTEGER NOT NULL DEFAULT 0,
	bytes   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX requests_job ON requests (job);
-- What is in flight: counted, never kept as a number.
CREATE INDEX requests_open ON requests (holder, scopes, kind) WHERE ended = 0;

CREATE TABLE scopes (
	key             TEXT PRIMARY KEY,
	confirmed_by    TEXT NOT NULL DEFAULT '',
	confirmed_from  TEXT NOT NULL DEFAULT '',
	confirmed_at    INTEGER NOT NULL DEFAULT 0,
	rate            REAL NOT NULL DEFAULT 0,
	burst           INTEGER NOT NULL DEFAULT 0,
	concurrency     INTEGER NOT NULL DEFAULT 0,
	not_before      INTEGER NOT NULL DEFAULT 0,
	not_before_wall INTEGER NOT NULL DEFAULT 0, -- the same by the wall clock, for another boot
	boot            TEXT NOT NULL DEFAULT '',   -- the boot in which the row was written
	probing         INTEGER NOT NULL DEFAULT 0,
	probe           INTEGER NOT NULL DEFAULT 0,
	generation      INTEGER NOT NULL DEFAULT 0,
	streak          INTEGER NOT NULL DEFAULT 0,
	hinted          INTEGER NOT NULL DEFAULT 0,
	cause           INTEGER NOT NULL DEFAULT 0, -- dogear.Cause
	set_by          TEXT NOT NULL DEFAULT '',
	pace            BLOB
) STRICT, WITHOUT ROWID;

-- Waits that a person ended.
CREATE TABLE releases (
	id         INTEGER PRIMARY KEY,
	key        TEXT NOT NULL,
	by         TEXT NOT NULL,
	reason     TEXT NOT NULL,
	at         INTEGER NOT NULL,
	not_before INTEGER NOT NULL -- wall time that was given up
) STRICT;
CREATE INDEX releases_key ON releases (key);

-- What a job has come to, so that nobody has to scan for it. The meaning of what and key is
-- in counts.go.
CREATE TABLE counts (
	job  INTEGER NOT NULL,
	what INTEGER NOT NULL,
	key  INTEGER NOT NULL,
	n    INTEGER NOT NULL,
	PRIMARY KEY (job, what, key)
) STRICT, WITHOUT ROWID;
