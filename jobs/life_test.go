package jobs

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/plugins"
)

var allStates = []plugins.State{"", plugins.Intended, plugins.Submitting, plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running,
	plugins.Held, plugins.Finishing, plugins.Done, plugins.Failed, plugins.Cancelled, plugins.Lost}

var lifeStart = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

// inState is a job in a state, with an attempt that was given up before.
func inState(st plugins.State) *Record {
	r := &Record{ID: "j", State: st, Attempts: 2, Attempt: 2, Resource: "b", At: "b", Tried: []string{"a", "b"},
		Handle: plugins.Handle{Interface: "i", Endpoint: "https://b", ID: "h2"}, Sent: lifeStart, Choices: []Choice{{Resource: "c", At: "c"}},
		Past: []Past{{Number: 1, Resource: "a", Handle: plugins.Handle{Interface: "i", Endpoint: "https://a"}, State: plugins.Submitting, Until: lifeStart.Add(time.Hour)}}}
	switch st {
	case plugins.Intended:
		r.Handle.ID = ""
	case plugins.Submitting:
		r.Handle.ID, r.Owner = "", "me"
		r.Uncertain, r.Since = lifeStart, clock.Reading{Start: "s"}
	}
	return r
}

// lifeCase is what an event makes of jobs in some states; in all others it
// cannot happen.
type lifeCase struct {
	name  string
	event Event
	from  []plugins.State
	to    plugins.State
}

// same is the state that the job was in.
const same = plugins.State("same")

