package cli

const description = `dogear reads many documents from a service that limits its readers, and keeps its place.

  dogear read urls.txt --scope host -o out
  dogear resume urls

Exit codes: 0 completed; 64 wrong usage; 65 nothing more without a decision; 66 no input; 69 unreachable; 70 a fault of dogear's own; 73 the sink failed; 74 the ledger failed; 75 go on later; 77 unauthorized; 78 a scope is not confirmed; 130, 143 stopped by a signal.`

const readHelp = `One list is one job. A 429 stops every request that shares its quota, in every dogear process of this user; what is read is saved and never read again. Ctrl-C finishes what is in flight, a second one aborts it; the place is kept either way.

  dogear read urls.txt --scope host -o out --deadline 2h
  dogear read urls.txt --scope host -o 's3://results/policies?region=eu-central-1'

Exit codes: 0 completed; 64 wrong usage; 65 documents ended changed, denied, gone or failed, or a cap is used up; 66 the list cannot be read; 69 the source cannot be reached; 73 the folder or bucket cannot be written; 74 the ledger failed; 75 a later run goes on: deadline, a wait past it, throttled too often; 77 unauthorized; 78 nobody confirmed the scope; 130, 143 stopped by a signal.`

const resumeHelp = `The job keeps its source, sink, scope, pace, caps and names of credentials; what is given here replaces them from then on. Deadline, grace, progress and json are each run's own. Waits and attempts of earlier runs count.

  dogear resume urls --deadline 2h

Exit codes: as those of read; 66 there is no such job; 75 another process is running it.`

const workerHelp = `It joins the run of a job whose ledger and sink it shares: it has the run's deadline, caps and stop reason, and ends with it. SIGTERM finishes what is in flight and leaves; what a worker that dies had in flight goes to the others.

  dogear read urls.txt --scope host -o out & dogear worker urls --wait 10s

Exit codes: as those of read; 66 there is no such job; 75 nobody is running it.`

const ledgerHelp = `An exported ledger is one JSON object a line: jobs, documents, results, runs, requests, scopes with what is left of their waits. It moves a ledger to another machine or kind of store, and back: a SQLite file or PostgreSQL. The sinks stay where they are, and belong to the jobs that were moved from the moment they are resumed. While a job is being run it is refused. In PostgreSQL an export takes the rights of a reader, an import those of a worker.

  dogear ledger export ledger.jsonl && dogear ledger import ledger.jsonl --store postgres://db.example.com/dogear

Exit codes: 0; 64 a job's name is taken there; 65 the file is none, cut or broken; 66 there is no such file; 73 the file cannot be written; 74 the ledger failed; 75 a job is being run.`

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

const drillHelp = `What does a client do after a 429? The drill serves documents behind a limit, keeps a journal of what arrived, and judges it. It works with any client in any language. Without a command it is dogear's own table: what must be seen of dogear, by this very binary, from the service's journal and from the ledger; name rows to run only those. Its flags are --keep DIR, --html FILE, --junit FILE and --json.

  dogear drill --html drill.html
  dogear drill run many-workers -- curl --parallel --retry 5 --remote-name-all --output-dir {out} {urls}

Exit codes: 0 pass; 1 a difference; 64 wrong usage, or the client cannot be started; 65 a journal cannot be read; 66 there is no such scenario or journal; 78 a scenario is wrong; 130, 143 stopped by a signal.`

const drillRunHelp = `Each scenario has a service of its own. The client is run in the current folder, as it is and without a shell. In its arguments {list} is a file of addresses, one a line, {urls} all addresses (an argument each, where it stands alone), {base} the service's address, {out} an empty folder, {workers} a number, {client} the number of the process, {ca} and {token_file} files with the certificate to trust and the token to send. What else stands in braces stays. The same is in the environment: DRILL_LIST, DRILL_BASE, DRILL_OUT, DRILL_WORKERS, DRILL_CLIENT, DRILL_CLIENTS, DRILL_SCENARIO, DRILL_CA, DRILL_TOKEN, DRILL_TOKEN_FILE.

  dogear drill run many-workers two-quotas --html drill.html -- python3 client.py {list} {out}

Exit codes: 0 every scenario passes; 1 one fails; 64 wrong usage, or the client cannot be started; 66 there is no such scenario; 73 a file or folder cannot be written; 78 a scenario is wrong; 130, 143 stopped by a signal: the client and what it has started have ended.`

const drillServeHelp = `Prints a name and a value a line: base, the service's address; list, a list of all addresses, one for each quota; quota with its name and address where there are several; token, one to begin with, where the service wants one (POST /token gives a new one); ca, the certificate's file. Then it serves until a signal, and says on standard error what arrived.

  dogear drill serve many-workers --journal journal.jsonl

Exit codes: 0 ended by a signal; 64 wrong usage, or it cannot listen; 66 there is no such scenario; 73 the journal is there already or cannot be written; 78 the scenario is wrong.`

const drillJudgeHelp = `Asserts compare a figure of --json with a number by ==, !=, <, <=, > or >=. A journal that was cut in the middle of a line is judged up to there.

  dogear drill judge journal.jsonl --assert 'early==0, burst<=1'

Exit codes: 0 pass; 1 an assert does not hold, or nothing arrived; 64 wrong usage; 65 the journal cannot be read; 66 there is no such journal.`

const planHelp = `It tells how many requests a batch takes, the shortest time that each limit of the service allows, which limit binds, what is done by the deadline, and what nobody has written down and has to be asked. It guesses nothing and sends nothing. --markdown and --html write an assessment sheet for an integration, in English or Chinese.

  dogear plan --profile msgraph --documents 120000 --size 2MB --deadline 2h
  dogear plan list.csv --profile my-service.yaml --base-url https://docs.example.com/api --lang zh --html plan.html

Exit codes: 0 whatever the verdict is (--json has it); 64 wrong usage; 65 the list is wrong; 66 the list cannot be read; 73 a file cannot be written; 74 the ledger failed; 78 the profile is wrong.`

const profilesHelp = `  dogear profiles
  dogear profiles show msgraph
  dogear profiles check my-service.yaml

Exit codes: 0; 66 there is no such profile or file; 78 the file is wrong: each mistake with its line and column.`
