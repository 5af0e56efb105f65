package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"gridbroker/foreign"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// A screen is what the live view shows at one moment. It is made from jobs and never changes, so that drawing needs no
// lock.
type screen struct {
	at       time.Time
	groups   []screenGroup
	rows     []screenRow // jobs, those that move first
	messages []string    // what happened last, the newest at the end
	left     time.Duration
	style    func(style, string) string
	ascii    bool // the terminal shows nothing else
}

// A screenGroup is the jobs of one collection, sweep, DAG or JobGroup, or all others.
type screenGroup struct {
	name  string
	phase [phases]int
	total int
}

type screenRow struct {
	depth           int // in a DAG
	id, name, state string
	phase           phase
	at, time, note  string
}

// A phase is a state as far as a person at a terminal tells states apart.
type phase int

const (
	phaseDone phase = iota
	phaseFailed
	phaseRunning
	phaseQueued
	phaseWaiting
	phases
)

// phaseLook is how a phase is drawn: its letter tells it without colours.
var phaseLook = [phases]struct {
	letter string
	word   string
	style  style
}{{"d", "done", green}, {"F", "failed", red}, {"r", "running", cyan}, {"q", "queued", yellow}, {".", "waiting", dim}}

func phaseOf(o *jobs.Outcome) phase {
	switch {
	case o.Final() && o.Failure():
		return phaseFailed
	case o.Final():
		return phaseDone
	case o.State == plugins.Running || o.State == plugins.Finishing:
		return phaseRunning
	case o.State == plugins.Intended || o.State == plugins.Submitting:
		return phaseWaiting
	}
	return phaseQueued
}

// newScreen looks at jobs. began and endedBefore say since when, and from how many ended jobs on, the pace is counted.
func newScreen(d *deps, os []*jobs.Outcome, began time.Time, endedBefore int, messages []string) *screen {
	s := &screen{at: d.env.Now(), messages: messages, ascii: ascii(d), style: func(s style, text string) string { return paint(d, s, text) }}
	groups := map[string]int{}
	depth := depths(os)
	for _, o := range os {
		name := cmp.Or(o.Parent, o.ParentName)
		i, ok := groups[name]
		if !ok {
			i = len(s.groups)
			groups[name] = i
			s.groups = append(s.groups, screenGroup{name: cmp.Or(foreign.Text(o.ParentName), name, "jobs")})
		}
		p := phaseOf(o)
		s.groups[i].phase[p]++
		s.groups[i].total++
		s.rows = append(s.rows, screenRow{depth[o.ID], o.ID, foreign.Text(o.Name), string(o.State), p, foreign.Text(o.At), ranText(d, o), foreign.Text(screenNote(o))})
	}
	s.left = timeLeft(d, os, began, endedBefore)
	s.order(os)
	return s
}

// order puts the rows first that need eyes. The jobs of a DAG stay together, as a tree, where the first of them would be.
func (s *screen) order(os []*jobs.Outcome) {
	dags := map[string]int{} // urgency
	for i, o := range os {
		if s.rows[i].depth > 0 {
			dags[o.Parent] = urgency(phaseDone)
		}
	}
	keys := map[string]int{} // by id
	for i, o := range os {
		keys[o.ID] = urgency(s.rows[i].phase)
		if least, in := dags[o.Parent]; in {
			dags[o.Parent] = min(least, keys[o.ID])
		}
	}
	for _, o := range os {
		if least, in := dags[o.Parent]; in {
			keys[o.ID] = least
		}
	}
	slices.SortStableFunc(s.rows, func(x, y screenRow) int { return cmp.Compare(keys[x.id], keys[y.id]) })
}

// screenNote is what a row says at its end: why, or with which exit code that is not 0.
func screenNote(o *jobs.Outcome) string {
	if text := note(o); text != "" || o.ExitCode == nil || *o.ExitCode == 0 {
		return text
	}
	return "exit code " + exitText(o)
}

// urgency orders rows: what failed, what moves, what waits, what is done.
func urgency(p phase) int {
	return [phases]int{phaseDone: 4, phaseFailed: 0, phaseRunning: 1, phaseQueued: 2, phaseWaiting: 3}[p]
}

// depths is how many jobs come before each job in its DAG, along the longest way.
func depths(os []*jobs.Outcome) map[string]int {
	after := map[string][]string{}
	for _, o := range os {
		after[o.ID] = o.After
	}
	depth := map[string]int{}
	var of func(id string, limit int) int
	of = func(id string, limit int) int {
		if d, ok := depth[id]; ok || limit == 0 {
			return d
		}
		d := 0
		for _, before := range after[id] {
			d = max(d, 1+of(before, limit-1))
		}
		depth[id] = d
		return d
	}
	for _, o := range os {
		of(o.ID, len(os))
	}
	return depth
}

// timeLeft is when all will have ended: by the pace so far where some have, else by what was foretold of each job that is
// left; 0: not known, as of jobs of which nothing told how long they run.
func timeLeft(d *deps, os []*jobs.Outcome, began time.Time, endedBefore int) time.Duration {
	now := d.env.Now()
	ended := -endedBefore
	var last time.Time
	foretold := true
	for _, o := range os {
		if o.Final() {
			ended++
			continue
		}
		foretold = foretold && o.Predicted > 0 && !o.Guessed && !o.Sent.IsZero()
		if t := o.Sent.Add(time.Duration(o.Predicted * float64(time.Second))); t.After(last) {
			last = t
		}
	}
	remaining := len(os) - endedBefore - ended
	if elapsed := now.Sub(began); ended >= 3 && elapsed > time.Second {
		return elapsed / time.Duration(ended) * time.Duration(remaining)
	}
	if !foretold {
		return 0
	}
	return max(0, last.Sub(now))
}

