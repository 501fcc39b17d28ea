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
// With Config.Graph they are files of drives as well, where Microsoft Graph has such, and with
// Config.Google where Google Drive has:
//
//	/v1.0/me/drive/root/delta           what is in a drive, in pages; then what has changed
//	/v1.0/drives/D1/items/ID/content    a document; without /content, its metadata
//	/drive/v3/files/7?alt=media         a document; with ?fields=…, its metadata
//	/batch/drive/v3                     POST: up to 100 requests for metadata
//
// It shares no code with what it tests: a judge that parses hints as the judged does cannot
// see the judged's bugs. What its hints mean is written into the journal by whoever sends
// them.
package standin
