// S3 is a real S3 server for tests, over a folder: s3 ADDRESS FOLDER. Credentials are those of
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: s3 ADDRESS FOLDER"))
	}
	fail(run(os.Args[1], os.Args[2]))
}

func run(address, dir string) error {
	data, side := filepath.Join(dir, "data"), filepath.Join(dir, "meta")
	for _, d := range []string{data, side} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	store, err := meta.NewSideCar(side)
	if err != nil {
		return err
	}
	be, err := posix.New(data, store, posix.PosixOpts{SideCarDir: side, Concurrency: 100})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(context.Background(), be, &embedgw.Config{
		RootUserAccess: os.Getenv("AWS_ACCESS_KEY_ID"), RootUserSecret: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		Region: "us-east-1", Ports: []string{address}, MaxConnections: 1000, MaxRequests: 500, MultipartMaxParts: 10000, Quiet: true,
	})
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "s3:", err)
		os.Exit(1)
	}
}
