package msgraph_test

import (
	"fmt"
	"log"
	"net/url"

	"github.com/dogear/dogear"
	"github.com/dogear/dogear/source/msgraph"
)

// Another process could go on after any of the pages: all that it needs is in the cursor. A
// program sends the requests itself, with its credential and through its gate.
func Example() {
	answers := map[string]string{
		"/v1.0/me/drive": `{"id": "b!x-Y_z", "name": "OneDrive"}`,
		"/v1.0/drives/b!x-Y_z/root/delta": `{
			"value": [
				{"id": "01R", "name": "root", "root": {}, "folder": {}},
				{"id": "01F", "name": "Reports", "folder": {}, "parentReference": {"id": "01R"}},
				{"id": "01D", "name": "2026.docx", "size": 11, "file": {}, "parentReference": {"id": "01F"}}
			],
			"@odata.deltaLink": "https://graph.microsoft.com/v1.0/drives/b!x-Y_z/root/delta?token=since"
		}`,
	}
	src, err := msgraph.Open([]string{"msgraph:me"}, &url.URL{Scheme: "https", Host: "graph.microsoft.com"})
	if err != nil {
		log.Fatal(err)
	}
	for page := (dogear.Page{}); !page.Last; {
		address, err := src.Ask(page.Cursor)
		if err != nil {
			log.Fatal(err)
		}
		u, err := url.Parse(address)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("GET", u.Path)
		page, err = src.Page(page.Cursor, []byte(answers[u.Path]))
		if err != nil {
			log.Fatal(err)
		}
		for _, d := range page.Documents {
			fmt.Println(d.ID, d.Name, d.Size)
		}
	}
	// Output:
	// GET /v1.0/me/drive
	// GET /v1.0/drives/b!x-Y_z/root/delta
	// msgraph:drive/b!x-Y_z/items/01D 2026.docx 11
}
