package drill

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The test's binary is the client as well: started as "TEST client NAME" it reads every
// address of the drill's list, one after the other.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "client" {
		if err := readAll(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// The tests wait more than they work.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := f.Value.Set("10"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func client(name string) []string { return []string{os.Args[0], "client", name} }

// readAll is the clients: polite keeps every wait, hasty cuts it short, bearer takes a while
// and sends the token of the moment.
func readAll(name string) error {
	list, err := os.ReadFile(os.Getenv("DRILL_LIST"))
	if err != nil {
		return err
	}
	c := &http.Client{Transport: transport()}
	for address := range strings.Lines(string(list)) {
		address = strings.TrimSpace(address)
		if _, err := os.Stat(saved(address)); err == nil {
			continue
		}
		for {
			wait, err := read(c, address)
			if err != nil {
				return err
			}
			if wait == 0 {
				break
			}
			if name == "hasty" {
				wait = 700 * time.Millisecond
			}
			time.Sleep(wait)
		}
		if name == "bearer" {
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

func transport() http.RoundTripper {
	pem, err := os.ReadFile(os.Getenv("DRILL_CA"))
	if err != nil {
		return &http.Transport{}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
}

func saved(address string) string { return filepath.Join(os.Getenv("DRILL_OUT"), path.Base(address)) }

// read reads one document, or returns the wait that it was told.
func read(c *http.Client, address string) (time.Duration, error) {
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	if token, err := os.ReadFile(os.Getenv("DRILL_TOKEN_FILE")); err == nil {
		req.Header.Set("Authorization", "Bearer "+string(token))
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return 0, err
	case resp.StatusCode == http.StatusTooManyRequests:
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, err
	case resp.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("%s: %s", address, resp.Status)
	}
	return 0, os.WriteFile(saved(address), body, 0o600)
}
