// Package bucket saves results in a bucket of S3, Google Cloud Storage or Azure Blob Storage.
//
// Nothing in a bucket can be renamed, so its order differs from a folder's: bodies stream into
// temporary files of this machine, each whole one is uploaded under its final name, and only
// then the ledger marks it done:
//
//	a, err := bucket.Parse("s3://results/policies?region=eu-central-1")
//	s, err := bucket.Open(ctx, bucket.Config{Address: a, Owner: "policies in …", Scratch: dir})
//	f, _, err := s.Create(7, 0)
//	_, err = io.Copy(f, body)
//	err = f.Close()
//	err = s.Put(ctx, dogear.Result{Doc: 7, ID: id, Path: s.Name("a.html", id, 0), …})
//	…                               // the ledger's commit: the document is done
//	err = s.Remove(7)
//
// Every upload is a conditional create: the service itself sees to it that of two writers one
// wins, and nothing is ever replaced but the list of results. An object bears the digest of its
// bytes, its document and its job, so that an upload whose commit was lost in a crash is known
// again. Credentials come as the services' own libraries find them, never from the address.
package bucket
