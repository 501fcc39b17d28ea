// Package e2e tests dogear through its binary, against the stand-in service and against
// real limiters. It has tests only.
//
//	DOGEAR_KILLS=200 go test ./internal/e2e -run Crash      as many kills as that
//	DOGEAR_REQUIRE=nginx,haproxy,netns go test ./internal/e2e    these must be there
package e2e
