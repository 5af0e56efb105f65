package maui

import (
	"encoding/json"
	"fmt"
)

// memorySchema names the document of Memory. It only ever gains fields.
const memorySchema = "grid.maui-memory/v1"

// document is what a scheduler remembers between iterations and no resource
// manager knows.
type document struct {
	Schema string               `json:"schema"` // memorySchema
	Last   int64                `json:"last"`   // time of the latest iteration, Unix
	Order  int64                `json:"order"`  // jobs seen so far
	Window int64                `json:"window"` // when the present window of fair share began, Unix
	Total  []float64            `json:"total,omitempty"`
	Used   []usage              `json:"used,omitempty"`
	Jobs   map[string]jobMemory `json:"jobs,omitempty"`
}

// usage is what one credential used, window by window, the present one first.
type usage struct {
	Kind string    `json:"kind"` // user, group, account, class or qos
	Name string    `json:"name"`
	Used []float64 `json:"used"` // processor seconds, or of FSPOLICY's measure
}

// jobMemory is what is remembered of a job; times are Unix.
type jobMemory struct {
	Order    int64  `json:"order"`
	Since    int64  `json:"since,omitempty"`
	Bypass   int64  `json:"bypass,omitempty"`
	Earliest int64  `json:"earliest,omitempty"`
	Deferred int64  `json:"deferred,omitempty"`
	Held     string `json:"held,omitempty"`
	Backfill bool   `json:"backfill,omitempty"`
	Wanted   bool   `json:"wanted,omitempty"`
	Seen     int64  `json:"seen,omitempty"`
}

// kindNames are the names of the kinds of owners, by their number.
var kindNames = [...]string{ownerUser: "user", ownerGroup: "group", ownerAccount: "account", ownerClass: "class", ownerQOS: "qos"}

// Memory is what the scheduler remembers, as a JSON document: the usage that
// fair share goes by, and of every job its place in the order, how often it was
// overtaken, and whether it once held a reservation.
func (s *Scheduler) Memory() ([]byte, error) {
	d := document{Schema: memorySchema, Last: s.last, Order: s.order, Window: s.fair.window, Total: s.fair.total, Jobs: map[string]jobMemory{}}
	for o, used := range s.fair.used {
		d.Used = append(d.Used, usage{kindNames[o.kind], o.name, used})
	}
	for id, m := range s.known {
		d.Jobs[id] = jobMemory{m.order, m.since, m.bypass, m.earliest, m.deferred, m.held, m.backfill, m.wanted, m.seen}
	}
	return json.Marshal(d)
}

// Recall takes in a Memory, in place of what is remembered. An error leaves the
// scheduler as it was.
func (s *Scheduler) Recall(text []byte) error {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("memory of a scheduler: %w", err)
	}
	if d.Schema != memorySchema {
		return fmt.Errorf("memory of a scheduler: schema %q, want %s", d.Schema, memorySchema)
	}
	fair := fairShare{window: d.Window, total: d.Total, used: map[owner][]float64{}}
	for _, u := range d.Used {
		kind := -1
		for i, name := range kindNames {
			if name == u.Kind {
				kind = i
			}
		}
		if kind < 0 {
			return fmt.Errorf("memory of a scheduler: usage of a %q", u.Kind)
		}
		fair.used[owner{kind, u.Name}] = u.Used
	}
	s.last, s.order, s.fair, s.known = d.Last, d.Order, fair, map[string]*memory{}
	for id, m := range d.Jobs {
		s.known[id] = &memory{m.Order, m.Since, m.Bypass, m.Earliest, m.Deferred, m.Held, m.Backfill, m.Wanted, m.Seen, false}
	}
	return nil
}
