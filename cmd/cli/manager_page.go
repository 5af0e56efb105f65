package cli

import (
	_ "embed" // the page
	"fmt"
	"io"
	"strconv"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/chart"
	"gridbroker/forecast/managers/daemon"
	"gridbroker/foreign"
)

//go:embed manager_page.html
var managerPage string

// pageRow is a manager's line in the page, pageNeighbour one of its table's.
type (
	pageRow struct {
		Number            int
		Name, Above, Free string
		Waiting, Running  int
		Job               string
	}
	pageNeighbour struct {
		Number                            int
		Name, Neighbour, Link, Free, Told string
	}
)

// writeHTML writes the tree as one page that needs nothing else.
func (t *managerTree) writeHTML(at time.Time, out io.Writer) error {
	page, err := chart.Parse(managerPage)
	if err != nil {
		return err
	}
	number := map[string]int{}
	for i, s := range t.Managers {
		number[s.Name] = i + 1
	}
	shown := map[string]any{"At": at.Format(time.DateTime), "Count": counted(len(t.Managers), "manager"), "Silent": t.Silent}
	var all managers.Resources
	var free, waiting, running int
	var spots []chart.Manager
	var rows []pageRow
	var tables []pageNeighbour
	for i, s := range t.Managers {
		row := t.pageRow(s, i+1, number)
		rows, tables = append(rows, row), append(tables, neighbours(s, i+1)...)
		spots = append(spots, chart.Manager{Name: strconv.Itoa(i + 1), Parent: number[s.Parent] - 1, System: s.Total.CPUs > 0, Marked: row.Job != "" || t.Job != nil && t.Job.passed(s.Name),
			Text: fmt.Sprintf("%s: %s, %d wait, %d at its system", row.Name, row.Free, row.Waiting, row.Running)})
		all, free, waiting, running = all.Plus(s.Total), free+s.Free.CPUs, waiting+row.Waiting, running+row.Running
	}
	shown["CPUs"], shown["Free"], shown["Rows"], shown["Tables"] = all.CPUs, free, rows, tables
	shown["Waiting"], shown["Running"] = counted(waiting, "job"), counted(running, "job")
	drawing := chart.Draw("the tree of managers", spots)
	if t.Job != nil {
		drawing.Go(t.Job.hops(number))
		shown["Job"], shown["JobAt"], shown["Way"] = foreign.Text(t.Job.ID), t.Job.places(number), t.Job.pageSteps(number)
	}
	shown["Drawing"] = drawing
	return page.Execute(out, shown)
}

// pageRow is a manager's line.
func (t *managerTree) pageRow(s *daemon.State, n int, number map[string]int) pageRow {
	row := pageRow{Number: n, Name: foreign.Text(s.Name), Free: "no system of its own", Waiting: len(s.Waiting), Running: len(s.Running)}
	if s.Total != (managers.Resources{}) {
		row.Free = foreign.Text(fmt.Sprintf("%s of %s", s.Free, s.Total))
	}
	if above := number[s.Parent]; above > 0 {
		row.Above = strconv.Itoa(above)
	}
	if t.Job != nil {
		row.Job = t.Job.at(s.Name)
	}
	return row
}

// neighbours are the lines of a manager's table.
func neighbours(s *daemon.State, n int) (list []pageNeighbour) {
	for _, r := range s.Rows {
		link := r.Role + ", down"
		if r.Up {
			link = r.Role + ", up"
		}
		list = append(list, pageNeighbour{n, foreign.Text(s.Name), foreign.Text(r.Neighbour), foreign.Text(link), foreign.Text(rooms(r.Rooms)), foreign.Text(rooms(r.Told))})
	}
	return list
}

// places are where a job is, by the numbers of the managers.
func (j *jobInTree) places(number map[string]int) (list []string) {
	for _, name := range j.WaitsAt {
		list = append(list, fmt.Sprintf("waits at manager %d", number[name]))
	}
	for _, name := range j.RunsAt {
		list = append(list, fmt.Sprintf("has resources of manager %d", number[name]))
	}
	return list
}
