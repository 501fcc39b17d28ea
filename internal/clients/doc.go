// Package clients drives real HTTP clients through `dogear drill run`, by the real binary, and
// holds what docs/clients.md says of them. It has tests only; the table of the clients is in
// table_test.go. What the drill serves of Microsoft Graph is held against Microsoft's own client
// in drive_test.go.
//
//	scripts/clients.sh                                   install them; the tests skip otherwise
//	DOGEAR_REQUIRE=clients go test ./internal/clients    they must be there
//	go test ./internal/clients -update                   measure anew, and write docs/clients.md
//	go test ./internal/clients -run Page -update         write docs/clients.md from testdata/seen.json
package clients
