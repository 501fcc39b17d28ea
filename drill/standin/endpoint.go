package standin

import "net/http"

// An endpoint is what a request to the API of a service such as Graph is for.
type endpoint struct {
	kind   string // the journal's; of a document's content: what any document's is
	number int    // of the document whose content it is; 0: of none
	answer func(*Exchange)
	// fail answers with a status, in the API's words.
	fail func(x *Exchange, status int)
}

// endpoint is what a request is for; nil: for nothing of an API.
func (s *Service) endpoint(r *http.Request) *endpoint {
	if s.graph != nil {
		if e := s.graph.endpoint(r.URL.Path); e != nil {
			return e
		}
	}
	if s.cfg.Google {
		return s.google(r)
	}
	return nil
}

// api answers a request to an API.
func (x *Exchange) api() {
	if x.R.Method != http.MethodGet && x.R.Method != http.MethodHead {
		x.W.Header().Set("Allow", http.MethodGet)
		x.endpoint.fail(x, http.StatusMethodNotAllowed)
		return
	}
	x.endpoint.answer(x)
}
