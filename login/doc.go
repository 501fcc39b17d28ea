// Package login gets OAuth 2.0 access tokens for a service: as an app, with a secret of its
// own (client credentials, RFC 6749 section 4.4), or as a person, who types a code elsewhere
// (device authorization grant, RFC 8628).
//
// A [Login] holds one token, in memory, and sends nothing by itself. Whoever is about to send
// asks for the token at hand, without I/O; where there is none, or it was refused, one caller
// renews it for all, through the [http.RoundTripper] that it brings:
//
//	token, ok := l.Token(time.Now())
//	if !ok {
//		// give the permit back first: the renewal takes one of its own
//		err := l.Renew(ctx, &gate.Transport{Gate: g}, "")
//		…
//	}
//	req.Header.Set("Authorization", "Bearer "+token)
//
// A renewal is one request and is never tried again here, whatever comes of it. A person's
// first renewal is more: one request for a code, then polling at the pace that the service
// asks for, until the code was typed or has run out.
//
// No error, log or formatted value of this package holds a secret, a token, a code or a word
// of an answer but its OAuth error code.
package login
