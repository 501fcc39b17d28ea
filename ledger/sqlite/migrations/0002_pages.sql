-- Listings that come in pages.

-- listing is 1 until the last page is there; cursor is where it goes on and, after that,
-- where changes are told. Both are empty for a job that was listed at once.
ALTER TABLE jobs ADD COLUMN listing INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN cursor TEXT NOT NULL DEFAULT '';

-- parent is the folder whose names are still to be put before the document's.
ALTER TABLE documents ADD COLUMN parent TEXT;
ALTER TABLE documents ADD COLUMN digest TEXT;

-- The folders of listings that are not complete.
CREATE TABLE folders (
	job     INTEGER NOT NULL,
	id      TEXT NOT NULL,
	parent  TEXT NOT NULL, -- empty: the listing's root
	name    TEXT NOT NULL,
	outside INTEGER NOT NULL, -- 1: what is in it is no part of the listing
	PRIMARY KEY (job, id)
) STRICT, WITHOUT ROWID;
