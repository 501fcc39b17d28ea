// Package folder saves results in a folder: one file a document, durable in groups.
//
// Think of it as a desk with two trays. A body is written into a temporary file that bears
// the document's number; when a group of them is whole, one call makes the group durable,
// the ledger says that they are done, and each is renamed to its final name. A rename never
// replaces anything, and the next group's call makes it durable too:
//
//	s, err := folder.Open("policies", "job policies of /home/u/.local/state/dogear/ledger.db")
//	f, err := s.Create(7, 0)
//	_, err = io.Copy(f, body)
//	err = f.Close()
//	err = s.Sync([]*folder.File{f}) // f and what was placed before are durable
//	…                               // the ledger's commit: the document is done
//	err = s.Place(f.Name(), folder.Name("a/b.html", id))
//
// After a crash everything that comes after the commit is done again from the ledger alone:
// [Sink.Place] may be repeated, and [Sink.Sweep] drops what nobody will ask for.
//
// Every name goes through an [os.Root], so that nothing that a service calls its documents
// can lead out of the folder, and no symbolic link that lies there is followed: neither a
// temporary file nor a result is ever written or read through one.
package folder
