package cli

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

// jobView is how jobs are shown.
type jobView struct {
	view
	expand  bool // a line for each job, of groups too
	mayFold bool // no job or group was named
	open    bool // nothing was chosen: jobs that have not ended
	verb    string
	total   int // how many jobs there are where no more than the limit were read
}

func (v *jobView) register(cmd *cobra.Command) {
	v.view.register(cmd, jobFacets().names(), "jobs")
	cmd.Flags().BoolVar(&v.expand, "expand", false, "a line for each job of a collection, sweep or DAG; those of many jobs have one on a terminal")
}

// jobColumn is one thing that is shown of jobs.
type jobColumn = facet[*jobs.Outcome]

// jobFacets is what may be shown of jobs.
func jobFacets() facets[*jobs.Outcome] {
	return facets[*jobs.Outcome]{
		all:   jobColumns(),
		usual: []string{"id", "name", "state", "resource", "exit", "submitted", "ran", "note"},
		wide: []string{"id", "name", "state", "resource", "site", "host", "exit", "created", "submitted", "started", "ended", "ran",
			"group", "retries", "note"},
	}
}

func jobColumns() []jobColumn {
	at := func(t func(*jobs.Outcome) time.Time) func(*deps, *jobs.Outcome) string {
		return func(a *deps, r *jobs.Outcome) string { return since(a, t(r)) }
	}
	byTime := func(t func(*jobs.Outcome) time.Time) func(a, b *jobs.Outcome) int {
		return func(a, b *jobs.Outcome) int { return t(a).Compare(t(b)) }
	}
	submitted := func(r *jobs.Outcome) time.Time { return r.Submitted }
	created := func(r *jobs.Outcome) time.Time { return r.Created }
	started := func(r *jobs.Outcome) time.Time { return r.Started }
	ended := func(r *jobs.Outcome) time.Time { return r.Ended }
	return []jobColumn{
		{"id", "ID", func(_ *deps, r *jobs.Outcome) string { return r.ID }, nil, nil},
		{"name", "NAME", func(_ *deps, r *jobs.Outcome) string { return cut(r.Name, 30) }, nil, nil},
		{"state", "STATE", func(a *deps, r *jobs.Outcome) string { return stateText(a, r) }, byText(func(r *jobs.Outcome) string { return string(r.State) }), nil},
		{"resource", "RESOURCE", func(_ *deps, r *jobs.Outcome) string { return r.At }, nil, nil},
		{"site", "SITE", func(_ *deps, r *jobs.Outcome) string { return r.Site }, nil, nil},
		{"host", "HOST", func(_ *deps, r *jobs.Outcome) string { return r.Host }, nil, nil},
		{"exit", ">EXIT", func(_ *deps, r *jobs.Outcome) string { return exitText(r) }, func(a, b *jobs.Outcome) int { return cmp.Compare(exitOf(a), exitOf(b)) }, nil},
		{"created", ">CREATED", at(created), byTime(created), stamp(created)},
		{"submitted", ">SUBMITTED", at(submitted), byTime(submitted), stamp(submitted)},
		{"started", ">STARTED", at(started), byTime(started), stamp(started)},
		{"ended", ">ENDED", at(ended), byTime(ended), stamp(ended)},
		{"ran", ">RAN", func(a *deps, r *jobs.Outcome) string { return ranText(a, r) }, func(a, b *jobs.Outcome) int { return cmp.Compare(a.WallTime, b.WallTime) }, func(r *jobs.Outcome) string { return strconv.FormatFloat(r.WallTime.Seconds(), 'f', -1, 64) }},
		{"group", "GROUP", func(_ *deps, r *jobs.Outcome) string { return groupText(r) }, nil, func(r *jobs.Outcome) string { return r.Parent }},
		{"retries", ">RETRIES", func(_ *deps, r *jobs.Outcome) string { return strconv.Itoa(r.Retries + r.Shallow) },
			func(a, b *jobs.Outcome) int { return cmp.Compare(a.Retries+a.Shallow, b.Retries+b.Shallow) }, nil},
		{"note", "NOTE", func(_ *deps, r *jobs.Outcome) string { return note(r) }, nil, nil},
	}
}

// groupText is the id of a job's collection or DAG, and its name if it has one.
func groupText(r *jobs.Outcome) string {
	return strings.TrimSpace(r.Parent + "  " + cut(r.ParentName, 30))
}

// stamp writes a time as RFC 3339 has it, nothing where there is none.
func stamp(at func(*jobs.Outcome) time.Time) func(*jobs.Outcome) string {
	return func(r *jobs.Outcome) string {
		if at(r).IsZero() {
			return ""
		}
		return at(r).UTC().Format(time.RFC3339)
	}
}

func byText(text func(*jobs.Outcome) string) func(a, b *jobs.Outcome) int {
	return func(a, b *jobs.Outcome) int { return strings.Compare(text(a), text(b)) }
}

func exitOf(r *jobs.Outcome) int {
	if r.ExitCode == nil {
		return -1
	}
	return *r.ExitCode
}

func exitText(r *jobs.Outcome) string {
	if r.ExitCode == nil {
		return ""
	}
	return strconv.Itoa(*r.ExitCode)
}

// byID reports whether jobs are shown in the order of their ids, which is that
// of the records, or backwards.
func (v *jobView) byID() bool {
	return v.sort == "" || strings.EqualFold(strings.TrimPrefix(v.sort, "-"), "id")
}

// jobTable prints jobs, a line each.
func jobTable(d *deps, rs []*jobs.Outcome, v jobView) error {
	cols, err := jobFacets().chosen(v.view)
	if err != nil {
		return err
	}
	if v.output == "csv" {
		return printCSV(d, rs, cols)
	}
	lines := v.lines(d, rs)
	rows, cells := make([][]string, 0, len(lines)), make([]string, len(lines)*len(cols))
	for _, l := range lines {
		var row []string
		row, cells = cells[:len(cols)], cells[len(cols):]
		for i, c := range cols {
			row[i] = l.text(d, c)
		}
		rows = append(rows, row)
	}
	if v.output == "wide" {
		d = uncut(d)
	}
	made := heads(cols)
	if len(v.columns) == 0 {
		made = spare(made, "RAN", "SUBMITTED", "NOTE", "EXIT", "RESOURCE", "NAME")
	}
	if err := table(d, made, rows); err != nil || len(lines) == len(rs) {
		return err
	}
	err = sayErr(d, "groups of jobs are a line each: --expand shows all jobs, grid %s ID those of one group", v.verb)
	return err
}