// draw fits the screen into a width and a height, both at least small.
func (s *screen) draw(width, height int) []string {
	width, height = max(width, 40), max(height, 6)
	lines := []string{s.head(width)}
	bars := min(len(s.groups), max(1, height/3))
	for _, g := range s.groups[:bars] {
		lines = append(lines, s.bar(g, width))
	}
	if n := len(s.groups) - bars; n > 0 {
		lines = append(lines, runewidth.Truncate(fmt.Sprintf("  and %s", counted(n, "more group")), width, "…"))
	}
	news := s.messages[len(s.messages)-min(len(s.messages), 3, height/5):]
	room := height - len(lines) - len(news) - 1
	lines = append(lines, s.table(width, room)...)
	for _, m := range news {
		lines = append(lines, s.style(dim, runewidth.Truncate(m, width, "…")))
	}
	for i := range lines {
		if s.ascii {
			lines[i] = strings.ReplaceAll(lines[i], "…", "~")
		}
	}
	return lines
}

func (s *screen) head(width int) string {
	var sum [phases]int
	total := 0
	for _, g := range s.groups {
		for p, n := range g.phase {
			sum[p] += n
		}
		total += g.total
	}
	text := fmt.Sprintf("%d of %d ended", sum[phaseDone]+sum[phaseFailed], total)
	for _, p := range []phase{phaseRunning, phaseQueued, phaseWaiting, phaseFailed} {
		if sum[p] > 0 {
			text += fmt.Sprintf(", %d %s", sum[p], phaseLook[p].word)
		}
	}
	if s.left > 0 {
		text += ", about " + span(s.left) + " left"
	}
	if runewidth.StringWidth(text) > width {
		text = strings.TrimSuffix(text, " left")
	}
	if clock := s.at.Format(time.TimeOnly) + "  "; runewidth.StringWidth(clock+text) <= width {
		text = clock + text
	}
	return s.style(bold, runewidth.Truncate(text, width, "…"))
}

// middle shortens a name in its middle: those of a sweep differ at their ends.
func middle(name string, width int) string {
	all := runewidth.StringWidth(name)
	if all <= width {
		return name
	}
	end := (width - 1) / 2
	return runewidth.Truncate(name, width-end, "…") + runewidth.TruncateLeft(name, all-end, "")
}

// bar draws a group: a letter and a colour for each phase, as much of the width as its share.
func (s *screen) bar(g screenGroup, width int) string {
	label := runewidth.FillRight(middle(g.name, 16), 16)
	count := fmt.Sprintf(" %d/%d", g.phase[phaseDone]+g.phase[phaseFailed], g.total)
	var out strings.Builder
	for p, cells := range g.cells(max(int(phases), width-len(count)-18)) {
		out.WriteString(s.style(phaseLook[p].style, strings.Repeat(phaseLook[p].letter, cells)))
	}
	return label + " " + out.String() + count
}

// cells divides the cells of a bar among the phases by their shares; each that there is has one at least, from the widest.
func (g screenGroup) cells(room int) (cells [phases]int) {
	used, seen := 0, 0
	for p, n := range g.phase {
		seen += n
		cells[p] = room*seen/max(g.total, 1) - used
		used += cells[p]
	}
	for p, n := range g.phase {
		if n > 0 && cells[p] == 0 {
			cells[p]++
			cells[slices.Index(cells[:], slices.Max(cells[:]))]--
		}
	}
	return cells
}

// table lists as many jobs as there is room for, a line each, the columns as wide as the screen allows.
func (s *screen) table(width, room int) []string {
	if room <= 0 {
		return nil
	}
	shown := min(len(s.rows), room)
	if shown < len(s.rows) {
		shown = room - 1
	}
	nameWidth := 8
	for _, r := range s.rows[:shown] {
		nameWidth = max(nameWidth, 2*r.depth+runewidth.StringWidth(r.name))
	}
	nameWidth = min(nameWidth, max(8, width/4))
	var lines []string
	for _, r := range s.rows[:shown] {
		look := phaseLook[r.phase]
		name := strings.Repeat("  ", r.depth) + middle(r.name, max(2, nameWidth-2*r.depth))
		state := runewidth.FillRight(r.state, 10)
		rest := strings.Join(slices.DeleteFunc([]string{r.at, r.time, r.note}, func(s string) bool { return s == "" }), "  ")
		head := fmt.Sprintf("%s  %s  ", runewidth.FillRight(r.id, 15), runewidth.FillRight(name, nameWidth))
		if width < 70 { // the id's end tells enough
			head = runewidth.FillRight(name, nameWidth) + "  "
		}
		left := width - runewidth.StringWidth(head) - 12
		lines = append(lines, strings.TrimRight(head+s.style(look.style, state)+"  "+runewidth.Truncate(rest, max(left, 0), "…"), " "))
	}
	if n := len(s.rows) - shown; n > 0 {
		lines = append(lines, runewidth.Truncate(fmt.Sprintf("and %s", counted(n, "more job")), width, "…"))
	}
	return lines
}
