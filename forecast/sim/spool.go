package sim

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"os"

	"gridbroker/durable"
)

// spool is a file without a name that has the jobs of all traces of a scenario, as they were cleaned: every run goes through them
// twice, whatever has become of the traces since, and none is kept in memory.
type spool struct {
	file *os.File
	out  *bufio.Writer
	at   int64
	hash hash.Hash // of the trace that is being written
}

// spooledSize is how many bytes a job of a trace takes in it: submission and user, 64 bits each, run time, limit and processors, 32
// each. A trace has no homes, no input and no attempts.
const spooledSize = 28

// spooled are the jobs of one trace in a spool.
type spooled struct {
	file  io.ReaderAt
	from  int64
	count int
}

func newSpool() (*spool, error) {
	dir, err := durable.TempDir()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "grid-sim-*.traces")
	if err != nil {
		return nil, fmt.Errorf("a file for the traces' jobs: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, fmt.Errorf("a file for the traces' jobs: %w", err)
	}
	return &spool{file: file, out: bufio.NewWriter(file), hash: sha256.New()}, nil
}

// begin is where the next trace begins.
func (s *spool) begin() spooled {
	s.hash.Reset()
	return spooled{file: s.file, from: s.at}
}

// add writes a job behind the others.
func (s *spool) add(j *job) error {
	var b [spooledSize]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], uint64(j.submit))
	le.PutUint64(b[8:], uint64(j.user))
	le.PutUint32(b[16:], uint32(j.run))
	le.PutUint32(b[20:], uint32(j.limit))
	le.PutUint32(b[24:], uint32(j.procs))
	s.hash.Write(b[:])
	s.at += spooledSize
	_, err := s.out.Write(b[:])
	return fault(err)
}

// sum is that of the jobs of the trace that was begun last.
func (s *spool) sum() (sum [sha256.Size]byte) {
	s.hash.Sum(sum[:0])
	return sum
}

// flush writes what is not written yet.
func (s *spool) flush() error { return fault(s.out.Flush()) }

func fault(err error) error {
	if err != nil {
		return fmt.Errorf("the file for the traces' jobs: %w", err)
	}
	return nil
}

// replay is a stream of the trace's jobs, from the first on.
func (s *spooled) replay() stream {
	in := io.NewSectionReader(s.file, s.from, int64(s.count)*spooledSize)
	return &replay{bufio.NewReaderSize(in, 256*spooledSize)}
}

// replay gives the jobs of a trace.
type replay struct{ in io.Reader }

func (r *replay) next() (job, error) {
	var b [spooledSize]byte
	if _, err := io.ReadFull(r.in, b[:]); err != nil {
		if err == io.EOF {
			return job{}, err
		}
		return job{}, fault(err)
	}
	le := binary.LittleEndian
	return job{
		submit: int64(le.Uint64(b[0:])), user: int(le.Uint64(b[8:])),
		run: int64(le.Uint32(b[16:])), limit: int64(le.Uint32(b[20:])), procs: int(le.Uint32(b[24:])),
	}, nil
}
