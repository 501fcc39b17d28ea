// Package plan tells before a batch starts whether it can finish: how many requests it takes, the
// shortest time that each limit of the service allows, and what would be done by a deadline.
//
// Think of it as arithmetic over a profile. What is to be read is a list of loads, each with the
// scopes that it is counted against; what a scope lets through comes from the profile, the ledger
// or the user. All of it is exact: whole requests in whole windows, decimals as they were written.
//
//	p, err := plan.New(plan.Ask{Profile: graph, Loads: loads, Deadline: plan.Within(2 * time.Hour)})
//	…
//	fmt.Println(p.Verdict, p.Shortest, p.Done)
//	err = p.Text(os.Stdout, plan.English)
//
// A plan is optimistic: the quota is untouched at the start, nobody else uses it and nothing is
// refused. So a batch that does not fit by the plan does not fit (but see Windows); one that fits
// may still meet others. And it guesses nothing: a limit that cannot be computed, a scope whose size nobody has
// written down or that nobody has confirmed makes the verdict [Unsaid], with the question to ask.
//
// # Windows
//
// A limit of A in a time W is read as at most A in any stretch of W. The first A go at once, the
// next when the first have become W old, and so on. A service that counts by the clock may let
// through as much as a window more around its turn; that is not relied on. A limit with a burst is
// a bucket: the burst at once, then the rate. Concurrency C with answers that take L is C in any
// stretch of L.
package plan