func lifeCases() []lifeCase {
	every := allStates[1:]
	at := []plugins.State{plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running, plugins.Held, plugins.Finishing}
	over := []plugins.State{plugins.Done, plugins.Failed, plugins.Cancelled, plugins.Lost}
	seen := func(st plugins.Status) Event { return Seen{Status: st, At: clock.Reading{Start: "s"}} }
	late := clock.Reading{Start: "s", Up: SettleTime}
	one := func(s plugins.State) []plugins.State { return []plugins.State{s} }
	return []lifeCase{
		{"recorded", Recorded{}, one(""), plugins.Intended},
		{"planned", Planned{}, one(plugins.Intended), same},
		{"kept back", KeptBack{At: "b"}, one(plugins.Intended), same},
		{"supplied", Supplied{What: "out.txt of node a"}, one(plugins.Intended), same},
		{"supply late", SupplyLate{Why: "away"}, one(plugins.Intended), same},
		{"unmatched, hope", Unmatched{Why: "full", Hope: true, Patience: time.Hour, Next: time.Minute}, one(plugins.Intended), same},
		{"unmatched, none", Unmatched{Why: "no such tag"}, one(plugins.Intended), plugins.Failed},
		{"blocked", Blocked{}, one(plugins.Intended), plugins.Failed},
		{"gave up", GaveUp{Why: "full"}, one(plugins.Intended), plugins.Failed},
		{"unsure", Unsure{}, one(plugins.Intended), plugins.Failed},
		{"claimed", Claimed{Owner: "me", Choice: Choice{Resource: "c", Endpoint: glue.Endpoint{URL: "https://c"}}}, one(plugins.Intended), plugins.Submitting},
		{"released", Released{}, one(plugins.Intended), same},
		{"withdrawn", Withdrawn{Choice: Choice{Resource: "b"}}, one(plugins.Submitting), plugins.Intended},
		{"accepted", Accepted{Handle: plugins.Handle{ID: "h"}}, one(plugins.Submitting), plugins.Accepted},
		{"refused", Refused{Kind: plugins.Refused, Why: "full"}, one(plugins.Submitting), plugins.Intended},
		{"unfit for one kind", Unfit{Why: "no", Others: []Choice{{Resource: "c"}}}, one(plugins.Submitting), plugins.Intended},
		{"invalid", Invalid{Why: "no"}, one(plugins.Submitting), plugins.Failed},
		{"unanswered", Unanswered{Why: "cut"}, one(plugins.Submitting), same},
		{"not found, too early", NotFound{Settle: SettleTime, Asked: clock.Reading{Start: "s", Up: SettleTime - 1}}, one(plugins.Submitting), same},
		{"not found, by another clock", NotFound{Settle: SettleTime, Asked: clock.Reading{Start: "t", Up: 100 * SettleTime}}, one(plugins.Submitting), same},
		{"not found", NotFound{Settle: SettleTime, Asked: late}, one(plugins.Submitting), plugins.Intended},
		{"found", Found{Attempt: 2, Handle: plugins.Handle{ID: "h"}}, []plugins.State{plugins.Intended, plugins.Submitting}, plugins.Accepted},
		{"found late", Found{Attempt: 1, Handle: plugins.Handle{ID: "h"}}, []plugins.State{plugins.Intended, plugins.Submitting}, plugins.Accepted},
		{"stray", StrayEnded{Attempt: 1}, every, same},
		{"seen running", seen(plugins.Status{State: plugins.Running}), at, plugins.Running},
		{"seen done", seen(plugins.Status{State: plugins.Done}), at, plugins.Done},
		{"seen failed", seen(plugins.Status{State: plugins.Failed}), at, plugins.Failed},
		{"seen cancelled", seen(plugins.Status{State: plugins.Cancelled}), at, plugins.Cancelled},
		{"not known, at first", seen(plugins.Status{State: plugins.Lost}), at, same},
		{"no verdict", seen(plugins.Status{State: plugins.Unknown}), at, same},
		{"a word that is no state", seen(plugins.Status{State: "\x1b[2Jdone"}), at, same},
		{"back-ends do not take back", seen(plugins.Status{State: plugins.Intended}), at, same},
		{"cancel", CancelAsked{}, append(one(plugins.Submitting), at...), same},
		{"cancel before", CancelAsked{}, one(plugins.Intended), plugins.Cancelled},
		{"retried", Retried{}, []plugins.State{plugins.Done, plugins.Failed, plugins.Lost}, plugins.Intended},
		{"retried before it ran", Retried{Shallow: true}, []plugins.State{plugins.Done, plugins.Failed, plugins.Lost}, plugins.Intended},
		{"not retried", NotRetried{Why: "nowhere"}, []plugins.State{plugins.Done, plugins.Failed, plugins.Lost}, same},
		{"resubmitted", Resubmitted{}, append(one(plugins.Intended), over...), plugins.Intended},
		{"resubmitted anywhere", Resubmitted{Anywhere: true}, append(one(plugins.Intended), over...), plugins.Intended},
		{"taken up", TakenUp{Attempt: 4, Handle: plugins.Handle{ID: "h"}}, slices.Concat(kept, at, over), plugins.Accepted},
		{"brought", Brought{Attempt: 2, Dir: "d"}, every, same},
		{"brought, of the first attempt", Brought{Attempt: 1, Dir: "d"}, every, same},
		{"renewed", Renewed{}, at, same},
		{"vanished", Vanished{}, every, plugins.Lost},
		{"restarted", Restarted{}, one(plugins.Failed), plugins.Accepted},
		{"not restarted", NotRestarted{Was: &Record{State: plugins.Failed}}, one(plugins.Accepted), plugins.Failed},
	}
}

// Each event makes of a job what its case says, and in other states it cannot happen.
func TestLife(t *testing.T) {
	at := taken
	for _, c := range lifeCases() {
		for _, st := range allStates {
			if c.name == "cancel" && st == plugins.Intended || c.name == "cancel before" && (st == plugins.Submitting || slices.Contains(at, st)) {
				continue // the other line's
			}
			r := inState(st)
			_, err := r.Apply(c.event, lifeStart.Add(time.Minute))
			illegal, isIllegal := errors.AsType[*IllegalError](err)
			want := c.to
			if want == same || !slices.Contains(c.from, st) {
				want = st
			}
			if slices.Contains(c.from, st) != (err == nil) || r.State != want {
				t.Errorf("%s in state %q: %q, %v; want %q", c.name, st, r.State, err, want)
			}
			if isIllegal && (illegal.State != st || !strings.Contains(illegal.Error(), "cannot happen")) {
				t.Errorf("%s in state %q: %v", c.name, st, illegal)
			}
		}
	}
}

