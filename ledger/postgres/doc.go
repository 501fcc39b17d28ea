// Package postgres keeps the ledger in a PostgreSQL database, for the processes of several
// machines.
//
// Think of it as a few pens on one book. A process has three: one for the gate's decisions,
// one for what becomes of documents, one for lists. Each pen is a connection and a goroutine
// with a queue in front; what waits at the same moment is written in one transaction, and
// nobody is told before it is durable. Pens of one process never wait for each other, and
// those of several only where they decide on the same scope. Every transaction leaves a tick
// of its own, so that a pen whose connection broke knows afterwards whether it has written.
// Readers have connections of their own; what they stream is read in blocks.
//
// The time is the database's: every moment that counts comes from dogear.now() in SQL, and
// the clocks of machines mean nothing. What [Store.Now] says between two looks at it errs
// towards late.
//
// Nothing is kept in a session but prepared statements, so that poolers may stand in between:
// with default_query_exec_mode=exec in the address there are none. Where a pooler swallows
// notifications, a look every second takes their place. A process has up to eight
// connections, opened when they are needed.
package postgres
