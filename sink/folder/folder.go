package folder

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	// listName is the file that lists the results.
	listName = "dogear.jsonl"
	// markName is the file that says whose results these are.
	markName = ".dogear-job"
	// maxMark bounds what is read of a mark: no owner is that long.
	maxMark = 64 << 10
)

// A Sink is a folder that one job saves into. Its methods may be called at once from many
// goroutines, but for the methods of one document's file.
type Sink struct {
	shown string   // the folder as the user wrote it
	path  string   // absolute
	root  *os.Root // what is in the folder
	made  bool     // the folder did not exist before
	dir   *os.File // the folder itself; open since before the first write, for syncfs

	// rename is renameExclusive, but in tests of what a file system lacks.
	rename func(s *Sink, from, to string) error

	mu     sync.Mutex // held while syncing: see Sync
	whole  bool       // whether syncfs does what Sync promises here
	skip   int        // groups that are synced file by file though whole is set
	broken error      // why nothing more is called durable
}

// An OtherJobError says that a folder holds the results of another job. Owner is the text
// that names it, empty for a list of results that nobody's mark goes with.
type OtherJobError struct {
	Dir   string
	Owner string
}

func (e *OtherJobError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%s holds a %s that this job did not write: move it away, or choose another folder", e.Dir, listName)
	}
	return fmt.Sprintf("%s holds the results of %s: go on with it there, choose another folder, or delete %s in it if that job is no more",
		e.Dir, e.Owner, markName)
}

// Marked reports whether a folder is there, and holds the results of some job.
func Marked(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, markName))
	return err == nil
}

// Open opens the folder for the job that owner names, which should name its ledger too. A
// folder that does not exist is made, readable by its user only. What else lies there stays
// as it is. It proves that the folder can be written. A job that moved to another ledger takes
// the folder over from what it was called before, in order; where it was before it finds it gone.
//
// Errors are an [*OtherJobError] where the folder is another job's; else their chain ends in
// what the system said.
func Open(dir, owner string, before ...string) (*Sink, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder %s: %w", dir, err)
	}
	made, err := makeDir(path)
	if err != nil {
		return nil, fmt.Errorf("make the folder %s: %w", dir, err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", dir, err)
	}
	self, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the folder %s: %w", dir, err), root.Close())
	}
	s := &Sink{shown: dir, path: path, root: root, dir: self, made: made, rename: renameExclusive, whole: syncsWhole(self)}
	if err := s.claim(owner, before); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close gives up the folder. Nothing is made durable by it.
func (s *Sink) Close() error { return errors.Join(s.dir.Close(), s.root.Close()) }

// makeDir makes a folder and those above it, each durable in the one above. That it exists
// is no error, whatever it is: opening it tells. It reports whether it made the folder.
func makeDir(path string) (made bool, err error) {
	err = os.Mkdir(path, 0o700)
	above := filepath.Dir(path)
	if errors.Is(err, fs.ErrNotExist) && above != path {
		if _, err := makeDir(above); err != nil {
			return false, err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	d, err := os.Open(above)
	if errors.Is(err, fs.ErrPermission) {
		return true, nil // may be written and not read: nobody can sync it
	}
	if err != nil {
		return true, err
	}
	defer d.Close()
	return true, syncDir(d)
}

// A mark is the content of the file that says whose results these are.
type mark struct {
	Owner string `json:"owner"`
	Moved int    `json:"moved,omitempty"` // how often the job has moved
}

// claim marks the folder as owner's, or says whose it is. The mark is written aside first,
// which proves that the folder can be written, and renamed, so that it is never half there.
func (s *Sink) claim(owner string, before []string) error {
	text, err := json.Marshal(mark{Owner: owner, Moved: len(before)})
	if err != nil {
		return fmt.Errorf("mark the folder %s: %w", s.shown, err)
	}
	temp := markName + "-" + rand.Text() + ".part"
	if err := s.writeMark(temp, append(text, '\n')); err != nil {
		return errors.Join(fmt.Errorf("the folder %s cannot be written: %w", s.shown, err), s.drop(temp))
	}
	err = s.placeMark(temp, owner, before)
	return errors.Join(err, s.drop(temp))
}

func (s *Sink) writeMark(name string, text []byte) error {
	f, err := s.fresh(name)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (s *Sink) placeMark(temp, owner string, before []string) error {
	_, err := s.root.Lstat(markName)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := s.root.Lstat(listName); err == nil {
			return &OtherJobError{Dir: s.shown}
		}
		err = s.place(temp, markName)
		if err == nil {
			err = syncDir(s.dir)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("mark the folder %s: %w", s.shown, err)
	}
	m, err := s.readMark()
	if err != nil {
		return fmt.Errorf("read whose results %s holds: %w; delete %s in it if no job saves there", s.shown, err, markName)
	}
	if m.Moved < len(before) && (m.Owner == owner || slices.Contains(before, m.Owner)) {
		if err := errors.Join(s.root.Rename(temp, markName), syncDir(s.dir)); err != nil {
			return fmt.Errorf("mark the folder %s: %w", s.shown, err)
		}
		return nil
	}
	if m.Owner != owner {
		return &OtherJobError{Dir: s.shown, Owner: m.Owner}
	}
	return nil
}

func (s *Sink) readMark() (mark, error) {
	f, _, err := s.regular(markName, os.O_RDONLY)
	if err != nil {
		return mark{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMark))
	if err != nil {
		return mark{}, err
	}
	var m mark
	if err := json.Unmarshal(text, &m); err != nil {
		return mark{}, fmt.Errorf("%s: %w", markName, err)
	}
	if m.Owner == "" {
		return mark{}, fmt.Errorf("%s names no job", markName)
	}
	return m, nil
}

// fresh makes a new, empty file. What has the name is dropped, never written into: it may be
// what a crash left, or a link that someone planted.
func (s *Sink) fresh(name string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := s.root.OpenFile(name, flags, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if err := s.drop(name); err != nil {
		return nil, err
	}
	return s.root.OpenFile(name, flags, 0o600)
}

// regular opens a file that exists, and never through a link: what it opens is what had the
// name, or else an error. A thing that is no file matches [fs.ErrNotExist]: no result and no
// temporary file has the name.
func (s *Sink) regular(name string, flag int) (*os.File, fs.FileInfo, error) {
	named, err := s.root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, nil, notRegular(name)
	}
	f, err := s.root.OpenFile(name, flag, 0)
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(named, opened) {
		err = notRegular(name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, opened, nil
}

func notRegular(name string) error {
	return fmt.Errorf("%s is not a regular file: %w", name, fs.ErrNotExist)
}

// drop removes a file or a link, and does not mind if it is gone.
func (s *Sink) drop(name string) error {
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkElement refuses what is not the name of one thing in this folder, on any system.
func checkElement(name string) error {
	if name == "." || strings.ContainsAny(name, "/\\:\x00") || !filepath.IsLocal(name) {
		return fmt.Errorf("%q is not the name of a file: %w", name, fs.ErrInvalid)
	}
	return nil
}

// Abandon takes the job's mark off the folder again, removes the folder if Open made it, and
// closes it: nothing was saved here.
func (s *Sink) Abandon() error {
	err := errors.Join(s.drop(markName), s.Close())
	if s.made {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}
