package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// maxManagers bounds how many managers of a tree are asked, maxSilent of how many it is said that they did not answer well.
const (
	maxManagers = 10_000
	maxSilent   = 50
	maxBrokers  = 16 // whose jobs of one name are told
)

// managerTree is a tree of managers as they tell it themselves.
type managerTree struct {
	Managers []*daemon.State `json:"managers"`      // a parent before its children
	Silent   []silentManager `json:"silent"`        // named by others, and did not answer
	Job      *jobInTree      `json:"job,omitempty"` // that was asked for
	depth    map[string]int
}

// jobInTree says where a job is; on a link, or at its broker, it is nowhere.
type jobInTree struct {
	ID      string   `json:"id"`
	WaitsAt []string `json:"waits_at"` // managers
	RunsAt  []string `json:"runs_at"`  // and those whose systems it has resources of
	// Way is what the managers did with it, as far as they remember.
	Way []wayStep `json:"way"`
	// Brokers are those whose jobs of that name are there, as far as managers tell.
	Brokers []string `json:"brokers"`
}

// silentManager is one that did not answer.
type silentManager struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// readTree asks a manager, those that it names, and so on. Names are told by
// others: only addresses of managers are followed, each once.
func readTree(ctx context.Context, reader *managerReader, name string) (*managerTree, error) {
	states, t := map[string]*daemon.State{}, &managerTree{Silent: []silentManager{}, depth: map[string]int{}}
	asked, next := map[string]bool{name: true}, []string{name}
	for len(next) > 0 {
		answers, failed := make([]*daemon.State, len(next)), make([]error, len(next))
		var group errgroup.Group
		group.SetLimit(16)
		for i, name := range next {
			group.Go(func() error {
				answers[i], failed[i] = reader.state(ctx, name)
				return nil
			})
		}
		group.Wait()
		if err := cmp.Or(ctx.Err(), failed[0]); err != nil && len(states) == 0 {
			return nil, err
		}
		var more []string
		for i, s := range answers {
			if failed[i] != nil {
				t.Silent = append(t.Silent, silentManager{next[i], strings.TrimPrefix(failed[i].Error(), next[i]+": ")})
				continue
			}
			if s.Name != next[i] && (next[i] != name || checkManagerURL("name", s.Name) != nil) { // the first may be asked under another one
				t.Silent = append(t.Silent, silentManager{next[i], fmt.Sprintf("it says that it is %.200q", s.Name)})
				continue
			}
			states[next[i]] = s
			for _, r := range s.Rows {
				if r.Up && !asked[r.Neighbour] && checkManagerURL("neighbour", r.Neighbour) == nil {
					asked[r.Neighbour] = true
					more = append(more, r.Neighbour)
				}
			}
		}
		if next = more; len(asked) > maxManagers {
			return nil, fmt.Errorf("more than %d managers in one tree", maxManagers)
		}
	}
	t.order(states)
	return t, nil
}

// order lists every manager behind its parent, those without one that answers first.
func (t *managerTree) order(states map[string]*daemon.State) {
	children := map[string][]string{}
	for name, s := range states {
		parent := s.Parent
		if states[parent] == nil {
			parent = ""
		}
		children[parent] = append(children[parent], name)
	}
	var add func(parent string, depth int)
	add = func(parent string, depth int) {
		list := children[parent]
		delete(children, parent) // a ring ends
		slices.Sort(list)
		for _, name := range list {
			t.depth[states[name].Name] = depth
			t.Managers = append(t.Managers, states[name])
			add(name, depth+1)
		}
	}
	add("", 0)
	for _, name := range slices.Sorted(maps.Keys(children)) { // a ring: each tells another as its parent
		add(name, 0)
	}
}

// find tells where a job is: of a broker, if one is named, the job alone counts, wherever managers tell whose jobs they have.
func (t *managerTree) find(job, broker string) {
	t.Job = &jobInTree{ID: job, Brokers: []string{}, WaitsAt: []string{}, RunsAt: []string{}, Way: []wayStep{}}
	look := func(at *[]string, manager string, jobs []managers.Key) {
		for _, j := range jobs {
			if j.ID != managers.ID(job) || broker != "" && j.Broker != "" && j.Broker != broker {
				continue
			}
			if j.Broker != "" && !slices.Contains(t.Job.Brokers, j.Broker) && len(t.Job.Brokers) < maxBrokers {
				t.Job.Brokers = append(t.Job.Brokers, j.Broker)
			}
			if !slices.Contains(*at, manager) {
				*at = append(*at, manager)
			}
		}
	}
	for _, s := range t.Managers {
		waiting, running := s.Jobs()
		look(&t.Job.WaitsAt, s.Name, waiting)
		look(&t.Job.RunsAt, s.Name, running)
	}
}

// at tells where the job is at a manager, "" for nowhere.
func (j *jobInTree) at(manager string) string {
	switch {
	case slices.Contains(j.RunsAt, manager):
		return "runs here"
	case slices.Contains(j.WaitsAt, manager):
		return "waits here"
	}
	return ""
}

// missing is an error where a job was asked for that nobody has.
func (t *managerTree) missing() error {
	if j := t.Job; j != nil && len(j.WaitsAt)+len(j.RunsAt) == 0 {
		return errors.New("no manager that answers has job " + j.ID + ": it has ended, or is on a link, or at its broker")
	}
	return nil
}

// printManagers prints a tree, the table of each manager in its line, and where the job is that was asked for.
func printManagers(d *deps, t *managerTree) error {
	heads := []string{"manager", "free", ">waiting", ">running", "free above", "free below"}
	if t.Job != nil {
		heads = append(heads, "job "+t.Job.ID)
	}
	var rows [][]string
	for _, s := range t.Managers {
		above, below := "-", managers.Set{}
		for _, r := range s.Rows {
			switch {
			case r.Up && r.Neighbour == s.Parent:
				above = rooms(r.Rooms)
			case r.Up:
				below = append(below, r.Rooms...)
			}
		}
		free := "-"
		if s.Total != (managers.Resources{}) {
			free = fmt.Sprintf("%d of %d cpus", s.Free.CPUs, s.Total.CPUs)
			if s.Total.GPUs > 0 {
				free += fmt.Sprintf(", %d of %d gpus", s.Free.GPUs, s.Total.GPUs)
			}
		}
		row := []string{strings.Repeat("· ", t.depth[s.Name]) + s.Name, free, fmt.Sprint(len(s.Waiting)), fmt.Sprint(len(s.Running)),
			above, rooms(managers.NewSet(below...))}
		if t.Job != nil {
			row = append(row, t.Job.at(s.Name))
		}
		rows = append(rows, row)
	}
	if err := table(d, columns(heads...), rows); err != nil {
		return err
	}
	for _, s := range t.Silent[:min(len(t.Silent), maxSilent)] {
		sayErr(d, "%s: %s", s.Name, s.Error)
	}
	if more := len(t.Silent) - maxSilent; more > 0 {
		sayErr(d, "%d more managers have not answered well", more)
	}
	if t.Job != nil {
		if len(t.Job.Brokers) > 1 {
			sayErr(d, "job %s: %d brokers have one of that name: name one with --broker, %s", t.Job.ID, len(t.Job.Brokers), strings.Join(t.Job.Brokers, " or "))
		}
		if err := printWay(d, t.Job); err != nil {
			return err
		}
	}
	return t.missing()
}
