package dogear

// A StopReason says why a run ended. Every run has exactly one.
type StopReason string

// The stop reasons.
const (
	Completed          StopReason = "completed"
	Deadline           StopReason = "deadline"
	WaitPastDeadline   StopReason = "wait_past_deadline"
	AttemptsExhausted  StopReason = "attempts_exhausted"
	ThrottlesExhausted StopReason = "throttles_exhausted"
	RequestsExhausted  StopReason = "requests_exhausted"
	Cancelled          StopReason = "cancelled"
	Interrupted        StopReason = "interrupted"
	ScopeUnconfirmed   StopReason = "scope_unconfirmed"
	StopUnauthorized   StopReason = "unauthorized"
	SourceRefused      StopReason = "source_refused"
	SourceUnreachable  StopReason = "source_unreachable"
	SinkFailed         StopReason = "sink_failed"
	LedgerFailed       StopReason = "ledger_failed"
)
