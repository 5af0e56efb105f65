package tree

import (
	"fmt"

	"gridbroker/forecast/managers"
)

// Config is how the systems are joined and what messages cost. Times are in ticks.
type Config struct {
	Mode       string        `json:"mode"`       // independent, tree, dispatch, full
	Fanout     int           `json:"fanout"`     // children of a domain manager; as many as systems: a star
	Discipline string        `json:"discipline"` // firstfit or fcfs
	Latency    int64         `json:"latency"`    // of a link
	Handshake  bool          `json:"handshake"`  // a start away from home takes two latencies
	Service    int64         `json:"service"`    // of a manager per message
	Scan       int64         `json:"scan"`       // of a manager per entry of its queue that it looks at
	Mark       managers.Mark `json:"mark"`
	Fit        string        `json:"fit"`       // best or worst
	ReqFirst   bool          `json:"req_first"` // requests leave before changes
	Block      bool          `json:"block"`     // see managers.Rules.NoReturn
	MaxHops    int           `json:"max_hops"`
	Loss       float64       `json:"loss"` // of change messages
	Refresh    int64         `json:"refresh"`
	Coalesce   int64         `json:"coalesce"` // least interval between changes on a link
	FailAt     int64         `json:"fail_at"`
	FailWho    int           `json:"fail_who"` // number of a domain manager
	Detect     int64         `json:"detect"`   // from the failure until its neighbours know
	Heal       bool          `json:"heal"`
	Resubmit   bool          `json:"resubmit"` // brokers hand in again what waited at the failed manager

	Keep       int   `json:"keep,omitempty"`        // see managers.Rules.Keep
	Pool       bool  `json:"pool,omitempty"`        // see managers.Rules.Pool
	Silent     bool  `json:"silent,omitempty"`      // see managers.Rules.Silent
	Alongside  bool  `json:"alongside,omitempty"`   // see managers.Rules.Alongside
	Paced      bool  `json:"paced,omitempty"`       // see managers.Rules.Paced
	Calm       bool  `json:"calm,omitempty"`        // see managers.Rules.Calm
	MaxAge     int64 `json:"max_age,omitempty"`     // see managers.Rules.MaxAge
	PlaceBound bool  `json:"place_bound,omitempty"` // at the bound of hops a job is placed
}

// Check finds configurations that cannot run.
func (c *Config) Check() error {
	switch {
	case c.Mode != "independent" && c.Mode != "tree" && c.Mode != "dispatch" && c.Mode != "full":
		return fmt.Errorf("mode = %q: want independent, tree, dispatch or full", c.Mode)
	case c.Discipline != "firstfit" && c.Discipline != "fcfs":
		return fmt.Errorf("discipline = %q: want firstfit or fcfs", c.Discipline)
	case c.Mode == "tree" && c.Fanout < 2:
		return fmt.Errorf("fanout = %d: want at least 2", c.Fanout)
	case c.Fit != "" && c.Fit != "best" && c.Fit != "worst":
		return fmt.Errorf("fit = %q: want best or worst", c.Fit)
	case c.Mark != "" && c.Mark != managers.MarkNone && c.Mark != managers.MarkTake && c.Mark != managers.MarkAck:
		return fmt.Errorf("mark = %q: want none, take or ack", c.Mark)
	case !(c.Loss >= 0 && c.Loss <= 1):
		return fmt.Errorf("loss = %g: want a probability", c.Loss)
	case c.MaxHops < 0:
		return fmt.Errorf("max_hops = %d: want a number of links, or 0 for no bound", c.MaxHops)
	case min(c.Latency, c.Service, c.Scan, c.Refresh, c.Coalesce, c.FailAt, c.Detect, c.MaxAge) < 0:
		return fmt.Errorf("a time below 0")
	}
	return nil
}

// rules returns the managers' rules of a configuration; the interval holds only
// when the first descriptions are everywhere.
func (c *Config) rules() managers.Rules {
	return managers.Rules{
		Strict: c.Discipline == "fcfs", Worst: c.Fit == "worst", Mark: c.Mark, RequestsFirst: c.ReqFirst,
		NoReturn: c.Block, MaxHops: c.MaxHops, StayAtBound: !c.PlaceBound, Refresh: c.Refresh,
		Pool: c.Pool, Silent: c.Silent, Keep: c.Keep, MaxAge: c.MaxAge, Alongside: c.Alongside, Paced: c.Paced, Calm: c.Calm,
	}
}

// Ours changes a configuration to the protocol that needs fewer messages: jobs
// that find no room at their system wait at the domain above, which is told no
// more than what is new; requests are answered only where the mark was wrong;
// half a unit passes between two changes on a link, more where the neighbour is
// behind with its messages, and four times as much before one that tells of no more room; a request carries the change that is due; nobody is stranded by a
// bound of hops, and a job that waits for 400 units has a system drained for it.
func Ours(c Config) Config {
	c.Alongside, c.Paced, c.Calm = true, true, true
	c.Pool, c.Silent, c.Coalesce, c.PlaceBound, c.MaxAge = true, true, TicksPerUnit/2, true, 400*TicksPerUnit
	return c
}
