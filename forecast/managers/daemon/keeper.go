package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"gridbroker/forecast/managers"
)

// keeper keeps assignments in a file of lines, each written before the offer leaves.
type keeper struct{ file *os.File }

// keptLine says that a job has resources, or has none any more.
type keptLine struct {
	Put  *assignment `json:"put,omitempty"`
	Drop managers.ID `json:"drop,omitempty"`
}

// openKeeper opens a manager's directory, which belongs to one process, and
// returns the assignments it tells of. A line that a crash left half written is dropped.
func openKeeper(dir string) (*keeper, map[managers.ID]*assignment, error) {
	held := map[managers.ID]*assignment{}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	name := filepath.Join(dir, "assignments")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: another manager has this directory", dir), f.Close())
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l keptLine
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue
		}
		if l.Put != nil {
			held[l.Put.Job.ID] = l.Put
		}
		delete(held, l.Drop)
	}
	k := &keeper{file: f}
	return k, held, errors.Join(lines.Err(), k.rewrite(held))
}

// rewrite leaves only what is held. The file stays the same one: it is locked.
func (k *keeper) rewrite(held map[managers.ID]*assignment) error {
	var text []byte
	for _, a := range held {
		line, err := json.Marshal(keptLine{Put: a})
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	if _, err := k.file.WriteAt(text, 0); err != nil {
		return err
	}
	if err := k.file.Truncate(int64(len(text))); err != nil {
		return err
	}
	_, err := k.file.Seek(0, 2)
	return err
}

func (k *keeper) put(a *assignment) error { return k.line(keptLine{Put: a}) }

func (k *keeper) drop(id managers.ID) error { return k.line(keptLine{Drop: id}) }

func (k *keeper) line(l keptLine) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = k.file.Write(append(text, '\n'))
	return err
}

func (k *keeper) close() error { return k.file.Close() }
