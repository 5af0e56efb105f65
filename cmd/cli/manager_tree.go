package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// maxManagers bounds how many managers of a tree are asked.
const maxManagers = 10_000

// managerTree is a tree of managers as they tell it themselves.
type managerTree struct {
	Managers []*daemon.State `json:"managers"` // a parent before its children
	Silent   []silentManager `json:"silent"`   // named by others, and did not answer
	depth    map[string]int
}

// silentManager is one that did not answer.
type silentManager struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// readTree asks a manager, those that it names, and so on. Names are told by
// others: only addresses of managers are followed, each once.
func readTree(ctx context.Context, client *http.Client, name string) (*managerTree, error) {
	states, t := map[string]*daemon.State{}, &managerTree{Silent: []silentManager{}, depth: map[string]int{}}
	asked, next := map[string]bool{name: true}, []string{name}
	for len(next) > 0 {
		answers, failed := make([]*daemon.State, len(next)), make([]error, len(next))
		var group errgroup.Group
		group.SetLimit(16)
		for i, name := range next {
			group.Go(func() error {
				answers[i], failed[i] = fetchState(ctx, client, name)
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
				t.Silent = append(t.Silent, silentManager{next[i], failed[i].Error()})
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

// place tells where a job is at a manager, "" for nowhere.
func place(s *daemon.State, job string) string {
	switch {
	case job == "":
		return ""
	case slices.Contains(s.Running, managers.ID(job)):
		return "runs here"
	case slices.Contains(s.Waiting, managers.ID(job)):
		return "waits here"
	}
	return ""
}

// printManagers prints a tree, the table of each manager in its line, and where a job is.
func printManagers(d *deps, t *managerTree, job string) error {
	heads, found := []string{"manager", "free", ">waiting", ">running", "free above", "free below"}, false
	if job != "" {
		heads = append(heads, "job "+job)
	}
	var rows [][]string
	for _, s := range t.Managers {
		above, below := "-", managers.Set{}
		for _, r := range s.Rows {
			switch {
			case r.Up && r.Neighbour == s.Parent:
				above = fmt.Sprint(r.Rooms)
			case r.Up:
				below = managers.NewSet(append(below, r.Rooms...)...)
			}
		}
		free := "-"
		if s.Total != (managers.Resources{}) {
			free = fmt.Sprintf("%s of %d", s.Free, s.Total.CPUs)
		}
		at := place(s, job)
		found = found || at != ""
		row := []string{strings.Repeat("· ", t.depth[s.Name]) + s.Name, free, fmt.Sprint(len(s.Waiting)), fmt.Sprint(len(s.Running)),
			above, fmt.Sprint(below)}
		if job != "" {
			row = append(row, at)
		}
		rows = append(rows, row)
	}
	if err := table(d, columns(heads...), rows); err != nil {
		return err
	}
	for _, s := range t.Silent {
		fmt.Fprintf(d.env.Err, "grid: %s: %s\n", s.Name, s.Error)
	}
	if job != "" && !found {
		return errors.New("no manager that answers has job " + job + ": it has ended, or is on a link, or at its broker")
	}
	return nil
}
