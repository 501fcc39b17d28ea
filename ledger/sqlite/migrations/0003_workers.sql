-- The run that a holder helps with; 0: none. Who began a run is its holder, and no helper.
ALTER TABLE holders ADD COLUMN helps INTEGER NOT NULL DEFAULT 0;
