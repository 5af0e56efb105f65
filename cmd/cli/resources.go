package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/foreign"
	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/jdl/classad"
	"gridbroker/plugins"
)

type resourcesOptions struct {
	discovery
	where string
	save  string
	view  view
	sites bool // a line for each site
}

func resourcesCmd(d *deps) *cobra.Command {
	var f resourcesOptions
	cmd := &cobra.Command{
		Use:     "resources",
		Aliases: []string{"res"},
		Short:   "Show what the sources publish now",
		Long: `Resources asks all sources at once and shows every computing share, with its
state as published; "-" is what is not published or published as a number that
means nothing. How asking each source went is said on standard error.

--sites gives a line for each site: how many resources, how many of them take jobs,
slots and waiting jobs, each queue counted once however many views of it there are.

--where takes a ClassAd expression over a resource's attributes, by their GLUE
1.3 or GLUE 2.0 names, with or without "other." before them. --snapshot saves
what was found, to be used later as --info file:FILE.`,
		Example: `  grid resources
  grid resources --sites --sort -free --limit 10
  grid resources --columns name,free,waiting,endpoint --sort waiting
  grid resources --info ldap://bdii.example.org:2170 --where 'GlueCEStateFreeJobSlots > 10'
  grid resources --where 'member("APPS/HEP/ATLAS-23.0.1", GlueHostApplicationSoftwareRunTimeEnvironment)'
  grid resources --snapshot grid.json.gz
  grid resources --json | jq '.resources[] | select(.free_slots > 0) | .id'`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runResources(d, cmd, f) },
	}
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&f.onlyVO, "vo", "", "ask only for what this virtual `organisation` may use, where a source can tell")
	cmd.Flags().StringVar(&f.where, "where", "", "show only resources for which the ClassAd `expression` is true")
	cmd.Flags().BoolVar(&f.sites, "sites", false, "a line for each site instead of each resource")
	f.view.register(cmd, resourceFacets(nil).names(), "resources")
	_ = cmd.RegisterFlagCompletionFunc("where", cobra.FixedCompletions(glue.Names(), cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&f.save, "snapshot", "", "save what was found to `FILE` (packed if it ends in .gz)")
	return cmd
}

