package cli

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/rank"
)

func published(n glue.Opt[int64]) string {
	if !n.OK {
		return "-"
	}
	return strconv.FormatInt(n.V, 10)
}

// explanation prints why resources match or do not; at most limit rejected
// ones where it is above 0.
func explanation(d *deps, x *broker.Explanation, limit int) error {
	for _, part := range []func(*deps, *broker.Explanation) error{judged, filterTable, clauseTable, environmentLines, nearestMisses, unpublished} {
		if err := part(d, x); err != nil {
			return err
		}
	}
	return rejectedTable(d, x, limit)
}

func heading(d *deps, text string) { sayOut(d, "\n%s", styled(d, bold, text)) }

// judged says as whom the user was compared with access rules; of a stranger
// only where that mattered.
func judged(d *deps, x *broker.Explanation) error {
	hint := ""
	if x.As.VO == "" && len(x.As.FQANs) == 0 {
		if !slices.ContainsFunc(x.Rejected, func(r broker.RejectedLine) bool { return r.Reason.Filter == broker.ByAccess }) {
			return nil
		}
		hint = "; name a VO with --vo or VirtualOrganisation, or get a proxy: grid auth proxy --voms VO"
	}
	err := sayOut(d, "\nAccess is judged as for %s%s.", x.As, hint)
	return err
}

func filterTable(d *deps, x *broker.Explanation) error {
	if x.Resources == 0 {
		sayOut(d, "no source published any resource")
		return nil
	}
	heading(d, "Filters, in order")
	rows := [][]string{{"published", "", strconv.Itoa(x.Resources)}}
	for _, f := range x.Filters {
		if f.Rejected > 0 {
			rows = append(rows, []string{string(f.Name), strconv.Itoa(f.Rejected), strconv.Itoa(f.Left)})
		}
	}
	rows = append(rows, []string{"matching", "", strconv.Itoa(x.Matching)})
	return table(d, columns("FILTER", ">REJECTS", ">LEFT"), rows)
}

func clauseTable(d *deps, x *broker.Explanation) error {
	if len(x.Clauses) == 0 || x.Resources == 0 {
		return nil
	}
	heading(d, "Clauses of Requirements, each over all resources")
	var rows [][]string
	for _, c := range x.Clauses {
		at := "default"
		if c.Line > 0 {
			at = fmt.Sprintf("%d:%d", c.Line, c.Col)
		}
		rows = append(rows, []string{at, cut(c.Text, 70), strconv.Itoa(c.True), strconv.Itoa(c.False), strconv.Itoa(c.Undefined), strconv.Itoa(c.Error), strconv.Itoa(c.Left)})
	}
	return table(d, columns("LINE", "CLAUSE", ">TRUE", ">FALSE", ">UNDEFINED", ">ERROR", ">LEFT"), rows)
}

// cut shortens text that would make a table too wide.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

// environmentLines tell where the runtime environments are that the job asks for.
func environmentLines(d *deps, x *broker.Explanation) error {
	for i, l := range x.Environments {
		if i == 0 {
			heading(d, "Runtime environments the job asks for")
		}
		sayOut(d, "  %s", l.String())
	}
	return nil
}

func nearestMisses(d *deps, x *broker.Explanation) error {
	if len(x.Nearest) == 0 {
		return nil
	}
	heading(d, "What more would match")
	for _, m := range x.Nearest {
		sayOut(d, "  %s", fmt.Sprint(m))
	}
	return nil
}

func unpublished(d *deps, x *broker.Explanation) error {
	if x.Resources == 0 {
		return nil
	}
	for i, u := range x.Unpublished {
		if i == 0 {
			heading(d, "Attributes that no resource publishes")
		}
		switch {
		case u.Meant != "":
			sayOut(d, "  %s: no GLUE attribute; did you mean %s?", u.Name, u.Meant)
		case u.Unknown:
			sayOut(d, "  %s: no GLUE attribute", u.Name)
		default:
			sayOut(d, "  %s", u.Name)
		}
	}
	return nil
}

// rejectedTable lists the resources that do not match, the nearest first, those
// with the same reason in one line.
func rejectedTable(d *deps, x *broker.Explanation, limit int) error {
	if len(x.Rejected) == 0 {
		return nil
	}
	heading(d, "Rejected, the nearest first")
	var rows [][]string
	for at := 0; at < len(x.Rejected); {
		if limit > 0 && len(rows) == limit {
			defer sayOut(d, "and %d more resources (--explain --limit 0 shows all)", len(x.Rejected)-at)
			break
		}
		n := alike(x.Rejected[at:])
		rows = append(rows, rejectedRow(&x.Rejected[at], n))
		at += n
	}
	if err := table(d, spare(columns("RESOURCE", "SITE", ">MISSES", "FILTER", "LASTS", "WANT", "HAVE"), "LASTS", "SITE", "MISSES"), rows); err != nil {
		return err
	}
	return tellOfBan(d, x)
}

// tellOfBan says what lifts the ban of the nearest resource that has one, or its pin.
func tellOfBan(d *deps, x *broker.Explanation) error {
	for _, r := range x.Rejected {
		switch r.Reason.Have.Kind {
		case broker.BannedUntil:
			return sayOut(d, "grid health clear %s lifts the ban", r.ID)
		case broker.PinnedDown:
			return sayOut(d, "grid health unpin %s lets it have jobs again", r.ID)
		}
	}
	return nil
}