// Nothing good is destroyed: what is known of an attempt stays when the job is
// sent again, and an attempt that turns up late is the job's again.
func TestAttemptsAreKept(t *testing.T) {
	code := 3
	r := inState(plugins.Done)
	r.ExitCode, r.Host, r.Started, r.Ended, r.Reason = &code, "n1", lifeStart, lifeStart.Add(time.Hour), "odd"
	apply := func(e Event) {
		t.Helper()
		if _, err := r.Apply(e, lifeStart.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	apply(Brought{Attempt: 2, Dir: "dir"})
	apply(Brought{Attempt: 1, Dir: "other"})
	if r.Output != "dir" || r.Past[0].Output != "other" {
		t.Errorf("output of the present attempt in %q, of the first in %q", r.Output, r.Past[0].Output)
	}
	apply(Resubmitted{})
	p := r.Past[1]
	if p.Number != 2 || p.Handle.ID != "h2" || *p.ExitCode != 3 || p.Host != "n1" || p.Ended.IsZero() || p.Output != "dir" || p.Reason != "odd" || p.State != plugins.Done {
		t.Errorf("%+v", p)
	}
	if r.ExitCode != nil || r.Output != "" || r.Handle.ID != "" {
		t.Errorf("%+v", r)
	}
	apply(Claimed{Owner: "me", Choice: Choice{Resource: "c"}})
	apply(Unanswered{Why: "cut", At: clock.Reading{Start: "s"}})
	apply(Found{Attempt: 1, Handle: plugins.Handle{ID: "h1"}})
	if r.requestID() != "j" || r.Resource != "a" || r.Handle.ID != "h1" || len(r.Past) != 2 || r.Past[1].Number != 3 || r.Past[1].Until.IsZero() {
		t.Errorf("%+v", r)
	}
}

// No other file gives a job its state.
func TestStatesAreAssignedInOneFile(t *testing.T) {
	isState := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "State" {
			return false
		}
		x, ok := s.X.(*ast.Ident) // st: a back-end's status, which is none of a job's record
		return !ok || x.Name != "st"
	}
	found := 0
	eachFile(t, ".", func(name string, f *ast.File, fset *token.FileSet) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					if isState(to) && strings.HasPrefix(name, "life") {
						found++
					} else if isState(to) && !strings.Contains(exprOf(to), "Past") {
						t.Errorf("%s assigns a state", fset.Position(n.Pos()))
					}
				}
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "Record" {
					for _, e := range n.Elts {
						if kv, ok := e.(*ast.KeyValueExpr); ok && exprOf(kv.Key) == "State" {
							t.Errorf("%s makes a record with a state", fset.Position(n.Pos()))
						}
					}
				}
			}
			return true
		})
	})
	if found < 10 {
		t.Errorf("%d assignments found in life*.go: the test does not see them", found)
	}
}

func exprOf(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// Deciding and following know no time but their clock's.
func TestTimeIsTheClocks(t *testing.T) {
	for _, dir := range []string{".", "../broker"} {
		eachFile(t, dir, func(_ string, f *ast.File, fset *token.FileSet) {
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				timed := exprOf(s.X) == "time" && slices.Contains([]string{"Now", "After", "Sleep", "Since", "Until", "Tick", "NewTimer", "NewTicker", "AfterFunc"}, s.Sel.Name) ||
					exprOf(s.X) == "context" && (strings.HasPrefix(s.Sel.Name, "WithTimeout") || strings.HasPrefix(s.Sel.Name, "WithDeadline"))
				if timed {
					t.Errorf("%s: %s.%s", fset.Position(n.Pos()), exprOf(s.X), s.Sel.Name)
				}
				return true
			})
		})
	}
}

// eachFile calls f for every Go file of a directory that is no test.
func eachFile(t *testing.T, dir string, f func(name string, file *ast.File, fset *token.FileSet)) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		f(filepath.Base(name), file, fset)
	}
}
