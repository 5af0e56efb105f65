package jobs

import (
	"fmt"
	"os"
	"path/filepath"

	"gridbroker/durable"
)

const (
	// reserveBase and reserveJob are what the records of a submission's
	// outcomes may take in the write-ahead log, in bytes: some pages of the
	// file and its indexes, and for each job its record and a line of log.
	reserveBase = 16 * pageLength
	reserveJob  = 8 << 10
)

// reserved begins the names of what is set aside; the process that has it follows.
const reserved = "jobs.db.reserve-"

// fileReserve is a file that is there to be removed.
type fileReserve struct{ path string }

// Reserve implements Store: it writes a file of the size needed. What is freed
// when it is removed is there for the records.
func (s *SQLite) Reserve(jobs int) (Reserve, error) {
	durable.DiscardKilled(s.dir, reserved)
	f, err := os.CreateTemp(s.dir, fmt.Sprintf("%s%d-*", reserved, os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	r := &fileReserve{f.Name()}
	if err := fill(f, int64(reserveBase+jobs*reserveJob)); err != nil {
		f.Close()
		r.Free()
		return nil, fmt.Errorf("job records %s: no room for what becomes of the jobs (%d), so nothing was sent: %w", filepath.Join(s.dir, "jobs.db"), jobs, err)
	}
	return r, f.Close()
}

// Free implements Reserve.
func (r *fileReserve) Free() { os.Remove(r.path) }

// fillByWriting writes n bytes that are no holes.
func fillByWriting(f *os.File, n int64) error {
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = 1
	}
	for n > 0 {
		k := min(n, int64(len(block)))
		if _, err := f.Write(block[:k]); err != nil {
			return err
		}
		n -= k
	}
	return f.Sync()
}