// alike is how many resources from the first on have the same reason.
func alike(rs []broker.RejectedLine) int {
	n := 1
	for n < len(rs) && rs[n].Obstacles == rs[0].Obstacles && rs[n].Reason.Filter == rs[0].Reason.Filter &&
		rs[n].Reason.Want.Compare(rs[0].Reason.Want) == 0 && rs[n].Reason.Have.Compare(rs[0].Reason.Have) == 0 {
		n++
	}
	return n
}

// rejectedRow is one line for n resources, of which r is the first.
func rejectedRow(r *broker.RejectedLine, n int) []string {
	lasting := "always"
	if r.Reason.Temporary {
		lasting = "for now"
	}
	want := cut(r.Reason.Want.String(), 60)
	if c := r.Reason.Clause; c != nil && c.Line > 0 {
		want = fmt.Sprintf("%s (%d:%d)", want, c.Line, c.Col)
	}
	name, misses := viewed(r.Name, r.ViewOf), "-"
	if n > 1 {
		name += fmt.Sprintf(" and %d more", n-1)
	}
	if r.Obstacles > 0 {
		misses = strconv.Itoa(r.Obstacles)
	}
	return []string{name, r.Site, misses, string(r.Reason.Filter), lasting, want, cut(r.Reason.Have.String(), 70)}
}

// relaxations prints what small changes of the job would open.
func relaxations(d *deps, rs []broker.Relaxation) {
	heading(d, "What small changes of the job would open")
	for _, r := range rs {
		sayOut(d, "  %s", fmt.Sprint(r))
	}
	if len(rs) == 0 {
		sayOut(d, "  no change of one or two things opens more")
	}
}

// choiceDocument is one choice in the JSON of match and of submit --dry-run.
type choiceDocument struct {
	Place       int           `json:"place"`
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Site        string        `json:"site"`
	Interface   string        `json:"interface"`
	Endpoint    string        `json:"endpoint"`
	Score       float64       `json:"score"`
	Uncertainty float64       `json:"uncertainty"`
	Rank        string        `json:"rank,omitempty"`
	Age         time.Duration `json:"age"`
	Terms       []rank.Term   `json:"terms"`
	ShownOnly   bool          `json:"shown_only,omitempty"` // no job can be sent there
}

type jobDocument struct {
	Job         string              `json:"job"`
	File        string              `json:"file"`
	Node        string              `json:"node,omitempty"`
	Matching    int                 `json:"matching"`
	Choices     []choiceDocument    `json:"choices"`
	Explanation *broker.Explanation `json:"explanation,omitempty"`
	Relaxations []broker.Relaxation `json:"relaxations,omitempty"` // with --relax
}

type planDocument struct {
	Policy   string           `json:"policy"`
	Seed     uint64           `json:"seed"`
	Made     time.Time        `json:"made"`
	Jobs     []jobDocument    `json:"jobs"`
	Sources  []sourceDocument `json:"sources"`
	Services []broker.Outcome `json:"services"`
}

type sourceDocument struct {
	Source    string    `json:"source"`
	Resources int       `json:"resources"`
	Fetched   time.Time `json:"fetched,omitzero"`
	Stale     bool      `json:"stale"`
	Error     string    `json:"error,omitempty"`
}

// unmatchedDocuments are the jobs of a plan that nothing takes, and why.
func unmatchedDocuments(p *broker.Plan) []jobDocument {
	var out []jobDocument
	for _, j := range p.Jobs {
		if j.Err != nil {
			out = append(out, jobDocument{Job: j.Job.Name, File: j.Job.File, Node: j.Job.Node, Explanation: j.Explain()})
		}
	}
	return out
}

// matchDocument is the plan for machines; the explanation is there when it
// was asked for, and wherever nothing matches.
// relax works out what changes would open; nil: nobody asked.
func matchDocument(p *broker.Plan, snap infosys.Snapshot, explain bool, relax func(*broker.JobPlan) []broker.Relaxation) planDocument {
	doc := planDocument{Policy: p.Policy, Seed: p.Seed, Made: p.Made, Services: append([]broker.Outcome{}, p.Services...), Jobs: []jobDocument{}, Sources: []sourceDocument{}}
	for _, o := range snap.Outcomes {
		d := sourceDocument{Source: o.Source, Resources: o.Resources, Fetched: o.Fetched, Stale: o.Stale}
		if o.Err != nil {
			d.Error = o.Err.Error()
		}
		doc.Sources = append(doc.Sources, d)
	}
	for _, j := range p.Jobs {
		d := jobDocument{Job: j.Job.Name, File: j.Job.File, Node: j.Job.Node, Matching: j.Match.Matching(), Choices: []choiceDocument{}}
		for i, r := range j.Choices {
			c := choiceDocument{Place: i + 1, ID: r.Resource.ID, Name: r.Resource.Name, Site: r.Resource.Site, Interface: r.Endpoint.Interface,
				Endpoint: r.Endpoint.URL, Score: r.Score, Uncertainty: r.Uncertainty, Age: r.Age, Terms: r.Terms}
			if j.Job.Rank != nil {
				c.Rank = broker.ValueText(r.JDLRank)
			}
			d.Choices = append(d.Choices, c)
		}
		if explain || j.Err != nil {
			d.Explanation = j.Explain()
		}
		if relax != nil {
			d.Relaxations = relax(&j)
		}
		doc.Jobs = append(doc.Jobs, d)
	}
	return doc
}

// mark marks the choices that are only shown.
func (doc *planDocument) mark(readOnly func(iface string) bool) {
	for _, j := range doc.Jobs {
		for i := range j.Choices {
			j.Choices[i].ShownOnly = readOnly(j.Choices[i].Interface)
		}
	}
}
