package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"gridbroker/broker"
	"gridbroker/cmd/cli/document"
	"gridbroker/jdl/classad"
	"gridbroker/jobs"
)

// chooser keeps the jobs that the flags of a selection describe beyond those
// that the records are searched by.
type chooser struct {
	name, site, group string
	exit              func(int) bool // nil: any
	where             *vm.Program    // nil: any
	asked             map[string]any // the variables that where is about, as they are where a job has none
}

// chooser reads the flags; its errors are the user's.
func (s *selection) chooser() (*chooser, error) {
	c := &chooser{name: s.name, site: s.site, group: s.group}
	for _, pattern := range []string{s.name, s.site, s.group} {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%q is no pattern: %w", pattern, err)
		}
	}
	var err error
	if c.exit, err = exitTest(s.exit); err != nil {
		return nil, err
	}
	if s.where == "" {
		return c, nil
	}
	variables := jobVariables()
	used := &usedNames{among: variables, found: map[string]any{}}
	if c.where, err = expr.Compile(s.where, expr.Env(jobTypes(variables)), expr.AsBool(), expr.Patch(used)); err != nil {
		return nil, fmt.Errorf("--where: %w%s", err, whereHint(err, variables))
	}
	c.asked = used.found
	return c, nil
}

// whereHint says what may have been meant by an expression that cannot be read.
func whereHint(err error, variables map[string]any) string {
	said, ok := errors.AsType[*file.Error](err)
	if !ok {
		return ""
	}
	if strings.Contains(said.Message, `Operator("=")`) {
		return "\n  equal is ==: 'exit_code == 0'"
	}
	name, unknown := strings.CutPrefix(said.Message, "unknown name ")
	if !unknown {
		return ""
	}
	if near := classad.Nearest(name, slices.Collect(maps.Keys(variables))); near != "" {
		return "\n  did you mean " + near + "?"
	}
	return "\n  names are the keys of a job's JSON: grid list --json"
}

// usedNames finds the variables that an expression names.
type usedNames struct{ among, found map[string]any }

// Visit is called for each node of the expression.
func (u *usedNames) Visit(node *ast.Node) {
	name, ok := (*node).(*ast.IdentifierNode)
	if !ok {
		return
	}
	if name.Value == "$env" {
		maps.Copy(u.found, u.among)
	}
	if v, ok := u.among[name.Value]; ok {
		u.found[name.Value] = v
	}
}

// exitTest reads --exit: codes, or comparisons such as "!=0" or ">=2", with commas between them, of which one is to hold.
func exitTest(text string) (func(int) bool, error) {
	if text == "" {
		return nil, nil
	}
	var tests []func(int) bool
	for part := range strings.SplitSeq(text, ",") {
		test, ok := exitComparison(part)
		if !ok && part != text {
			return nil, fmt.Errorf("--exit %s: say exit codes, or comparisons such as '!=0', with commas between them", text)
		}
		if !ok {
			return nil, fmt.Errorf("--exit %s: say an exit code, or a comparison such as '!=0'", text)
		}
		tests = append(tests, test)
	}
	return func(have int) bool {
		return slices.ContainsFunc(tests, func(test func(int) bool) bool { return test(have) })
	}, nil
}

// exitComparison is the test of one code or comparison.
func exitComparison(text string) (test func(int) bool, ok bool) {
	tests := []struct {
		op   string
		test func(have, want int) bool
	}{
		{"!=", func(h, w int) bool { return h != w }}, {"==", func(h, w int) bool { return h == w }}, {">=", func(h, w int) bool { return h >= w }},
		{"<=", func(h, w int) bool { return h <= w }}, {">", func(h, w int) bool { return h > w }},
		{"<", func(h, w int) bool { return h < w }}, {"!", func(h, w int) bool { return h != w }},
		{"=", func(h, w int) bool { return h == w }}, {"", func(h, w int) bool { return h == w }},
	}
	for _, t := range tests {
		rest, ok := strings.CutPrefix(text, t.op)
		if !ok {
			continue
		}
		want, err := strconv.Atoi(strings.TrimSpace(rest))
		return func(have int) bool { return t.test(have, want) }, err == nil
	}
	return nil, false
}

// jobVariables are what --where knows: the keys of a job's JSON, each with what it is where a job has none: 0, "", false,
// or nil for an exit code.
func jobVariables() map[string]any {
	return document.Fields(reflect.TypeFor[jobs.Record]())
}

// jobTypes are the types of the variables. What may be absent altogether is of any type.
func jobTypes(variables map[string]any) types.Map {
	out := types.Map{}
	for name, v := range variables {
		if out[name] = types.TypeOf(v); v == nil {
			out[name] = types.Any
		}
	}
	return out
}

