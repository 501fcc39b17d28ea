package cli

const description = `dogear reads many documents from a service that limits its readers, and keeps its place.

  dogear read urls.txt --scope host -o out
  dogear resume urls

Exit codes: 0 completed; 64 wrong usage; 65 nothing more without a decision; 66 no input; 69 unreachable; 70 a fault of dogear's own; 73 the sink failed; 74 the ledger failed; 75 go on later; 77 unauthorized; 78 a scope is not confirmed; 130, 143 stopped by a signal.`

const readHelp = `One list is one job. A 429 stops every request that shares its quota, in every dogear process of this user; what is read is saved and never read again. Ctrl-C finishes what is in flight, a second one aborts it; the place is kept either way.

  dogear read urls.txt --scope host -o out --deadline 2h

Exit codes: 0 completed; 64 wrong usage; 65 documents ended changed, denied, gone or failed, or a cap is used up; 66 the list cannot be read; 69 the source cannot be reached; 73 the folder cannot be written; 74 the ledger failed; 75 a later run goes on: deadline, a wait past it, throttled too often; 77 unauthorized; 78 nobody confirmed the scope; 130, 143 stopped by a signal.`

const resumeHelp = `The job keeps its source, sink, scope, pace, caps and names of credentials; what is given here replaces them from then on. Deadline, grace, progress and json are each run's own. Waits and attempts of earlier runs count.

  dogear resume urls --deadline 2h

Exit codes: as those of read; 66 there is no such job; 75 another process is running it.`

const statusHelp = `  dogear status urls --json

Exit codes: 0; 66 there is no such job; 74 the ledger failed.`

const remainingHelp = `  dogear remaining urls --json | head

Exit codes: 0; 66 there is no such job; 74 the ledger failed.`

const verifyHelp = `Without --deep it compares names and sizes.

  dogear verify urls --deep

Exit codes: 0 no difference; 1 a result is missing or differs; 66 there is no such job.`

const rebatchHelp = `It sends nothing; resume reads the new job.

  dogear rebatch urls --job urls-2 && dogear resume urls-2

Exit codes: 0; 64 wrong usage, or the name is taken; 65 no document has changed; 66 there is no such job.`
