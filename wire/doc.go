// Package wire is where requests leave: connections, one sending a permit, and nothing
// resent behind it.
//
// [http.Transport] sends a GET again by itself when a reused connection dies, and up to seven
// times when an HTTP/2 server refuses a stream. Here a request is handed to one connection
// once, and what became of it is told: see [Fate].
//
// All that takes time or may fail without a request comes first, DNS, dialling, proxies, TLS
// and stream limits; then the permit; then the one sending:
//
//	slot, err := w.Reserve(ctx, u)
//	if err != nil {
//		return err // nothing has left
//	}
//	// take the permit here, and Release the slot if there is none
//	resp, err := slot.Send(req)
//
// Redirects are not followed; [Next] makes the request that would follow one. Bodies come as
// they were on the wire; [Decode] undoes a content coding that nobody asked for.
//
// No error of this package holds user info, a header, a signed query or a byte of a body.
package wire