func runResources(d *deps, cmd *cobra.Command, f resourcesOptions) error {
	where, err := parseWhere(f.where)
	if err != nil {
		return err
	}
	if err := f.checkView(d, resourceFacets(nil)); err != nil {
		return err
	}
	f.extra = where.unknown
	conf, err := loadConfig(d)
	if err != nil {
		return err
	}
	backends, err := openBackends(d, conf)
	if err != nil {
		return err
	}
	defer backends.Close()
	snap, err := discover(cmd.Context(), d, conf, backends, f.discovery)
	if err != nil {
		return err
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if err := where.judge(d, snap.Resources); err != nil {
		return err
	}
	snap.Resources = where.filter(snap.Resources)
	if f.save != "" {
		if err := infosys.WriteSnapshot(abs(d, f.save), snap); err != nil {
			return err
		}
	}
	if err := printResources(d, f, backends, snap); err != nil {
		return err
	}
	return noneAnswered(snap)
}

// noneAnswered is an error when every source failed.
func noneAnswered(s infosys.Snapshot) error {
	for _, o := range s.Outcomes {
		if o.Err == nil || o.Resources > 0 {
			return nil
		}
	}
	return &exitError{exitFailed, reported(errors.New("no source answered"))}
}

func printResources(d *deps, f resourcesOptions, b *plugins.Registry, s infosys.Snapshot) error {
	if d.json || f.view.output == "json" {
		list, err := inOrder(d, f.view, b, s.Resources)
		if err != nil {
			return err
		}
		s.Resources = list
		return printJSON(d, "resources", s)
	}
	if f.save == "" {
		if err := showResources(d, f, b, s.Resources); err != nil {
			return err
		}
	}
	for _, o := range s.Outcomes {
		reportClaims(d, o)
		sayErr(d, "%s", outcomeLine(d, o))
	}
	reportDoubts(d, s.Resources)
	n := s.Slots()
	free := strconv.FormatInt(n.Free, 10)
	if n.AtMost > n.Free {
		free += fmt.Sprintf(" to %d", n.AtMost)
	}
	sayErr(d, "%s in %s, %s slots free of %d", counted(len(s.Resources), "resource"), counted(n.Queues, "queue"), free, n.Total)
	if f.save != "" {
		sayErr(d, "saved: grid match --info file:%s JOB.jdl", f.save)
	}
	return nil
}

// maxDoubts is how many implausible values are shown.
const maxDoubts = 5

// reportDoubts warns of values that the rest of the grid makes implausible.
func reportDoubts(d *deps, rs []glue.Resource) {
	doubts := glue.Doubts(rs)
	for _, doubt := range doubts[:min(len(doubts), maxDoubts)] {
		sayErr(d, "warning: %s: %s", doubt.CE, doubt.Said)
	}
	if n := len(doubts) - maxDoubts; n > 0 {
		sayErr(d, "warning: %d more such CEs", n)
	}
}

// outcomeLine says how asking a source went.
func outcomeLine(d *deps, o infosys.Outcome) passage {
	took := strconv.FormatFloat(o.Took.Seconds(), 'f', 2, 64) + " s"
	var line string
	switch {
	case o.Stale:
		line = fmt.Sprintf("%s; %s of %s ago from the cache", sourceError(o), counted(o.Resources, "resource"), ago(d, o.Fetched))
	case o.Err != nil && o.Resources > 0:
		line = fmt.Sprintf("%s, then: %s", counted(o.Resources, "resource"), sourceError(o))
	case o.Err != nil:
		line = string(sourceError(o))
	case o.Cached:
		line = fmt.Sprintf("%s of %s ago from the cache", counted(o.Resources, "resource"), ago(d, o.Fetched))
	default:
		line = counted(o.Resources, "resource")
	}
	if o.Err != nil {
		line = styled(d, red, line) + sourceHint(d, o)
	}
	return passage(fmt.Sprintf("source %s  %s (%s)", foreign.Text(o.Source), line, took))
}

// waiting is how many jobs wait, those the CE itself holds back included.
func waiting(r *glue.Resource) glue.Opt[int64] {
	n := r.Waiting
	if r.PreLRMSWaiting.OK {
		n.V, n.OK = n.V+r.PreLRMSWaiting.V, true
	}
	return n
}

// vosOf lists the VOs let in: the one of a view, which is said, else those of
// the rules.
func vosOf(r *glue.Resource) string {
	if r.ViewOf != "" {
		return r.ViewOf + " (view)"
	}
	var vos []string
	for _, rule := range r.Access {
		if vo := glue.VOOf(rule); vo != "" && (len(vos) == 0 || vos[len(vos)-1] != vo) {
			vos = append(vos, vo)
		}
	}
	if n := len(vos) - 3; n > 0 {
		vos = append(vos[:3], fmt.Sprintf("+%d", n))
	}
	return strings.Join(vos, ",")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func number(n glue.Opt[int64]) string {
	if !n.OK {
		return "-"
	}
	return strconv.FormatInt(n.V, 10)
}

func wall(r *glue.Resource) string {
	switch {
	case r.MaxWallTime.OK:
		return span(r.MaxWallTime.V)
	case r.Free(glue.LimitWallTime):
		return "none"
	}
	return "-"
}

// condition is a --where expression.
type condition struct {
	expr    classad.Expr
	ad      *classad.Ad // gives bare names the resource's values
	unknown []string    // names outside of glue's table, to be asked for
}

// parseWhere reads an expression; "" accepts everything.
func parseWhere(text string) (condition, error) {
	if text == "" {
		return condition{}, nil
	}
	expr, err := classad.ParseExpr("--where", []byte(text))
	if err != nil {
		return condition{}, err
	}
	c := condition{expr: expr}
	seen := map[string]bool{}
	var bare strings.Builder
	classad.Walk(expr, func(e classad.Expr) bool {
		name := ""
		switch e := e.(type) {
		case *classad.AttrRef:
			if scopeWords[strings.ToLower(e.Name)] {
				return true
			}
			name = e.Name
			if !seen[strings.ToLower(name)] {
				fmt.Fprintf(&bare, "%s = other.%s;", name, name)
			}
		case *classad.Select:
			name = e.Name
		}
		if _, known := glue.Column(name); name != "" && !known && !seen[strings.ToLower(name)] {
			c.unknown = append(c.unknown, name)
		}
		seen[strings.ToLower(name)] = true
		return true
	})
	c.ad, err = classad.ParseAd("--where", []byte("["+bare.String()+"]"))
	return c, err
}

// scopeWords are names that stand for a side of the match.
var scopeWords = map[string]bool{"other": true, "self": true, "target": true, "my": true, "parent": true}

// judge warns of names that no resource publishes, and refuses an expression
// that is a condition for none.
func (c condition) judge(d *deps, rs []glue.Resource) error {
	if c.expr == nil || len(rs) == 0 {
		return nil
	}
	eval := classad.NewEvaluation(c.ad)
	var other classad.Value
	for i := range rs {
		v := eval.Eval(c.expr, &rs[i])
		if v.Kind() == classad.Bool || v.IsUndefined() || v.IsError() {
			return c.missing(d, rs)
		}
		other = v
	}
	return usageError(fmt.Errorf("--where: no condition: it is %s, neither true nor false", classad.UnparseValue(other)))
}

// missing warns of names outside of glue's table that no resource has.
func (c condition) missing(d *deps, rs []glue.Resource) error {
	for _, name := range c.unknown {
		expr, err := classad.ParseExpr("--where", []byte("other."+name))
		if err != nil {
			return err
		}
		eval := classad.NewEvaluation(c.ad)
		if slices.ContainsFunc(rs, func(r glue.Resource) bool { return !eval.Eval(expr, &r).IsUndefined() }) {
			continue
		}
		hint := ""
		if near := classad.Nearest(name, glue.Names()); near != "" {
			hint = "; did you mean " + near + "?"
		}
		sayErr(d, "warning: --where: no resource publishes %s%s", name, hint)
	}
	return nil
}

// filter keeps the resources for which the expression is true.
func (c condition) filter(rs []glue.Resource) []glue.Resource {
	if c.expr == nil {
		return rs
	}
	kept, eval := rs[:0], classad.NewEvaluation(c.ad)
	for i := range rs {
		if eval.Eval(c.expr, &rs[i]).IsTrue() {
			kept = append(kept, rs[i])
		}
	}
	return kept
}
