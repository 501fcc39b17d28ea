-- The ledger's first shape.
--
-- Instants are nanoseconds since 1970; 0 means none, and what lies beyond the year 2262 is
-- kept as the last instant before it. Those named not_before are on the ledger's clock, all
-- others are wall times. Leases are in PostgreSQL's own type.
--
-- A document's number, seq, is its job's id times 2^32 plus its place in the list, counted
-- from 1: numbers follow the list, with gaps for its repeats, however many jobs are listed
-- at once, and the documents of a job are one range of keys, so that nothing but lanes, runs
-- and requests needs a column that names the job.
--
-- Text that came from outside may hold what PostgreSQL's text cannot: text.go says how it is
-- written then.
--
-- What every transaction changes is a row of its own for each pen (pen.go), so that no two
-- processes wait for each other on anything but a scope.

-- The ledger's clock. Tests put another in its place; whatever reads it reads it here.
CREATE FUNCTION dogear.now() RETURNS timestamptz LANGUAGE sql VOLATILE
	AS 'SELECT clock_timestamp()';

CREATE FUNCTION dogear.nanos(timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
	AS 'SELECT (extract(epoch FROM $1) * 1000000000)::bigint';

-- Which server wrote last. A standby that was promoted is another.
CREATE TABLE dogear.server (
	one      boolean PRIMARY KEY DEFAULT true CHECK (one),
	system   text NOT NULL, -- the cluster's system identifier
	timeline text NOT NULL  -- the first eight digits of the name of a WAL file
);

-- Numbers of requests, given out in blocks. None is given out twice.
CREATE SEQUENCE dogear.blocks AS bigint;

-- One row a process that works on the ledger. Who is not in here may not write.
CREATE TABLE dogear.holders (
	n       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	pid     integer NOT NULL,
	host    text NOT NULL,
	started bigint NOT NULL,
	expires timestamptz NOT NULL,
	waiting text NOT NULL     -- JSON: how many requests wait for each scope
) WITH (fillfactor = 50);

-- What writes for a holder: id is the holder's number times 4 plus the pen's kind. Each
-- transaction sets its pen's tick, so that it shows whether it was committed.
CREATE TABLE dogear.pens (
	id   bigint PRIMARY KEY,
	tick bigint NOT NULL
) WITH (fillfactor = 20);

CREATE TABLE dogear.jobs (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name     text COLLATE "C" NOT NULL,
	stage    smallint NOT NULL, -- 0 it is being listed, 1 it is a job, 2 it is being deleted
	holder   bigint NOT NULL,   -- who lists it
	settings text NOT NULL,     -- JSON
	sink     text COLLATE "C" NOT NULL,
	created  bigint NOT NULL,
	total    bigint NOT NULL,
	listing  boolean NOT NULL,  -- in pages, and the last is not there yet
	cursor   text NOT NULL
);
CREATE UNIQUE INDEX jobs_name ON dogear.jobs (name) WHERE stage = 1;
CREATE INDEX jobs_unready ON dogear.jobs (stage, id) WHERE stage <> 1;

-- Sets of scope keys, joined by line feeds in key order. Rows never change.
CREATE TABLE dogear.sets (
	id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	keys text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE dogear.lanes (
	id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	job    bigint NOT NULL,
	listed bigint NOT NULL, -- sets.id; the scopes that its documents were listed with
	scopes bigint NOT NULL, -- sets.id; the scopes that they are read under
	UNIQUE (job, listed)
);

CREATE TABLE dogear.documents (
	seq        bigint PRIMARY KEY,
	lane       bigint NOT NULL,
	not_before bigint NOT NULL DEFAULT 0,
	holder     bigint,                      -- who has it in flight
	line       bigint NOT NULL,
	place      bigint NOT NULL,             -- the offset of its record in bytes
	size       bigint NOT NULL,             -- negative where the list promises none
	attempts   integer NOT NULL DEFAULT 0,
	list       integer NOT NULL,
	state      smallint NOT NULL DEFAULT 0, -- dogear.State
	secret     boolean NOT NULL,
	id         text COLLATE "C" NOT NULL,
	address    text COLLATE "C",            -- NULL where it is the id, or secret
	name       text COLLATE "C" NOT NULL,
	version    text COLLATE "C" NOT NULL,
	sha256     bytea,                       -- text.go
	digest     text COLLATE "C" NOT NULL,
	parent     text COLLATE "C",            -- the folder whose names are still to be put before its own
	reason     text NOT NULL DEFAULT '',
	found      text NOT NULL DEFAULT '',    -- the version that was found instead of the job's
	partial    text NOT NULL DEFAULT ''     -- JSON: ledger.Partial
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- What can be claimed, in the order of claiming.
CREATE INDEX documents_claim ON dogear.documents (lane, attempts, seq) WHERE state = 0 AND not_before = 0;
-- What is pending and delayed on its own account.
CREATE INDEX documents_delayed ON dogear.documents (lane, not_before) WHERE state = 0 AND not_before > 0;
-- What a dead holder leaves.
CREATE INDEX documents_held ON dogear.documents (holder) WHERE holder IS NOT NULL;
-- What a new run looks at again.
CREATE INDEX documents_ended ON dogear.documents (state, seq) WHERE state > 2;
-- What is not done, in the order of the list.
CREATE INDEX documents_left ON dogear.documents (seq) WHERE state <> 2;

-- Finds a document by its id: hash is the first eight bytes of the id's SHA-256, rest the
-- eight behind them. Print is the fingerprint by which the listing told repeats from
-- conflicts.
CREATE TABLE dogear.ids (
	job   bigint NOT NULL,
	hash  bigint NOT NULL,
	seq   bigint NOT NULL,
	rest  bigint NOT NULL,
	print bigint NOT NULL,
	PRIMARY KEY (job, hash, seq)
);

-- The folders of listings that are not complete.
CREATE TABLE dogear.folders (
	job     bigint NOT NULL,
	id      text COLLATE "C" NOT NULL,
	parent  text COLLATE "C" NOT NULL, -- empty: the listing's root
	name    text NOT NULL,
	outside boolean NOT NULL,          -- what is in it is no part of the listing
	PRIMARY KEY (job, id)
);

CREATE TABLE dogear.results (
	doc          bigint PRIMARY KEY,
	run          bigint NOT NULL,
	folded       bigint NOT NULL, -- of job and folded path, the first eight bytes of SHA-256
	size         bigint NOT NULL,
	read_at      bigint NOT NULL,
	version      text NOT NULL,
	path         text NOT NULL,
	sha256       bytea,
	content_type text NOT NULL
);
CREATE INDEX results_folded ON dogear.results (folded);

-- Results that may not have their final name yet.
CREATE TABLE dogear.unplaced (
	doc    bigint PRIMARY KEY,
	temp   text NOT NULL,
	folded text NOT NULL
);

CREATE TABLE dogear.runs (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	job      bigint NOT NULL,
	number   bigint NOT NULL,
	holder   bigint NOT NULL,
	pid      integer NOT NULL,
	reason   text NOT NULL DEFAULT '',
	started  bigint NOT NULL,
	ended    bigint NOT NULL DEFAULT 0,
	deadline bigint NOT NULL,
	UNIQUE (job, number)
);
-- A job is run by one holder at a time.
CREATE UNIQUE INDEX runs_open ON dogear.runs (job) WHERE ended = 0;

-- What a run has come to: the sum over the pens, as in counts.
CREATE TABLE dogear.run_counts (
	run       bigint NOT NULL,
	pen       bigint NOT NULL,
	sent      bigint NOT NULL,
	throttled bigint NOT NULL,
	done      bigint NOT NULL,
	bytes     bigint NOT NULL,
	PRIMARY KEY (run, pen)
) WITH (fillfactor = 50);
CREATE INDEX run_counts_pen ON dogear.run_counts (pen);

CREATE TABLE dogear.requests (
	n       bigint PRIMARY KEY,
	job     bigint NOT NULL,
	run     bigint NOT NULL,
	doc     bigint NOT NULL,
	parent  bigint NOT NULL,
	holder  bigint NOT NULL,
	scopes  bigint NOT NULL, -- sets.id
	granted bigint NOT NULL,
	sent    bigint NOT NULL DEFAULT 0,
	ended   bigint NOT NULL DEFAULT 0,
	until   bigint NOT NULL DEFAULT 0,
	bytes   bigint NOT NULL DEFAULT 0,
	status  integer NOT NULL DEFAULT 0,
	kind    smallint NOT NULL,           -- dogear.Kind
	outcome smallint NOT NULL DEFAULT 0, -- dogear.Outcome
	hint    text NOT NULL DEFAULT ''
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
-- A process numbers its own requests in order, and a run is one process's.
CREATE INDEX requests_job ON dogear.requests (job, run, n);
-- What is in flight: counted, never kept as a number.
CREATE INDEX requests_open ON dogear.requests (holder, scopes, kind) WHERE ended = 0;

CREATE TABLE dogear.scopes (
	key            text COLLATE "C" PRIMARY KEY,
	confirmed_by   text NOT NULL DEFAULT '',
	confirmed_from text NOT NULL DEFAULT '',
	confirmed_at   bigint NOT NULL DEFAULT 0,
	rate           double precision NOT NULL DEFAULT 0,
	burst          integer NOT NULL DEFAULT 0,
	concurrency    integer NOT NULL DEFAULT 0,
	not_before     bigint NOT NULL DEFAULT 0,
	probing        boolean NOT NULL DEFAULT false,
	probe          bigint NOT NULL DEFAULT 0,
	generation     bigint NOT NULL DEFAULT 0,
	streak         integer NOT NULL DEFAULT 0,
	hinted         boolean NOT NULL DEFAULT false,
	cause          smallint NOT NULL DEFAULT 0, -- dogear.Cause
	set_by         text NOT NULL DEFAULT '',
	pace           bytea
) WITH (fillfactor = 20);

-- Waits that a person ended.
CREATE TABLE dogear.releases (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	key        text COLLATE "C" NOT NULL,
	by         text NOT NULL,
	reason     text NOT NULL,
	at         bigint NOT NULL,
	not_before bigint NOT NULL -- wall time that was given up
);
CREATE INDEX releases_key ON dogear.releases (key, id);

-- What a job has come to, so that nobody has to scan for it: the sum over the pens. The
-- meaning of what and key is in counts.go. Pen 0 has what the pens of holders that are gone
-- have counted.
CREATE TABLE dogear.counts (
	job  bigint NOT NULL,
	what smallint NOT NULL,
	key  bigint NOT NULL,
	pen  bigint NOT NULL,
	n    bigint NOT NULL,
	PRIMARY KEY (job, what, key, pen)
) WITH (fillfactor = 50);
CREATE INDEX counts_pen ON dogear.counts (pen);
