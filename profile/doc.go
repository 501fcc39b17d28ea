// Package profile is what document services document about their quotas, as data: one strict
// YAML file for each service, in which every fact carries the address where it is written and
// how well it is known.
//
// Think of a profile as an answer to three questions. Before a request: which scopes is it
// counted against, and what does it cost there? When its answer is in: is it a throttle, which
// scopes does it close, and until when? And for people: who says so, and what is not known?
//
//	p, ok := profile.ForHost("api.github.com")
//	…
//	for _, m := range p.Belongs("GET", u, map[string]string{"identity": "bot"}) {
//		admit(m.Key, m.Cost) // "github:resource=core,user=bot"
//	}
//	…
//	v := p.Judge(profile.Answer{Status: resp.StatusCode, Header: resp.Header, Received: now})
//	if v.Throttled {
//		shut(v.Closed(memberships), v.Hint)
//	}
//
// A profile knows nothing of the credential, keeps no state and reads no clock. The shipped
// ones are shared: nobody changes them. docs: services/README.md describes the file.
package profile
