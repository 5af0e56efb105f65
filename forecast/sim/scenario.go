package sim

import (
	"fmt"
	"time"
)

// Scenario describes a grid, its users, and what is to be compared.
type Scenario struct {
	Name     string   `toml:"name" json:"name"`
	Policies []string `toml:"policies" json:"policies"` // the first is the one others are compared with
	Seeds    int      `toml:"seeds" json:"seeds"`       // runs with the seeds 1 to N
	Latency  Duration `toml:"latency" json:"latency"`   // from the choice until the job is in the site's queue
	Jobs     Jobs     `toml:"jobs" json:"jobs"`
	Sites    []Site   `toml:"site" json:"sites"`

	traces   map[string]*trace // by name in the scenario
	Network  Network           `toml:"network" json:"network"`
	Failures []Failure         `toml:"failure" json:"failures,omitempty"`
	Follow   Duration          `toml:"follow" json:"follow"` // how often users' jobs are looked at; 0: 5 minutes
	Cycle    Duration          `toml:"cycle" json:"cycle"`   // of the central scheduler; 0: 1 minute
	Replan   Duration          `toml:"replan" json:"replan"` // a job that has waited so long is planned anew by the policy replan; 0: 30 minutes
	Life     bool              `toml:"life" json:"life"`     // jobs are recorded, followed and sent again even where nothing fails
}

// Network lies between users, scheduler, managers and sites.
type Network struct {
	Loss      float64 `toml:"loss" json:"loss"`           // share of submissions that do not arrive and are known not to have
	Bandwidth float64 `toml:"bandwidth" json:"bandwidth"` // MB/s from users to a site; 0: no limit
}

// Failure is one thing that goes wrong for a while.
type Failure struct {
	Kind string   `toml:"kind" json:"kind"` // site, service, blackhole, credential
	Site string   `toml:"site" json:"site"` // "": all
	From Duration `toml:"from" json:"from"` // after the beginning
	For  Duration `toml:"for" json:"for"`
}

// The kinds of failures: jobs at the site are lost and none is taken; it tells
// nothing new; jobs that start there end at once, in failure; it does not
// accept the users' credentials.
const (
	SiteFails    = "site"
	ServiceFails = "service"
	BlackHole    = "blackhole"
	Credential   = "credential"
)

// Jobs describes the stream of global jobs.
type Jobs struct {
	Count    int      `toml:"count" json:"count"`
	Load     float64  `toml:"load" json:"load"`           // node time asked for / node time of all sites
	MaxProcs int      `toml:"max_procs" json:"max_procs"` // wider ones are drawn anew; 0: the smallest site
	MaxRun   Duration `toml:"max_run" json:"max_run"`     // longer ones are cut; 0: as drawn
	Trace    string   `toml:"trace" json:"trace"`         // a file in SWF instead of the model, from the scenario's directory
	Users    int      `toml:"users" json:"users"`         // the model's jobs belong to so many, unlike shares; 0: 10
	InputMB  float64  `toml:"input_mb" json:"input_mb"`   // mean size of a job's input files
	Retries  int      `toml:"retries" json:"retries"`     // how often a job that failed is sent again
	Estimate float64  `toml:"estimate" json:"estimate"`   // requested times are multiplied by it: wrong estimates; 0: 1
}

// Site is one cluster.
type Site struct {
	Name      string   `toml:"name" json:"name"`
	Procs     int      `toml:"procs" json:"procs"`
	Scheduler string   `toml:"scheduler" json:"scheduler"`     // fcfs, easy, conservative ...; "": easy
	Speed     float64  `toml:"speed" json:"speed"`             // run times are divided by it; 0: 1
	LocalLoad float64  `toml:"local_load" json:"local_load"`   // node time that local jobs ask for / node time there is
	Refresh   Duration `toml:"refresh" json:"refresh"`         // how often state is published
	Services  bool     `toml:"services" json:"services"`       // live queue lengths and forecasts are served
	Agent     Duration `toml:"agent" json:"agent"`             // how often a central scheduler's agent looks and tells; 0: as refresh
	Turns     int      `toml:"turns" json:"turns,omitempty"`   // guests of a central scheduler that may wait in the queue at once; 0: they have slots alone
	Home      float64  `toml:"home" json:"home"`               // weight of users who have this site as their own; 0: 1
	Lie       string   `toml:"lie" json:"lie"`                 // idle, full: what it tells of itself, whatever is true
	Trace     string   `toml:"trace" json:"trace"`             // local jobs from a file in SWF instead of the model
	Copies    int      `toml:"copies" json:"copies,omitempty"` // so many sites like it, NAME-1, NAME-2 and so on; 0: it alone

	table int // of the file, from 1 on; copies have the same
}

// Duration is a time as in "90s".
type Duration struct{ time.Duration }

// UnmarshalText reads a time.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	switch d.Duration, err = time.ParseDuration(string(text)); {
	case err != nil:
		return fmt.Errorf(`want a time such as "90s", "5m" or "36h", found %.40q`, text)
	case d.Duration < 0:
		return fmt.Errorf("%s: below zero", text)
	}
	return nil
}

// MarshalText writes a time.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Document is the length of time as the command's JSON has it.
func (d Duration) Document() time.Duration { return d.Duration }