// keep returns the jobs that are described. Name, site and group do not change
// with what back-ends tell; see now for what does.
func (c *chooser) keep(rs []*jobs.Outcome) []*jobs.Outcome {
	out := make([]*jobs.Outcome, 0, len(rs))
	for _, r := range rs {
		if c.still(r) {
			out = append(out, r)
		}
	}
	return out
}

func (c *chooser) still(r *jobs.Outcome) bool {
	return (c.name == "" || c.named(r)) &&
		(c.site == "" || like(c.site, r.Site) || like(c.site, r.At) || like(c.site, r.Resource)) &&
		(c.group == "" || c.inGroup(r))
}

// named is whether the job has the name that is asked for, or has it as a node of its collection, sweep or DAG: patterns are of
// names alone.
func (c *chooser) named(r *jobs.Outcome) bool {
	return like(c.name, r.Name) || !patterned(c.name) && like(c.name, r.Node)
}

// inGroup is whether the job is of the collection, sweep or DAG that is asked for, or of the JobGroup.
func (c *chooser) inGroup(r *jobs.Outcome) bool {
	return r.ParentName != "" && like(c.group, r.ParentName) || len(c.group) >= jobs.ShortestID && strings.HasPrefix(r.Parent, strings.ToLower(c.group))
}

// misnamed says which of the names that are asked for none of all recorded jobs has, which is a slip of the
// keyboard. A pattern may fit none, and at a site may be none.
func (c *chooser) misnamed(all []*jobs.Outcome) error {
	switch {
	case c.group != "" && !patterned(c.group) && !slices.ContainsFunc(all, c.inGroup):
		return fmt.Errorf("no collection, sweep, DAG or JobGroup is %s", c.group)
	case c.name != "" && !patterned(c.name) && !slices.ContainsFunc(all, c.named):
		return fmt.Errorf("no job is called %s", c.name)
	}
	return nil
}

func patterned(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// like compares with a pattern; a text without wildcards must be equal.
func like(pattern, text string) bool {
	return broker.Like(pattern, text) || strings.EqualFold(pattern, text)
}

// mostAtOnce is how many records are shown to an expression together: what is known of their types serves all of them.
const mostAtOnce = 1000

// now returns the jobs that are as described at this moment.
func (c *chooser) now(ctx context.Context, rs []*jobs.Outcome) ([]*jobs.Outcome, error) {
	keep := make([]*jobs.Outcome, 0, len(rs))
	for _, r := range rs {
		if c.exit == nil || r.ExitCode != nil && c.exit(*r.ExitCode) {
			keep = append(keep, r)
		}
	}
	if c.where == nil {
		return keep, nil
	}
	m, answers := newMeter(), make(chan held, 1) // room for the answer that nobody waits for any more
	defer m.looks.Stop()
	var found []*jobs.Outcome
	for some := range slices.Chunk(keep, mostAtOnce) {
		go func() {
			rs, err := c.of(some)
			answers <- held{rs, err}
		}()
		h, _, err := await(ctx, m, answers)
		if err = cmp.Or(err, h.err); err != nil {
			return nil, err
		}
		found = append(found, h.jobs...)
	}
	return found, nil
}

// held are the jobs of some for which an expression is true.
type held struct {
	jobs []*jobs.Outcome
	err  error
}

// wastes tells whether an expression made more lists, or longer ones, than anybody needs: that is no answer about a job. It has
// no type of its own.
func wastes(err error) bool {
	f, ok := errors.AsType[*file.Error](err)
	return ok && f.Message == "memory budget exceeded"
}

// of are the jobs for which the expression of --where is true.
func (c *chooser) of(rs []*jobs.Outcome) (found []*jobs.Outcome, err error) {
	text, err := document.Append(nil, jobs.Records(rs))
	if err != nil {
		return nil, err
	}
	var shown []map[string]json.RawMessage
	if err := json.Unmarshal(text, &shown); err != nil {
		return nil, err
	}
	for i, r := range rs {
		env := maps.Clone(c.asked)
		for name := range env {
			var v any
			if raw, ok := shown[i][name]; !ok {
				continue
			} else if err := json.Unmarshal(raw, &v); err != nil {
				return nil, err
			}
			env[name] = v
		}
		// What is compared with something that the job has not is not true; names and types were checked before.
		switch v, err := expr.Run(c.where, env); {
		case err == nil && v == true:
			found = append(found, r)
		case wastes(err):
			return nil, usageError(fmt.Errorf("--where: %w", err))
		}
	}
	return found, nil
}
