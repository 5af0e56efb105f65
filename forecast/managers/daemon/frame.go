package daemon

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"gridbroker/forecast/managers"
)

// frame is one line on a link.
type frame struct {
	Hello   string            `json:"hello,omitempty"`   // the child's name, as its first line
	Tree    string            `json:"tree,omitempty"`    // the root that the parent must have for the child to come; none: whichever it has
	Refused string            `json:"refused,omitempty"` // why the parent does not take the child, or a neighbour the job
	Job     managers.ID       `json:"job,omitempty"`     // that is refused
	Broker  string            `json:"broker,omitempty"`  // whose job that is
	Full    bool              `json:"full,omitempty"`    // it is refused for want of room to wait
	Welcome bool              `json:"welcome,omitempty"`
	Message *managers.Message `json:"message,omitempty"` // none: a sign of life
}

// refusalOf tells a neighbour that its job is not taken.
func refusalOf(j *managers.Job, full bool, why string) frame {
	return frame{Job: j.ID, Broker: j.Broker, Full: full, Refused: why}
}

var errSilent = errors.New("nothing heard for too long")

// Offer is what a manager asks a broker before a job starts.
type Offer struct {
	Job     managers.ID `json:"job"`
	Attempt int         `json:"attempt"`
	Manager string      `json:"manager"` // whose system has the resources
	System  string      `json:"system"`  // the name by which the broker starts jobs there
}

// Answer is the broker's.
type Answer struct {
	Granted bool `json:"granted"` // the job is, or will be, started in that system
	Ended   bool `json:"ended"`   // it has ended: its resources are free
}

// Report tells a broker which of its jobs a manager has.
type Report struct {
	Manager string        `json:"manager"`
	Waiting []managers.ID `json:"waiting,omitempty"`
	Running []managers.ID `json:"running,omitempty"`
}

// Orders are the broker's answer to a report: what the manager is to let go.
type Orders struct {
	Drop  []managers.ID `json:"drop,omitempty"`  // waiting here, and started or ended elsewhere
	Ended []managers.ID `json:"ended,omitempty"` // running here, as the manager thinks
}

// Ended tells a manager that a job's resources are free.
type Ended struct {
	Job    managers.ID `json:"job"`
	Broker string      `json:"broker,omitempty"` // whose job it is; none: of the host whose certificate is shown
}

// Row is one line of a manager's table.
type Row struct {
	Neighbour string       `json:"neighbour"`
	Role      string       `json:"role"`
	Up        bool         `json:"up"`
	Rooms     managers.Set `json:"rooms"`
	Told      managers.Set `json:"told"`
}

// State is what a manager shows of itself. Jobs stand in the order of their brokers.
type State struct {
	Name    string             `json:"name"`
	Parent  string             `json:"parent,omitempty"`
	Path    []string           `json:"path,omitempty"`
	Free    managers.Resources `json:"free"`
	Total   managers.Resources `json:"total"`
	Rows    []Row              `json:"rows"`
	Waiting []managers.ID      `json:"waiting"`
	Running []managers.ID      `json:"running"`
	Brokers []BrokersJobs      `json:"brokers,omitempty"` // whose Waiting and Running are: the first so many are the first one's, and so on
}

// BrokersJobs are how many of a manager's jobs are one broker's.
type BrokersJobs struct {
	Broker  string `json:"broker"`
	Waiting int    `json:"waiting"`
	Running int    `json:"running"`
}

// own puts jobs into the order of their brokers, and tells whose they are.
func (s *State) own(waiting, running []managers.Key) {
	of := map[string]*BrokersJobs{}
	list := func(jobs []managers.Key, count func(*BrokersJobs) *int) (ids []managers.ID) {
		slices.SortStableFunc(jobs, func(a, b managers.Key) int { return strings.Compare(a.Broker, b.Broker) })
		for _, job := range jobs {
			if of[job.Broker] == nil {
				of[job.Broker] = &BrokersJobs{Broker: job.Broker}
			}
			*count(of[job.Broker])++
			ids = append(ids, job.ID)
		}
		return ids
	}
	s.Waiting = list(waiting, func(b *BrokersJobs) *int { return &b.Waiting })
	s.Running = list(running, func(b *BrokersJobs) *int { return &b.Running })
	for _, broker := range slices.Sorted(maps.Keys(of)) {
		s.Brokers = append(s.Brokers, *of[broker])
	}
}

// Jobs returns the jobs that wait at the manager, and those that have resources of its system, with their brokers: none where the
// manager tells none, as an old one does, or fewer than it has jobs.
func (s *State) Jobs() (waiting, running []managers.Key) {
	list := func(ids []managers.ID, count func(BrokersJobs) int) []managers.Key {
		jobs := make([]managers.Key, 0, len(ids))
		for _, b := range s.Brokers {
			for range min(max(count(b), 0), len(ids)-len(jobs)) {
				jobs = append(jobs, managers.Key{Broker: b.Broker, ID: ids[len(jobs)]})
			}
		}
		for _, id := range ids[len(jobs):] {
			jobs = append(jobs, managers.Key{ID: id})
		}
		return jobs
	}
	return list(s.Waiting, func(b BrokersJobs) int { return b.Waiting }), list(s.Running, func(b BrokersJobs) int { return b.Running })
}
