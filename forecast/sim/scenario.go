package sim

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/pelletier/go-toml/v2"

	"gridbroker/batch"
	"gridbroker/rank"
)

// Scenario describes a grid, its users, and what is to be compared.
type Scenario struct {
	Name     string   `toml:"name" json:"name"`
	Policies []string `toml:"policies" json:"policies"` // the first is the one others are compared with
	Seeds    int      `toml:"seeds" json:"seeds"`       // runs with the seeds 1 to N
	Latency  Duration `toml:"latency" json:"latency"`   // from the choice until the job is in the site's queue
	Jobs     Jobs     `toml:"jobs" json:"jobs"`
	Sites    []Site   `toml:"site" json:"sites"`
}

// Jobs describes the stream of global jobs.
type Jobs struct {
	Count    int      `toml:"count" json:"count"`
	Load     float64  `toml:"load" json:"load"`           // node time asked for / node time of all sites
	MaxProcs int      `toml:"max_procs" json:"max_procs"` // wider ones are drawn anew; 0: the smallest site
	MaxRun   Duration `toml:"max_run" json:"max_run"`     // longer ones are cut; 0: as drawn
}

// Site is one cluster.
type Site struct {
	Name      string   `toml:"name" json:"name"`
	Procs     int      `toml:"procs" json:"procs"`
	Scheduler string   `toml:"scheduler" json:"scheduler"`   // fcfs, easy, conservative ...; "": easy
	Speed     float64  `toml:"speed" json:"speed"`           // run times are divided by it; 0: 1
	LocalLoad float64  `toml:"local_load" json:"local_load"` // node time that local jobs ask for / node time there is
	Refresh   Duration `toml:"refresh" json:"refresh"`       // how often state is published
	Services  bool     `toml:"services" json:"services"`     // live queue lengths and forecasts are served
	Home      float64  `toml:"home" json:"home"`             // weight of users who have this site as their own; 0: 1
}

// Duration is a time as in "90s".
type Duration struct{ time.Duration }

// UnmarshalText reads a time.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	if d.Duration, err = time.ParseDuration(string(text)); err == nil && d.Duration < 0 {
		err = fmt.Errorf("%s: below zero", text)
	}
	return err
}

// MarshalText writes a time.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Document is the length of time as the command's JSON has it.
func (d Duration) Document() time.Duration { return d.Duration }

// PositionError is a mistake in a scenario file.
type PositionError struct {
	File         string
	Line, Column int // 0: the file as a whole
	Err          error
}

// Error implements error.
func (e *PositionError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

// Unwrap returns the mistake.
func (e *PositionError) Unwrap() error { return e.Err }

// Parse reads a scenario. Unknown keys are mistakes.
func Parse(file string, text []byte) (*Scenario, error) {
	s := &Scenario{Seeds: 5, Policies: []string{rank.Random, rank.FastestQueue, rank.Hybrid}}
	dec := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := dec.Decode(s); err != nil {
		return nil, positioned(file, err)
	}
	if err := s.Check(); err != nil {
		return nil, &PositionError{File: file, Err: err}
	}
	return s, nil
}

func positioned(file string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		line, column := strict.Errors[0].Position()
		return &PositionError{file, line, column, fmt.Errorf("no such key: %v", strict.Errors[0].Key())}
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		return &PositionError{file, line, column, errors.New(decode.Error())}
	}
	return &PositionError{File: file, Err: err}
}

// own are the policies that are not the broker's.
var own = map[string]bool{Independent: true, Oracle: true}

// Policies beside those of the broker: every job stays at its user's site; the
// start of each is known at every site, run times included.
const (
	Independent = "independent"
	Oracle      = "oracle"
)

// Check finds values that make no scenario, and fills in what was left out.
func (s *Scenario) Check() error {
	switch {
	case len(s.Sites) == 0 || len(s.Sites) > 10_000:
		return fmt.Errorf("%d sites: want 1 to 10000", len(s.Sites))
	case len(s.Policies) == 0:
		return errors.New("no policies")
	case s.Seeds < 1 || s.Seeds > 10_000:
		return fmt.Errorf("seeds = %d: want 1 to 10000", s.Seeds)
	case s.Jobs.Count < 1 || s.Jobs.Count > 1e8:
		return fmt.Errorf("jobs.count = %d: want 1 to 100000000", s.Jobs.Count)
	case !(s.Jobs.Load > 0 && s.Jobs.Load <= 10):
		return fmt.Errorf("jobs.load = %g: want a number up to 10", s.Jobs.Load)
	}
	for _, p := range s.Policies {
		if _, err := rank.ParsePolicy(p, rank.DefaultModel()); err != nil && !own[p] {
			return fmt.Errorf("policies: %w; and %s, %s", err, Independent, Oracle)
		}
	}
	seen := map[string]bool{}
	for i := range s.Sites {
		if err := s.Sites[i].check(); err != nil {
			return fmt.Errorf("site %d: %w", i+1, err)
		}
		if seen[s.Sites[i].Name] {
			return fmt.Errorf("site %d: a second %q", i+1, s.Sites[i].Name)
		}
		seen[s.Sites[i].Name] = true
	}
	return nil
}

// check finds mistakes and fills in what was left out.
func (s *Site) check() error {
	if s.Scheduler == "" {
		s.Scheduler = "easy"
	}
	if s.Speed == 0 {
		s.Speed = 1
	}
	if s.Home == 0 {
		s.Home = 1
	}
	p := batch.Policy{Name: s.Scheduler}
	switch {
	case s.Name == "":
		return errors.New("no name")
	case s.Procs < 1 || s.Procs > 1<<24:
		return fmt.Errorf("procs = %d: want 1 to %d", s.Procs, 1<<24)
	case !(s.Speed >= 0.01 && s.Speed <= 100):
		return fmt.Errorf("speed = %g: want 0.01 to 100", s.Speed)
	case !(s.LocalLoad >= 0 && s.LocalLoad <= 10):
		return fmt.Errorf("local_load = %g: want 0 to 10", s.LocalLoad)
	case !(s.Home >= 0 && s.Home < 1e9):
		return fmt.Errorf("home = %g: want a weight", s.Home)
	}
	return p.Check()
}
