// Package drill is what every client here needs of the drill: the addresses, so many workers,
// a folder, and a token where one is needed.
package drill

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Read reads every address with do, as many at a time as there are workers, and saves what
// comes. What failed is said; the returned exit code is 1 then.
func Read(do func(*http.Request) (*http.Response, error)) int {
	list, err := os.ReadFile(os.Getenv("DRILL_LIST"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	workers, err := strconv.Atoi(os.Getenv("DRILL_WORKERS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "DRILL_WORKERS:", err)
		return 1
	}
	urls := make(chan string)
	var wg sync.WaitGroup
	var failed sync.Map
	for range workers {
		wg.Go(func() {
			for url := range urls {
				if err := save(url, do); err != nil {
					fmt.Fprintf(os.Stderr, "%s: %v\n", url, err)
					failed.Store(url, true)
				}
			}
		})
	}
	for url := range strings.FieldsSeq(string(list)) {
		urls <- url
	}
	close(urls)
	wg.Wait()
	code := 0
	failed.Range(func(any, any) bool { code = 1; return false })
	return code
}

func save(url string, do func(*http.Request) (*http.Response, error)) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token := os.Getenv("DRILL_TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(os.Getenv("DRILL_OUT"), path.Base(url)), body, 0o600)
}
