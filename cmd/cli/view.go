package cli

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/foreign"
)

// A facet is one thing that is shown of a T, a column of a table.
type facet[T any] struct {
	name  string
	head  string
	text  func(*deps, T) string
	order func(a, b T) int // nil: by text
	exact func(T) string   // for machines; nil: the text
}

// facets are all that may be shown of a T: the usual of them where no columns are asked for, and
// the wide by -o wide and csv.
type facets[T any] struct {
	all         []facet[T]
	usual, wide []string
}

// view is how things are shown: which columns, in which order, how many.
type view struct {
	columns []string
	sort    string
	limit   int
	output  string
}

// register adds the flags of a view of many things with facets of these names.
func (v *view) register(cmd *cobra.Command, names []string, many string) {
	v.choosing(cmd, names)
	cmd.Flags().IntVar(&v.limit, "limit", 0, "the first `N` "+many+"; 0: all")
}

// choosing adds the flags of which columns are shown, in which order and form.
func (v *view) choosing(cmd *cobra.Command, names []string) {
	f := cmd.Flags()
	f.StringSliceVar(&v.columns, "columns", nil, "these `columns`: "+strings.Join(names, ", "))
	f.StringVar(&v.sort, "sort", "", "by this `column`; a minus before it turns the order round")
	f.StringVarP(&v.output, "output", "o", "", "`form`: wide, json, csv")
	_ = cmd.RegisterFlagCompletionFunc("columns", listed(names...))
	_ = cmd.RegisterFlagCompletionFunc("sort", ordered(names...))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"wide", "json", "csv"}, cobra.ShellCompDirectiveNoFileComp))
}

func (k facets[T]) names() []string {
	var names []string
	for _, f := range k.all {
		names = append(names, f.name)
	}
	return names
}

func (k facets[T]) of(name string) (facet[T], error) {
	i := slices.IndexFunc(k.all, func(f facet[T]) bool { return strings.EqualFold(f.name, name) })
	if i < 0 {
		return facet[T]{}, usageError(fmt.Errorf("no column %q; there are %s", name, strings.Join(k.names(), ", ")))
	}
	return k.all[i], nil
}

// check tells whether the flags mean something, before anything is asked.
func (k facets[T]) check(v view, many string) error {
	switch v.output {
	case "", "wide", "json", "csv":
	default:
		return usageError(fmt.Errorf("--output %s: say wide, json or csv", v.output))
	}
	if v.limit < 0 {
		return usageError(fmt.Errorf("--limit %d: say a number of %s", v.limit, many))
	}
	if v.sort != "" {
		if _, err := k.of(strings.TrimPrefix(v.sort, "-")); err != nil {
			return err
		}
	}
	_, err := k.chosen(v)
	return err
}

// chosen are the view's columns.
func (k facets[T]) chosen(v view) ([]facet[T], error) {
	names := v.columns
	if len(names) == 0 {
		names = k.usual
		if v.output == "wide" || v.output == "csv" {
			names = k.wide
		}
	}
	var out []facet[T]
	for _, name := range names {
		f, err := k.of(name)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// ordered sorts and cuts a list as the view says; the list given stays as it is.
func (k facets[T]) ordered(d *deps, v view, list []T) ([]T, error) {
	if v.sort != "" {
		name, back := strings.CutPrefix(v.sort, "-")
		f, err := k.of(name)
		if err != nil {
			return nil, err
		}
		order := f.order
		if order == nil {
			order = func(a, b T) int { return strings.Compare(f.text(d, a), f.text(d, b)) }
		}
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(x, y T) int {
			if back {
				x, y = y, x
			}
			return order(x, y)
		})
	}
	if v.limit > 0 {
		list = list[:min(v.limit, len(list))]
	}
	return list, nil
}

// heads are the headings of columns.
func heads[T any](cols []facet[T]) []column {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.head
	}
	return columns(names...)
}

// showList prints the part of a list that a view shows, as a table or as CSV; spares are the
// headings that a narrow terminal can do without, where no columns were asked for.
func showList[T any](d *deps, k facets[T], v view, all []T, many string, spares ...string) error {
	list, err := k.ordered(d, v, all)
	if err != nil {
		return err
	}
	if v.output == "csv" {
		cols, err := k.chosen(v)
		if err != nil {
			return err
		}
		return printCSV(d, list, cols)
	}
	if len(list) == 0 {
		return nil
	}
	if err := showTable(d, k, v, list, spares...); err != nil || len(list) == len(all) {
		return err
	}
	return sayErr(d, "%d of %d %s", len(list), len(all), many)
}

// showTable prints a list as it is, in the columns of a view.
func showTable[T any](d *deps, k facets[T], v view, list []T, spares ...string) error {
	cols, err := k.chosen(v)
	if err != nil {
		return err
	}
	rows := make([][]string, len(list))
	for i, x := range list {
		for _, c := range cols {
			rows[i] = append(rows[i], c.text(d, x))
		}
	}
	made, on := heads(cols), d
	if v.output == "wide" {
		on = uncut(d)
	}
	if len(v.columns) == 0 {
		made = spare(made, spares...)
	}
	return table(on, made, rows)
}

// uncut is for tables that are not cut to the terminal.
func uncut(d *deps) *deps {
	whole := *d
	whole.env.Width = 0
	return &whole
}

// printCSV prints a list as RFC 4180 has it.
func printCSV[T any](d *deps, list []T, cols []facet[T]) error {
	plain := *d
	plain.env.Terminal = false
	w := csv.NewWriter(d.env.Out)
	head := make([]string, len(cols))
	for i, c := range cols {
		head[i] = c.name
	}
	_ = w.Write(head)
	for _, x := range list {
		row := make([]string, len(cols))
		for i, c := range cols {
			if row[i] = c.text(&plain, x); c.exact != nil {
				row[i] = c.exact(x)
			}
			row[i] = harmless(foreign.Text(row[i]))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return w.Error()
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
