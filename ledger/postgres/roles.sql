-- Roles for a ledger, to be run by the owner of the schema once it is there: the first
-- program that opens the ledger with a role that may CREATE in the database makes it.
-- The names are examples. Run it again after an update of dogear that added tables.
--
-- A reader sees everything: there is no credential in a ledger. It can run status, remaining,
-- results, runs, requests and the like, on a standby too.
GRANT USAGE ON SCHEMA dogear TO dogear_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA dogear TO dogear_reader;
GRANT SELECT ON ALL SEQUENCES IN SCHEMA dogear TO dogear_reader; -- for pg_dump

-- A worker reads documents and keeps the ledger. It cannot change the schema: after an
-- update of dogear an owner opens the ledger first.
GRANT USAGE ON SCHEMA dogear TO dogear_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA dogear TO dogear_worker;
GRANT SELECT, USAGE, UPDATE ON SEQUENCE dogear.blocks TO dogear_worker;
REVOKE INSERT, UPDATE, DELETE ON dogear.schema FROM dogear_worker;
