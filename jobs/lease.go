package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// fileLease is a lock on a file: the kernel frees it when the process ends,
// however it ends.
type fileLease struct {
	name string
	file *os.File
}

// Lease implements Store.
func (s *SQLite) Lease(name string) (Lease, error) {
	dir := filepath.Join(s.dir, "leases")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("job records: lock %s: %w", f.Name(), err)
	}
	return &fileLease{name, f}, nil
}

// Name implements Lease.
func (l *fileLease) Name() string { return l.name }

// End gives the lease up. The file goes first, so that nobody can lock one
// that is about to vanish and believe to own it: names are never used twice.
func (l *fileLease) End() {
	os.Remove(l.file.Name())
	l.file.Close()
}

// Alive implements Store.
func (s *SQLite) Alive(name string) bool { return LeaseHeld(s.dir, name) }

// LeaseHeld tells whether a process holds a lease of the records in a state
// directory.
func LeaseHeld(dir, name string) bool {
	if name == "" || strings.Contains(name, "/") {
		return false
	}
	f, err := os.Open(filepath.Join(dir, "leases", name))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
		return true
	}
	os.Remove(f.Name()) // left over by a process that was killed
	return false
}
