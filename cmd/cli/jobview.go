package cli

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/foreign"
	"gridbroker/jobs"
)

// jobView is how jobs are shown: which columns, in which order, how many.
type jobView struct {
	columns []string
	sort    string
	limit   int
	output  string
	expand  bool // a line for each job, of groups too
	mayFold bool // no job or group was named
	open    bool // nothing was chosen: jobs that have not ended
	verb    string
	total   int // how many jobs there are where no more than the limit were read
}

func (v *jobView) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&v.columns, "columns", nil, "these `columns`: "+strings.Join(columnNames(), ", "))
	f.StringVar(&v.sort, "sort", "", "by this `column`; a minus before it turns the order round")
	f.IntVar(&v.limit, "limit", 0, "the first `N` jobs; 0: all")
	f.StringVarP(&v.output, "output", "o", "", "`form`: wide, json, csv")
	f.BoolVar(&v.expand, "expand", false, "a line for each job of a collection, sweep or DAG; those of many jobs have one on a terminal")
	for _, flag := range []string{"columns", "sort"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(columnNames(), cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"wide", "json", "csv"}, cobra.ShellCompDirectiveNoFileComp))
}

// A jobColumn is one thing that is shown of jobs.
type jobColumn struct {
	name  string
	head  string
	text  func(*deps, *jobs.Outcome) string
	order func(a, b *jobs.Outcome) int // nil: by text
	exact func(*jobs.Outcome) string   // for machines; nil: the text
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

func columnNames() []string {
	var names []string
	for _, c := range jobColumns() {
		names = append(names, c.name)
	}
	return names
}

// usual and wide are the columns that are shown where none are asked for.
var (
	usual = []string{"id", "name", "state", "resource", "exit", "submitted", "ran", "note"}
	wide  = []string{"id", "name", "state", "resource", "site", "host", "exit", "created", "submitted", "started", "ended", "ran",
		"group", "retries", "note"}
)

// chosen are the view's columns.
func (v *jobView) chosen() ([]jobColumn, error) {
	names := v.columns
	if len(names) == 0 {
		names = usual
		if v.output == "wide" || v.output == "csv" {
			names = wide
		}
	}
	var out []jobColumn
	for _, name := range names {
		c, err := columnOf(name)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func columnOf(name string) (jobColumn, error) {
	all := jobColumns()
	i := slices.IndexFunc(all, func(c jobColumn) bool { return strings.EqualFold(c.name, name) })
	if i < 0 {
		return jobColumn{}, usageError(fmt.Errorf("no column %q; there are %s", name, strings.Join(columnNames(), ", ")))
	}
	return all[i], nil
}

// ordered sorts and cuts jobs as the view says.
func (v *jobView) ordered(a *deps, rs []*jobs.Outcome) ([]*jobs.Outcome, error) {
	if v.sort != "" {
		name, back := strings.CutPrefix(v.sort, "-")
		c, err := columnOf(name)
		if err != nil {
			return nil, err
		}
		order := c.order
		if order == nil {
			order = byText(func(r *jobs.Outcome) string { return c.text(a, r) })
		}
		rs = slices.Clone(rs)
		slices.SortStableFunc(rs, func(x, y *jobs.Outcome) int {
			if back {
				x, y = y, x
			}
			return order(x, y)
		})
	}
	if v.limit > 0 {
		rs = rs[:min(v.limit, len(rs))]
	}
	return rs, nil
}

// byID reports whether jobs are shown in the order of their ids, which is that
// of the records, or backwards.
func (v *jobView) byID() bool {
	return v.sort == "" || strings.EqualFold(strings.TrimPrefix(v.sort, "-"), "id")
}

// check tells whether the flags mean something, before anything is asked.
func (v *jobView) check() error {
	switch v.output {
	case "", "wide", "json", "csv":
	default:
		return usageError(fmt.Errorf("--output %s: say wide, json or csv", v.output))
	}
	if v.limit < 0 {
		return usageError(fmt.Errorf("--limit %d: say a number of jobs", v.limit))
	}
	if v.sort != "" {
		if _, err := columnOf(strings.TrimPrefix(v.sort, "-")); err != nil {
			return err
		}
	}
	_, err := v.chosen()
	return err
}

// jobTable prints jobs, a line each.
func jobTable(d *deps, rs []*jobs.Outcome, v jobView) error {
	cols, err := v.chosen()
	if err != nil {
		return err
	}
	if v.output == "csv" {
		return jobCSV(d, rs, cols)
	}
	var heads []string
	for _, c := range cols {
		heads = append(heads, c.head)
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
		whole := *d
		whole.env.Width = 0
		d = &whole
	}
	made := columns(heads...)
	if len(v.columns) == 0 {
		made = spare(made, "RAN", "SUBMITTED", "NOTE", "EXIT", "RESOURCE", "NAME")
	}
	if err := table(d, made, rows); err != nil || len(lines) == len(rs) {
		return err
	}
	err = sayErr(d, "groups of jobs are a line each: --expand shows all jobs, grid %s ID those of one group", v.verb)
	return err
}

// harmless keeps a spreadsheet from taking what a job is called, or what a server
// says of it, for a formula: an apostrophe makes it a text.
func harmless(cell string) string {
	if len(cell) < 2 || !strings.ContainsRune("=+-@", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}

// jobCSV prints jobs as RFC 4180 has it.
func jobCSV(d *deps, rs []*jobs.Outcome, cols []jobColumn) error {
	plain := *d
	plain.env.Terminal = false
	w := csv.NewWriter(d.env.Out)
	head := make([]string, len(cols))
	for i, c := range cols {
		head[i] = c.name
	}
	_ = w.Write(head)
	for _, r := range rs {
		row := make([]string, len(cols))
		for i, c := range cols {
			if row[i] = c.text(&plain, r); c.exact != nil {
				row[i] = c.exact(r)
			}
			row[i] = harmless(foreign.Text(row[i]))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return w.Error()
}
