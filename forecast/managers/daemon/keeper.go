package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"gridbroker/durable"
	"gridbroker/forecast/managers"
)

// keeper keeps assignments in a file of lines. An assignment is on disk before
// its offer leaves; an end that a loss of power forgets is learned again from the broker.
type keeper struct {
	name       string
	file, lock *os.File
	lines      int
	broken     bool // a write failed: what the file holds is not known, and the next one is of all that is held
}

// keptLine says that a job has resources, or has none any more.
type keptLine struct {
	Put    *assignment `json:"put,omitempty"`
	Drop   managers.ID `json:"drop,omitempty"`
	Broker string      `json:"broker,omitempty"` // of Drop; none: a line of before, when no two brokers' jobs had one name
}

// openKeeper opens a manager's directory, which belongs to one process, and
// returns the assignments it tells of. A line that a crash left half written is dropped.
func openKeeper(dir string) (*keeper, map[managers.Key]*assignment, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: another manager has this directory", dir), lock.Close())
	}
	k := &keeper{name: filepath.Join(dir, "assignments"), lock: lock}
	held, err := k.read()
	if err == nil {
		err = k.rewrite(held)
	}
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return k, held, nil
}

func (k *keeper) read() (map[managers.Key]*assignment, error) {
	held, named := map[managers.Key]*assignment{}, map[managers.ID]managers.Key{}
	f, err := os.Open(k.name)
	if errors.Is(err, os.ErrNotExist) {
		return held, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l keptLine
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue
		}
		if l.Put != nil {
			held[l.Put.Job.Key()], named[l.Put.Job.ID] = l.Put, l.Put.Job.Key()
		}
		job := managers.Key{Broker: l.Broker, ID: l.Drop}
		if l.Broker == "" {
			job = named[l.Drop]
		}
		delete(held, job)
	}
	return held, lines.Err()
}

// rewrite leaves only what is held: the file is a new one, whole or not there.
func (k *keeper) rewrite(held map[managers.Key]*assignment) error {
	var list []keptLine
	for _, a := range held {
		list = append(list, keptLine{Put: a})
	}
	text, err := linesOf(list)
	if err != nil {
		return err
	}
	k.broken = true
	if err := durable.WriteFile(k.name, text); err != nil {
		return err
	}
	if k.file != nil {
		k.file.Close() // its name is another file's now: what was written to it would be lost
	}
	k.lines = len(held)
	k.file, err = os.OpenFile(k.name, os.O_WRONLY|os.O_APPEND, 0)
	k.broken = err != nil
	return err
}

func linesOf(list []keptLine) (text []byte, err error) {
	for _, l := range list {
		line, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		text = append(append(text, line...), '\n')
	}
	return text, nil
}

// put keeps some of the assignments that are held; they are on disk when it
// returns without an error.
func (k *keeper) put(held map[managers.Key]*assignment, list ...*assignment) error {
	if len(list) == 0 {
		return nil
	}
	if k.broken {
		return k.rewrite(held)
	}
	var lines []keptLine
	for _, a := range list {
		lines = append(lines, keptLine{Put: a})
	}
	err := k.add(lines)
	if err == nil {
		err = k.file.Sync()
	}
	k.broken = err != nil
	return err
}

// drop keeps that a job has no resources any more. What is held are all that
// have; the file never grows far beyond them.
func (k *keeper) drop(job managers.Key, held map[managers.Key]*assignment) error {
	if k.broken || k.lines > slack+2*len(held) {
		return k.rewrite(held)
	}
	return k.add([]keptLine{{Drop: job.ID, Broker: job.Broker}})
}

// slack is how many lines of ended jobs are left in the file at least.
const slack = 1000

func (k *keeper) add(lines []keptLine) error {
	text, err := linesOf(lines)
	if err != nil {
		return err
	}
	k.lines += len(lines)
	_, err = k.file.Write(text)
	k.broken = err != nil
	return err
}

func (k *keeper) close() error { return errors.Join(k.file.Close(), k.lock.Close()) }
