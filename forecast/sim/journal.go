package sim

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Journal keeps runs in a file, a line of JSON for each, so that a comparison
// that was interrupted goes on where it stopped.
type Journal struct {
	file *os.File
	Have map[RunID]*Run // that were in the file
}

// heading is the first line: which scenario the runs are of, without the
// policies and the number of seeds, which may change.
type heading struct {
	Scenario string `json:"scenario"`
}

// OtherScenarioError says that a journal is of another scenario, or is none.
type OtherScenarioError struct{ File string }

func (e *OtherScenarioError) Error() string {
	return e.File + ": holds runs of another scenario, or something else; name another file"
}

// OpenJournal opens or makes a journal of a scenario, which one program at a time may
// do. A last line that was cut off is dropped.
func OpenJournal(name string, s *Scenario) (*Journal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // a device has no end
		return nil, errors.Join(cmp.Or(err, fmt.Errorf("%s: no plain file", name)), file.Close())
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: another program is writing to it (%w)", name, err), file.Close())
	}
	j := &Journal{file: file, Have: map[RunID]*Run{}}
	if err := j.read(s.digest()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return j, nil
}

// digest names what decides about the outcome of a run.
func (s *Scenario) digest() string {
	plain := *s
	plain.Policies, plain.Seeds, plain.Name = nil, 0, ""
	text, _ := json.Marshal(plain) // plain values only
	h := sha256.New()
	h.Write(text)
	for _, name := range append(s.siteTraces(), s.Jobs.Trace) {
		for i := range s.Sites {
			if t := s.traces[traceKey(name, s.Sites[i].Procs)]; t != nil {
				fmt.Fprintln(h, name, t.report, t.sum)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (j *Journal) read(digest string) error {
	in := bufio.NewReader(j.file)
	good := int64(0)
	for first := true; ; first = false {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil { // what has no end was cut off
			if first && !strings.HasPrefix(`{"scenario":"`+digest+`"}`, string(line)) {
				return &OtherScenarioError{j.file.Name()} // and no heading of ours
			}
			break
		}
		if first {
			var h heading
			if json.Unmarshal(line, &h) != nil || h.Scenario != digest {
				return &OtherScenarioError{j.file.Name()}
			}
		} else {
			r := &Run{}
			if err := json.Unmarshal(line, r); err != nil {
				return fmt.Errorf("%s: byte %d: %w", j.file.Name(), good, err)
			}
			j.Have[RunID{r.Policy, r.Seed}] = r
		}
		good += int64(len(line))
	}
	if err := j.file.Truncate(good); err != nil {
		return err
	}
	if _, err := j.file.Seek(good, io.SeekStart); err != nil {
		return err
	}
	if good == 0 {
		return j.write(heading{digest})
	}
	return nil
}

func (j *Journal) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// Keep writes a run.
func (j *Journal) Keep(_ RunID, r *Run) error { return j.write(r) }

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
