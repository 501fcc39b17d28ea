-- What the ledger is called wherever it is reached from, in the marks of results.
ALTER TABLE dogear.schema ADD COLUMN ledger uuid NOT NULL DEFAULT gen_random_uuid();
