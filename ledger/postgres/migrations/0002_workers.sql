-- The run that a holder helps with; 0: none. Who began a run is its holder, and no helper.
ALTER TABLE dogear.holders ADD COLUMN helps bigint NOT NULL DEFAULT 0;
