package msgraph

import "fmt"

// A step is one thing to ask for.
type step struct {
	place
	what question
	at   int // the place's
	of   int // places
}

type question uint8

const (
	askMe question = iota
	askSite
	askDrives
	askPath
	askName
	askFile
	askDelta
)

const (
	selectName = "?$select=id,name"
	selectPath = "?$select=id,name,folder,file"
	selectItem = "?$select=id,name,size,eTag,cTag,file,folder,package,deleted,root,remoteItem,parentReference,malware"
	selectSame = "?$select=id,eTag,cTag,size,file,deleted"
)

// next is what has to be asked for now.
func (st state) next() step {
	for i, p := range st.Places {
		if what := p.unresolved(len(st.Places) > 1); what != askDelta {
			return step{p, what, i, len(st.Places)}
		}
	}
	p, what := st.Places[st.At], askDelta
	if p.File {
		what = askFile
	}
	return step{p, what, st.At, len(st.Places)}
}

// unresolved is what has to be asked for before the place can be listed; askDelta: nothing.
// Named says that drives have to have names, because there are several.
func (p place) unresolved(named bool) question {
	switch {
	case p.Kind == me:
		return askMe
	case p.Kind == site:
		return askSite
	case p.Kind == drives:
		return askDrives
	case p.Path != "":
		return askPath
	case named && p.Name == "":
		return askName
	}
	return askDelta
}

// asks is the address of a step, under the API's root.
func (p step) asks() string {
	if p.Link != "" {
		return p.Link
	}
	switch p.what {
	case askMe:
		return "/me/drive" + selectName
	case askSite:
		return "/sites/" + escapePath(p.ID) + selectName
	case askDrives:
		return "/sites/" + escape(p.ID) + "/drives" + selectName
	case askPath:
		return "/drives/" + escape(p.ID) + "/root:/" + escapePath(p.Path) + selectPath
	case askName:
		return "/drives/" + escape(p.ID) + selectName
	case askFile:
		return itemPath(p.ID, p.Item) + selectItem
	}
	return "/drives/" + escape(p.ID) + "/root/delta" + selectItem
}

func itemPath(drive, item string) string {
	return "/drives/" + escape(drive) + "/items/" + escape(item)
}

// String says what is asked for, in words that hold nothing which an answer said.
func (p step) String() string {
	switch p.what {
	case askMe:
		return "the person's own drive"
	case askSite:
		return "site " + p.ID
	case askDrives:
		return "the drives of a site"
	}
	drive := "the drive"
	if p.of > 1 {
		drive = fmt.Sprintf("drive %d of %d", p.at+1, p.of)
	}
	switch p.what {
	case askPath:
		return fmt.Sprintf("%q in %s", p.Path, drive)
	case askName:
		return "the name of " + drive
	}
	return "the listing of " + drive
}

// root is the name of the listing's root folder of a drive.
func (p step) root() string {
	if p.of > 1 {
		return p.Name
	}
	return ""
}
