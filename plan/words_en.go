package plan

// english are the words of a plan in English. What stands in braces is filled in, what stands in
// backquotes is typed.
var english = map[string]string{
	"span.none": "at once", "span.more": "more than 292 years", "span.less": "less than 1 s",
	"span.ms": " ms", "span.s": " s", "span.min": " min", "span.h": " h", "span.d": " d",

	"take.one": "takes", "take.many": "take", "window": "{n} {unit}", "window.one": "{n} {unit}",
	"one.documents": "1 document", "many.documents": "{n} documents", "one.requests": "1 request", "many.requests": "{n} requests",
	"one.units": "1 unit", "many.units": "{n} units", "one.batches": "1 batch", "many.batches": "{n} batches",
	"limit.requests": "{n} in {per}", "limit.units": "{n} in {per}", "limit.bytes": "{n} in {per}", "limit.concurrent": "{n} at a time",
	"limit.smooth": ", evenly", "limit.burst": ", {n} at once", "limit.plan": " ({plan})",

	"title.short": "Plan: {service}", "title.sheet": "Assessment sheet: {service}",
	"service.unknown": "a service without a profile", "quota.unnamed": "the quota that was stated",
	"note": " ({note})", "lead.gap": " ", "value.again": "repeated lines: {n}",
	"list.or": "; ", "list.and": ", ", "list.more": "and {n} more", "unknown": "not known",

	// The verdict.
	"verdict.fits":           "It fits.",
	"verdict.does_not_fit":   "It does not fit.",
	"verdict.cannot_be_said": "It cannot be said yet.", "verdict.no_deadline": "No deadline is given.",
	"lead.fits":       "{documents} {take} {shortest} at the shortest, of the {deadline} that there are. {binding}",
	"lead.longer":     "{documents} {take} {shortest} at the shortest, and there are {deadline}. {done} can be done by then. {binding}",
	"lead.known":      "By the limits that are known, {documents} {take} {shortest} at the shortest, and there are {deadline}. {binding}",
	"lead.open":       "By the limits that are known, {documents} {take} {shortest} at the shortest. {binding}",
	"lead.nothing":    "No limit that is known can be reckoned with: nothing can be said of the time for {documents}.",
	"lead.binding":    "What takes longest is {limit} of {scope}.",
	"lead.fits.once":  "{documents} may all leave at once: no limit holds anything up.",
	"lead.known.once": "By the limits that are known, {documents} may all leave at once.",
	"lead.impossible": "Whatever the deadline, {what} alone is more than {limit} of {scope} lets through.",
	"what.request":    "one request", "what.document": "one document", "what.batch": "a batch of {n}",
	"lead.doubts": "Open is:",

	"doubt.sizes":          "{limit} of {scope}: the sizes of the documents are not known (`--size`). ",
	"doubt.sizes.upto":     "It is kept up to {upto} a document on average.",
	"doubt.latency":        "{limit} of {scope}: how long an answer takes is not known (`--latency`). ",
	"doubt.latency.upto":   "It is kept up to {upto} an answer.",
	"doubt.upto.none":      "No value would be small enough.",
	"doubt.reported":       "{limit} of {scope} is what others report; the service does not document it.",
	"doubt.unwritten":      "{scopes}: how much it lets through is not written.",
	"doubt.unwritten.tier": "{scopes}: how much it lets through under {tier} is not written.",
	"doubt.unconfirmed":    "{scopes}: nobody has confirmed which requests share this quota (`dogear scopes confirm`, `--scope`).",
	"doubt.noquota":        "Which of the service's quotas count depends on the addresses of the documents: give one (`dogear plan ADDRESS --documents N`).",
	"doubt.nobody":         "Nothing is known of the service: name its profile (`--profile`), or the agreed pace (`--rate`).",

	// Key figures.
	"key.documents": "documents", "key.requests": "requests", "key.deadline": "deadline", "key.shortest": "shortest time", "key.binding": "binding limit",
	"key.done": "done by the deadline", "key.margin": "margin", "key.latest": "latest start", "key.earliest": "earliest finish", "key.reckoned": "reckoned from", "key.never": "never",
	"value.within": "{span} after the start", "value.all": "all", "value.none": "none is given",
	"value.requests": "{n}", "value.batches": "{n}, of which {batches} are batches of {size}", "value.batches.all": "{n} of {size}",
	"value.repeats":      "{n}; repeated lines, not counted: {repeats}",
	"value.start.within": "up to {span} after the planned start",

	// The limits.
	"limits.title": "What each limit allows", "limits.none": "No limit is known.",
	"head.scope": "quota scope", "head.limit": "limit", "head.needs": "needed", "head.shortest": "shortest time", "head.done": "done by the deadline", "head.remark": "remark",

	"remark.binding": "binding", "remark.reported": "reported", "remark.stated": "as stated", "remark.agreed": "agreed: {who}", "remark.own": "dogear's own",
	"remark.sizes": "sizes not known", "remark.latency": "answer time not known", "remark.upto": "up to {upto}", "limits.together": "all together",

	"method.title":     "How this is reckoned",
	"method.best":      "It is the best case: the quotas are untouched at the start, nobody else uses them, nothing is refused and nothing fails. What does not fit here does not fit, unless the service counts by the clock and the start is just before its turn; what fits may still meet others.",
	"method.window":    "A limit of so much in a time lets that much through at once, and more only when the first of it is that long ago. A service that counts by the clock may let through up to a window more around its turn; that is not relied on.",
	"method.bucket":    "A limit with a burst lets the burst through at once, and then goes on at its rate.",
	"method.latency":   "Of requests at a time, each is held for {latency}.",
	"method.nolatency": "How long answers take is not in it (`--latency`).",
	"method.several":   "Several limits at once can take longer than each alone; the time for all together is exact.",
	"method.sum":       "What costs differently is reckoned by its sum.",

	"assume.tier":        "The tier {tier} is assumed, the first of the profile's (`--tier`): {tiers}.",
	"assume.chosen":      "The tier is {tier}.",
	"assume.one":         "A document takes one request.",
	"assume.requests":    "A document takes {n} requests, all of them counted against the scopes below.",
	"assume.cost":        "A document costs {n}, as stated.",
	"assume.costs":       "A request for a document costs {n} in {scopes}{note}.",
	"assume.costs.range": "Requests for documents cost {least} to {most} units in {scope}, by their addresses.",
	"assume.size":        "A document of unknown size is taken to have {size}, as stated.",
	"assume.listed":      "The source names the documents: listing takes no requests.",
	"assume.listing":     "Requests for listing are not counted: the profile does not say how many documents a page holds.",
	"assume.retries":     "Requests that are refused and sent again are not counted.",

	// Requests and batches.
	"batch.title":     "Requests and batches",
	"batch.none":      "No batch call is documented: documents are read one by one.",
	"batch.media":     "The service's batch call carries no contents: documents are read one by one.",
	"batch.off":       "Batches are not used: documents are read one by one. The service takes up to {most} in one (`--profile` with `--batch`).",
	"batch.elsewhere": "The batch call is not at the address of these documents: they are read one by one.",
	"batch.fits":      "The service takes up to {most} in one batch, and the limits let through up to {fits} at once: {sizes} fit.",
	"batch.small":     "{limit} of {scope} lets through no more than {fits} at once.",
	"batch.never":     "{limit} of {scope} does not let through even one at once.",
	"batch.sizes":     "batches of 1 to {fits} documents", "batch.sizes.one": "batches of one document",
	"batch.size":          "Here: {size} in one, {batches}.",
	"batch.each":          "Each document in a batch is counted as a request of its own; the request around it is taken to cost {envelope}{note}.",
	"batch.each.requests": "Each document in a batch is counted as a request of its own.",
	"batch.once":          "A batch is counted as one request.",
	"batch.judged":        "A batch is judged document by document: what is done is never asked for again, what failed goes again together after the longest wait among it.",

	// The target.
	"target.title":   "Target interface",
	"target.service": "service", "target.profile": "profile", "target.base": "base address", "target.version": "version of the interface", "target.dates": "state of the facts", "target.tier": "tier",
	"target.agent": "user agent", "target.batch": "batch call", "target.docversion": "version of a document",
	"target.shipped": "{name}, shipped with dogear", "target.own": "{name}, from the file {file}", "target.noprofile": "none: the service is read by the general rules of HTTP",
	"target.generic": "Nothing was found written about this service's limits.",
	"target.nobase":  "each deployment has its own; it was not given", "target.documented": "{base} (the facts are documented for {documented})",
	"target.noversion": "not stated in the profile: to be asked for",
	"target.nodates":   "when the sources were read is not in the profile: look at them again before this is relied on",
	"target.wants":     "asked for: {want}", "target.needs": "needed: {want}",
	"target.call":                "{method} {path}, up to {most} documents",
	"target.check.if-none-match": "{field}; checked by a conditional read", "target.check.field": "{field}; checked by reading the metadata", "target.check.none": "{field}; there is no cheaper check than a read",
	"target.request":      "{check}: {request}",
	"target.nodocversion": "not in the profile: a document takes the version of the answer it was saved from",

	// The scopes.
	"scopes.title": "Quota scopes", "scopes.intro": "Requests that share a quota wait together. A run begins only when each scope is confirmed.",
	"head.shared": "shared by all requests with the same", "head.confirmed": "confirmed", "head.limits": "limits", "head.note": "note",
	"scopes.documented": "documented by the service", "scopes.reported": "no: only reported", "scopes.no": "no",
	"scopes.stated": "by the user ({how})", "scopes.ledger": "by {who} on {when}: {how}", "scopes.nolimit": "not written",
	"scopes.parts": "What the parts of a scope are:", "scopes.part": "{part}: {given}", "scopes.host": "{part}: the host of the address",
	"scopes.others": "Of the profile's scopes these documents are not counted against {scopes}.",
	"scopes.verb":   "{part}: the method of the request",
	"scopes.path":   "{part}: told by the path of the address",

	// Questions.
	"ask.title": "Open questions", "ask.own": "To be found out on this side:", "ask.service": "For the service's side:",
	"ask.version":          "Which version of the interface is read, and until when will it be kept?",
	"ask.tier":             "Which of these applies to us: {tiers}?",
	"ask.listing":          "How many documents does a page of a listing hold, and what does one cost?",
	"ask.hops":             "Do all {n} requests of a document count against the same quota?",
	"ask.confirm":          "Which requests share the quota {scope}?",
	"ask.confirm.reported": "Is it right that the requests with the same {key} share the quota {scope}? Only others say so.",
	"ask.amount":           "How much does {scope} let through, and in which time?",
	"ask.amount.tier":      "How much does {scope} let through under {tier}, and in which time?",
	"ask.reported":         "Is {limit} of {scope} right? Only others say so.",
	"ask.unknown":          "Not found in what the service documents:",
	"ask.more":             "Run `dogear plan` with `--markdown` or `--html` for the whole sheet, with all questions and sources.",

	// Who retries.
	"retry.title": "Who retries",
	"retry.gate":  "dogear's gate alone. Nothing beneath it and nothing above it sends a request again: every sending takes a permit of its own and is counted.",
	"retry.sdk":   "Clients of the service that retry by themselves would get round the gate. Where one of them is used, this is to be switched off:",
	"retry.nosdk": "The profile knows no client of the service that retries by itself. If one is used, that has to be looked up.",
	"head.sdk":    "client", "head.does": "what it does", "head.off": "how it is switched off", "retry.nooff": "not stated: no way was found, or there is nothing to switch off",

	// The deadline.
	"deadline.title": "The deadline, and what happens at it",
	"deadline.is":    "The run ends {span} after its start.", "deadline.at": "The run ends at {at}.", "deadline.default": "None is given. A run without one ends after 24 hours.",
	"deadline.stop":  "At the deadline nothing more is sent. What is in flight gets 10 s to finish (`--grace`); what finishes is saved.",
	"deadline.wait":  "A wait that would last past the deadline is not waited for: the run ends at once. No wait is ever shortened.",
	"deadline.place": "The run ends with one reason, exit code 75, and a list of what remains (`dogear remaining JOB`). `dogear resume JOB` goes on from there: what is saved is not read again, and no wait and no attempt is forgotten.",
	"deadline.cmd":   "The commands:",

	// The ledger.
	"ledger.title":   "What the ledger needs",
	"ledger.durable": "Durable storage on a local disk. Each request is written down and synced before it leaves; a document is done only when its bytes and the ledger are.",
	"ledger.place":   "A folder that belongs to the account that runs dogear alone (`--store`, `DOGEAR_STORE`; else its state folder). A ledger on a network file system is refused.",
	"ledger.shared":  "One ledger for all who share the quota on this machine: that is how they wait together.",
	"ledger.keep":    "It is kept until the job is done, over restarts; waits that were told stay in it. It holds no credential, no signed link and no document.",
	"ledger.size":    "Its size has not been measured: no estimate is given.",

	// Acceptance.
	"accept.title": "Acceptance", "accept.intro": "By the very binary that will be used. Every row has to pass (exit code 0):", "head.row": "row", "head.must": "what must be seen",
	"accept.client": "Any other client that is to read from the service is judged the same way:",
	"accept.none":   "The table of `dogear drill`.",

	"facts.title": "What else is written", "sources.title": "Sources", "reported": "reported",
}
