package login_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"github.com/dogear/dogear/login"
)

// The token comes at the moment of sending, and is renewed first where it has to be. A
// program brings its gate in the place of the default transport.
func Example() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.FormValue("grant_type"))
		fmt.Fprint(w, `{"access_token":"a-token","token_type":"Bearer","expires_in":3599}`)
	}))
	defer service.Close()
	authority, err := url.Parse(service.URL)
	if err != nil {
		log.Fatal(err)
	}
	l, err := login.New(login.Config{
		Kind:      login.App,
		Authority: authority,
		Tenant:    "contoso.example",
		ClientID:  "6731de76-14a6-49ae-97bc-6eba6914391e",
		Secret:    func() (string, error) { return "from a file or the environment", nil },
		Scope:     "https://graph.microsoft.com/.default",
	})
	if err != nil {
		log.Fatal(err)
	}

	for range 3 {
		token, ok := l.Token(time.Now())
		if !ok {
			if err := l.Renew(context.Background(), http.DefaultTransport, ""); err != nil {
				log.Fatal(err)
			}
			token, _ = l.Token(time.Now())
		}
		fmt.Println("a request with", token)
	}
	// Output:
	// POST /contoso.example/oauth2/v2.0/token client_credentials
	// a request with a-token
	// a request with a-token
	// a request with a-token
}
