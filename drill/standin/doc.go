// Package standin is a document service for tests of those who read documents: small,
// deterministic, and as rude as it is told to be.
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
//	rows := s.Journal.Arrivals(nil)
//
// Documents are at /doc/7, /doc/7.pdf, /doc/7/any-name and, for clients of Graph, at
// /v1.0/documents/7/content; ?size=1000 asks for one of another size. Where the service has
// an end of them, they are listed:
//
//	/manifest.txt .csv .jsonl   all at once; free of rules, limits and tokens
//	/v1.0/documents             in pages, with @odata.nextLink
//	/v1.0/$batch                POST: up to 20 requests, each limited by itself
//	/token                      POST: a new token, if tokens are needed
//
// It shares no code with what it tests: a judge that parses hints as the judged does cannot
// see the judged's bugs. What its hints mean is written into the journal by whoever sends
// them.
package standin
