// Command retryablehttp reads the drill's documents with hashicorp/go-retryablehttp as it
// comes: NewClient retries four times and keeps to a Retry-After.
package main

import (
	"os"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/dogear/dogear/clients/go/drill"
)

func main() {
	client := retryablehttp.NewClient()
	client.Logger = nil // it logs every request otherwise
	os.Exit(drill.Read(client.StandardClient().Do))
}
