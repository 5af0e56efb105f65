package broker

import (
	"fmt"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// EnvironmentLine tells where a runtime environment is that a job asks for, over all published resources.
type EnvironmentLine struct {
	Wish      string  `json:"wish"`      // a tag, or a name with a bound on its version
	Attribute string  `json:"attribute"` // that asks for it: RunTimeEnvironment, Requirements; empty: another one's meaning
	Clause    *Clause `json:"clause,omitempty"`
	Cached    Places  `json:"cached"`     // unpacked there: a job starts at once
	Deploys   Places  `json:"deployable"` // deployed there when a job asks
	Installed Places  `json:"installed"`  // software that is there
	// Deploy is how long a deployment is taken to last, as the ranking counts it.
	Deploy time.Duration `json:"deploy"`
}

// Places is a number of queues, each counted once whatever views of it VOs have, and the names of the first of them.
type Places struct {
	Count int      `json:"count"`
	Names []string `json:"names"`
}

// maxPlaces bounds the names that are listed.
const maxPlaces = 5

func (p *Places) add(name string) {
	if p.Count++; len(p.Names) < maxPlaces {
		p.Names = append(p.Names, name)
	}
}

// String is the places for people.
func (p Places) String() string {
	if p.Count > len(p.Names) {
		return fmt.Sprintf("%s and %d more", strings.Join(p.Names, ", "), p.Count-len(p.Names))
	}
	return strings.Join(p.Names, ", ")
}

// at is the attribute that asks for it, and where it stands.
func (l *EnvironmentLine) at() string {
	if l.Attribute == "" {
		return ""
	}
	if l.Clause == nil || l.Clause.Line == 0 {
		return " (" + l.Attribute + ")"
	}
	return fmt.Sprintf(" (%s, %s)", l.Attribute, l.Clause.at())
}

// String says it as one line.
func (l EnvironmentLine) String() string {
	var where []string
	if l.Cached.Count > 0 {
		where = append(where, fmt.Sprintf("cached at %s", l.Cached))
	}
	if l.Deploys.Count > 0 {
		where = append(where, fmt.Sprintf("deployed when asked for at %s, in about %v", l.Deploys, l.Deploy))
	}
	if l.Installed.Count > 0 {
		where = append(where, fmt.Sprintf("installed at %s", l.Installed))
	}
	switch {
	case len(where) == 0 && strings.EqualFold(l.Wish, jdl.UserImageTag):
		where = []string{"no site that was seen takes images that jobs bring"}
	case len(where) == 0:
		where = []string{"published nowhere"}
	}
	return l.Wish + l.at() + ": " + strings.Join(where, "; ")
}

// environmentLines tells of each runtime environment that the job asks for where it is, where it could be deployed, and how
// long that is taken to last.
func environmentLines(m *Match) []EnvironmentLine {
	lines := make([]EnvironmentLine, 0, len(m.Job.Demand.RuntimeEnvironments))
	for _, wish := range m.Job.Demand.RuntimeEnvironments {
		l := newEnvironmentLine(m.Job, wish, m.deploy)
		named := map[string]bool{}
		for _, r := range m.Resources {
			named[r.Name] = named[r.Name] || l.place(r)
		}
		lines = append(lines, l)
	}
	return lines
}

// EnvironmentsAt is a sentence for each runtime environment of a job: which clause asks for it, and how the chosen
// resource gives it.
func EnvironmentsAt(job *jdl.Job, choice *rank.Ranked) []string {
	var deploy time.Duration
	for _, t := range choice.Terms {
		if t.Name == rank.TermEnvironment && t.Raw > 0 {
			deploy = time.Duration(t.Seconds / t.Raw * float64(time.Second))
		}
	}
	var out []string
	for _, wish := range job.Demand.RuntimeEnvironments {
		l := newEnvironmentLine(job, wish, deploy)
		tag, ok := jdl.ParseEnvironmentWish(wish).Best(choice.Resource.RuntimeEnvironments)
		if !ok {
			continue
		}
		how := "is installed there"
		switch d := choice.Resource.Deployment(tag); {
		case d == glue.Cached:
			how = "was cached there already"
		case d == glue.Deployable && deploy > 0:
			how = fmt.Sprintf("is deployed there when the job comes, in about %v", deploy.Round(time.Second))
		case d == glue.Deployable:
			how = "is deployed there when the job comes"
		}
		out = append(out, fmt.Sprintf("%s%s %s", tag, l.at(), how))
	}
	return out
}

func newEnvironmentLine(job *jdl.Job, wish string, deploy time.Duration) EnvironmentLine {
	l := EnvironmentLine{Wish: wish, Deploy: deploy,
		Cached: Places{Names: []string{}}, Deploys: Places{Names: []string{}}, Installed: Places{Names: []string{}}}
	attribute, e := job.EnvironmentClause(wish)
	if l.Attribute = attribute; e != nil {
		c := newClause(e)
		l.Clause = &c
	}
	return l
}

// place notes the queue of a resource that has the environment, and says whether it has.
func (l *EnvironmentLine) place(r *glue.Resource) bool {
	tag, ok := jdl.ParseEnvironmentWish(l.Wish).Best(r.RuntimeEnvironments)
	if !ok {
		return false
	}
	switch r.Deployment(tag) {
	case glue.Cached:
		l.Cached.add(r.Name)
	case glue.Deployable:
		l.Deploys.add(r.Name)
	default:
		l.Installed.add(r.Name)
	}
	return true
}
