package batch_test

import (
	"fmt"

	"github.com/dogear/dogear/batch"
)

// Three reads in one request. One is done, one has to wait, and of one nothing was said: the last two go
// again together.
func Example() {
	contentType, body, err := batch.Encode("graph", []batch.Item{
		{ID: "1", URL: "/drives/d/items/a"},
		{ID: "2", URL: "/drives/d/items/b"},
		{ID: "3", URL: "/drives/d/items/c"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %.32s...\n", contentType, body)

	answers, err := batch.Decode("graph", "application/json", []byte(`{"responses":[
		{"id":"2","status":429,"headers":{"Retry-After":7}},
		{"id":"1","status":200,"headers":{"Content-Type":"application/json"},"body":{"id":"a"}}]}`))
	if err != nil {
		fmt.Println(err) // the answers that are there can be used all the same
	}
	matched, unknown := batch.Match([]string{"1", "2", "3"}, answers, true)
	for _, a := range matched {
		fmt.Printf("%s: %d, body %q, wait %q\n", a.ID, a.Status, a.Body, a.Header.Get("Retry-After"))
	}
	fmt.Println("never sent:", len(unknown))
	// Output:
	// application/json: {"requests":[{"id":"1","method":...
	// 1: 200, body "{\"id\":\"a\"}", wait ""
	// 2: 429, body "", wait "7"
	// 3: 0, body "", wait ""
	// never sent: 0
}
