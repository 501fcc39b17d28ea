// Package standin is the tests' own document service: small, deterministic, and as rude as
// it is told to be.
//
// Think of it as a row of rules in front of a shelf of documents. A request is written into
// the journal when it arrives; then each rule in turn may answer it, a limiter may refuse
// it, and what is left gets its document, whose bytes the test knows beforehand:
//
//	s, err := standin.Start(standin.Config{
//		Limit: standin.Bucket(100, 20),
//		Rules: []standin.Rule{standin.On("/doc/7", standin.Cut(1000))},
//	})
//	…
//	defer s.Close()
//	read(s.URL("/doc/1")) // standin.Body(1)
//	early := s.Journal.Early(500 * time.Millisecond)
//
// It shares no code with what it tests: a judge that parses hints as the judged does cannot
// see the judged's bugs.
package standin
