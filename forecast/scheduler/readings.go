package scheduler

import (
	"sync"

	"gridbroker/jdl"
)

// reading is what a description says. Jobs with the same description share it: nobody changes it.
type reading struct {
	text  string
	job   *jdl.Job
	match string // as MatchKey
}

// newReading reads a description.
func newReading(text string) (*reading, error) {
	job, err := jdl.LoadJob(text)
	if err != nil {
		return nil, err
	}
	return &reading{text, job, job.MatchKey()}, nil
}

// readings are descriptions that were read lately: those who hand in thousands of jobs mostly say the same of all. What a text
// says depends on nothing but the text. The zero value is ready for use, by several goroutines.
type readings struct {
	mu             sync.Mutex
	recent, before map[string]*reading // by text
	size           int                 // of recent
}

// Of how many bytes of text readings are kept, twice, and how many a reading counts for beside its text. A longer text costs more
// memory than its reading saves time.
const (
	maxReadings = 512 << 10
	longReading = 16 << 10
	eachReading = 512
)

// read reads a description, or tells what it said before.
func (r *readings) read(text string) (*reading, error) {
	if len(text) > longReading {
		return newReading(text)
	}
	if d := r.known(text); d != nil {
		return d, nil
	}
	d, err := newReading(text)
	if err == nil {
		r.keep(d)
	}
	return d, err
}

// known is what a text was found to say; nil: it is not known.
func (r *readings) known(text string) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.recent[text]
	if d == nil {
		if d = r.before[text]; d != nil {
			r.put(d)
		}
	}
	return d
}

// keep remembers a reading.
func (r *readings) keep(d *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(d)
}

// put puts a reading among the recent ones. When these are enough, those before them are forgotten.
func (r *readings) put(d *reading) {
	if r.recent == nil || r.size > maxReadings {
		r.before, r.recent, r.size = r.recent, map[string]*reading{}, 0
	}
	r.recent[d.text] = d
	r.size += len(d.text) + eachReading
}
