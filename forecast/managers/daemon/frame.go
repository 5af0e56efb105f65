package daemon

import (
	"errors"

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

// State is what a manager shows of itself.
type State struct {
	Name    string             `json:"name"`
	Parent  string             `json:"parent,omitempty"`
	Path    []string           `json:"path,omitempty"`
	Free    managers.Resources `json:"free"`
	Total   managers.Resources `json:"total"`
	Rows    []Row              `json:"rows"`
	Waiting []managers.ID      `json:"waiting"`
	Running []managers.ID      `json:"running"`
}
