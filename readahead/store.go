package readahead

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrInUse says that another process has the cache directory.
var ErrInUse = errors.New("the cache directory is in use by another process")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is one line of the index: what a cell holds. A cell without a file is free.
type entry struct {
	Cell    Slot   `json:"c"`
	File    string `json:"f,omitempty"`
	Portion int64  `json:"p,omitempty"`
	Length  int    `json:"n,omitempty"`
	Sum     uint32 `json:"s,omitempty"` // CRC-32C of the data
}

// store keeps cells in one file and says in an index, line by line, what they
// hold. Data is written before its line; every line and every cell has a
// checksum, so that whatever a crash leaves half written is found and dropped.
type store struct {
	dir     string
	portion int64
	cells   *os.File
	index   *os.File
	lock    *os.File
	lines   int
	live    map[Slot]entry
}

// openStore opens or makes a cache directory and returns the entries it holds.
func openStore(dir string, portion int64, cells int) (s *store, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	s = &store{dir: dir, portion: portion, live: map[Slot]entry{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.lock, err = s.open("lock", os.O_RDWR|os.O_CREATE); err != nil {
		return s, err
	}
	if err = syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return s, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	if s.cells, err = s.open("cells", os.O_RDWR|os.O_CREATE); err != nil {
		return s, err
	}
	if err = s.trim(int64(cells) * portion); err != nil {
		return s, err
	}
	if err = s.load(cells); err != nil {
		return s, err
	}
	return s, s.compact()
}

// open opens a file of the directory. What is no file, or lies elsewhere, is refused: a
// link would be written through, and a pipe waited for.
func (s *store) open(name string, flags int) (*os.File, error) {
	path := filepath.Join(s.dir, name)
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a link, and a cache keeps what it has in its own directory: remove it", path)
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, cmp.Or(err, fmt.Errorf("%s is no file, and a cache keeps what it has in one: remove it", path))
	}
	return f, nil
}

// trim gives back what the cells had when the quota was larger.
func (s *store) trim(size int64) error {
	info, err := s.cells.Stat()
	if err != nil || info.Size() <= size {
		return err
	}
	return s.cells.Truncate(size)
}

// checkOwner wants a directory that nobody else can put files into: what lies in
// it is believed, and what is a link there is written through.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d: a cache directory is its own user's or root's", dir, st.Uid)
	}
	if info.Mode()&0o022 != 0 {
		return fmt.Errorf("others can write to %s (mode %04o): chmod go-w", dir, info.Mode().Perm())
	}
	return nil
}

func (s *store) close() error {
	var errs []error
	for _, f := range []*os.File{s.cells, s.index, s.lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// header is the first line of the index: cells of another size are of no use.
func (s *store) header() string { return fmt.Sprintf("grid read-ahead cells 1 portion %d", s.portion) }

// load reads the index as far as it is whole. Later lines win.
func (s *store) load(cells int) error {
	in, err := s.open("index", os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer in.Close()
	lines := bufio.NewScanner(io.LimitReader(in, 1<<31))
	lines.Buffer(nil, 1<<20)
	for first := true; lines.Scan(); first = false {
		body, ok := checkLine(lines.Text())
		if !ok || first && body != s.header() {
			return nil
		}
		if first {
			continue
		}
		var e entry
		if json.Unmarshal([]byte(body), &e) != nil || e.Cell < 0 || e.Length < 0 || int64(e.Length) > s.portion {
			return nil
		}
		if int(e.Cell) >= cells { // the quota was larger
			continue
		}
		if e.File == "" {
			delete(s.live, e.Cell)
		} else {
			s.live[e.Cell] = e
		}
	}
	return nil // a line beyond all bounds ends the index like a broken one
}

// checkLine splits a line into its checksum and its body.
func checkLine(line string) (body string, ok bool) {
	sum, body, ok := strings.Cut(line, " ")
	return body, ok && sum == lineSum(body)
}

func lineSum(body string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(body), castagnoli))
}

// compact writes the index anew, with one line for each cell in use.
func (s *store) compact() error {
	out, err := s.open("index.new", os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s %s\n", lineSum(s.header()), s.header())
	for _, e := range s.live {
		w.WriteString(formatEntry(e))
	}
	if err := errors.Join(w.Flush(), os.Rename(out.Name(), filepath.Join(s.dir, "index"))); err != nil {
		return errors.Join(err, out.Close())
	}
	if s.index != nil {
		s.index.Close()
	}
	s.index, s.lines = out, len(s.live)
	return nil
}

func formatEntry(e entry) string {
	body, _ := json.Marshal(e)
	return lineSum(string(body)) + " " + string(body) + "\n"
}

// put writes a portion into a cell. On an error the cell holds nothing.
func (s *store) put(cell Slot, file string, portion int64, data []byte) error {
	if err := s.drop(cell); err != nil {
		return err
	}
	if _, err := s.cells.WriteAt(data, int64(cell)*s.portion); err != nil {
		return err
	}
	e := entry{Cell: cell, File: file, Portion: portion, Length: len(data), Sum: crc32.Checksum(data, castagnoli)}
	if err := s.line(e); err != nil {
		return err
	}
	s.live[cell] = e
	return nil
}

// drop says that a cell holds nothing.
func (s *store) drop(cell Slot) error {
	if _, ok := s.live[cell]; !ok {
		return nil
	}
	delete(s.live, cell)
	return s.line(entry{Cell: cell})
}

func (s *store) line(e entry) error {
	if s.lines++; s.lines > 64+8*len(s.live) {
		if err := s.compact(); err != nil {
			return err
		}
	}
	_, err := s.index.WriteString(formatEntry(e))
	return err
}

// get reads a cell. ok is false where the data is not what was written.
func (s *store) get(cell Slot, file string, portion int64) (data []byte, ok bool) {
	e, held := s.live[cell]
	if !held || e.File != file || e.Portion != portion {
		return nil, false
	}
	data = make([]byte, e.Length)
	if _, err := s.cells.ReadAt(data, int64(cell)*s.portion); err != nil {
		return nil, false
	}
	return data, crc32.Checksum(data, castagnoli) == e.Sum
}
