package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// choice is one resource that would take a job.
type choice struct {
	job   *jdl.Job
	place int // among those that would, from 1
	rank.Ranked
}

// choicesOf are a job's, best first.
func choicesOf(j *broker.JobPlan) []choice {
	list := make([]choice, len(j.Choices))
	for i, r := range j.Choices {
		list[i] = choice{j.Job, i + 1, r}
	}
	return list
}

// choiceFacets is what may be shown of them. mark says more of a place, behind its name.
func choiceFacets(mark func(glue.Endpoint) string, ranked bool) facets[choice] {
	usual := []string{"place", "resource", "site", "score", "expected", "wait", "stage_in", "run", "success", "free", "waiting", "age"}
	if ranked {
		usual = append(usual, "rank")
	}
	return facets[choice]{
		usual: usual,
		wide: []string{"file", "job", "place", "id", "resource", "site", "score", "expected", "uncertainty", "wait", "stage_in", "run", "success", "free", "waiting",
			"rank", "interface", "endpoint", "age"},
		all: slices.Concat(choiceNames(mark), choiceTimes(), choiceCounts()),
	}
}

func choiceNames(mark func(glue.Endpoint) string) []facet[choice] {
	text := func(name, head string, of func(choice) string) facet[choice] {
		return facet[choice]{name, head, func(_ *deps, c choice) string { return of(c) }, nil, of}
	}
	return []facet[choice]{
		text("file", "FILE", func(c choice) string { return c.job.File }), // tells jobs of one name apart
		text("job", "JOB", func(c choice) string { return jobLabel(c.job) }),
		{"place", ">#", func(_ *deps, c choice) string { return strconv.Itoa(c.place) }, func(x, y choice) int { return cmp.Compare(x.place, y.place) }, nil},
		{"resource", "RESOURCE", func(_ *deps, c choice) string { return label(c.Resource) + mark(c.Endpoint) }, nil,
			func(c choice) string { return label(c.Resource) }},
		text("id", "ID", func(c choice) string { return c.Resource.ID }),
		text("site", "SITE", func(c choice) string { return c.Resource.Site }),
		text("interface", "INTERFACE", func(c choice) string { return c.Endpoint.Interface }),
		text("endpoint", "ENDPOINT", func(c choice) string { return c.Endpoint.URL }),
	}
}

// choiceTimes are in seconds for machines, and nothing where the policy did not look at them.
func choiceTimes() []facet[choice] {
	part := func(name, head string, text func(choice) string, of func(broker.Breakdown, func(time.Duration) string) string) facet[choice] {
		exact := func(c choice) string { return undashed(of(broker.Parts(c.Ranked), exactSeconds)) }
		return facet[choice]{name, head, func(_ *deps, c choice) string { return text(c) }, byValue(exact), exact}
	}
	spanned := func(of func(broker.Breakdown, func(time.Duration) string) string) func(choice) string {
		return func(c choice) string { return of(broker.Parts(c.Ranked), span) }
	}
	wait, stageIn := broker.Breakdown.Wait, broker.Breakdown.StageIn
	total := func(b broker.Breakdown, text func(time.Duration) string) string {
		s, known := b.Seconds()
		if !known {
			return ""
		}
		return text(time.Duration(s * float64(time.Second)))
	}
	age := func(c choice) string { return exactSeconds(c.Age) }
	uncertainty := func(c choice) string { return strconv.FormatFloat(c.Uncertainty, 'f', -1, 64) }
	return []facet[choice]{
		part("expected", ">EXPECTED", func(c choice) string { return broker.Parts(c.Ranked).Expected(span) }, total),
		{"uncertainty", ">UNCERTAINTY", func(_ *deps, c choice) string { return span(time.Duration(c.Uncertainty * float64(time.Second))) }, byValue(uncertainty), uncertainty},
		part("wait", ">WAIT", spanned(wait), wait),
		part("stage_in", ">STAGE-IN", spanned(stageIn), stageIn),
		part("run", ">RUN", func(c choice) string { return runText(c.job, c.Ranked) }, broker.Breakdown.Run),
		{"age", ">AGE", func(_ *deps, c choice) string { return span(c.Age) }, byValue(age), age},
	}
}

func choiceCounts() []facet[choice] {
	count := func(name, head string, of func(*glue.Resource) glue.Opt[int64]) facet[choice] {
		return facet[choice]{name, head, func(_ *deps, c choice) string { return published(of(c.Resource)) },
			func(x, y choice) int { return byNumber(of(x.Resource), of(y.Resource)) }, func(c choice) string { return exactly(of(c.Resource)) }}
	}
	score := func(c choice) string { return strconv.FormatFloat(c.Score, 'g', -1, 64) }
	chance := func(c choice) string {
		if p, known := broker.Parts(c.Ranked).Chance(); known {
			return strconv.FormatFloat(p, 'g', -1, 64)
		}
		return ""
	}
	jdlRank := func(c choice) string {
		if c.job.Rank == nil {
			return ""
		}
		return broker.ValueText(c.JDLRank)
	}
	return []facet[choice]{
		{"score", ">SCORE", func(_ *deps, c choice) string { return fmt.Sprintf("%.5g", c.Score) }, byValue(score), score},
		{"success", ">SUCCESS", func(_ *deps, c choice) string { return broker.Parts(c.Ranked).Success() }, byValue(chance), chance},
		count("free", ">FREE", func(r *glue.Resource) glue.Opt[int64] { return r.FreeSlots }),
		count("waiting", ">WAITING", func(r *glue.Resource) glue.Opt[int64] { return r.Waiting }),
		{"rank", ">RANK", func(_ *deps, c choice) string { return jdlRank(c) }, byValue(jdlRank), jdlRank},
	}
}

// byValue orders by what a text says as a number; what says none comes before all.
func byValue(text func(choice) string) func(x, y choice) int {
	return func(x, y choice) int {
		a, noA := strconv.ParseFloat(text(x), 64)
		b, noB := strconv.ParseFloat(text(y), 64)
		switch {
		case noA != nil && noB != nil:
			return 0
		case noA != nil:
			return -1
		case noB != nil:
			return 1
		}
		return cmp.Compare(a, b)
	}
}

func exactSeconds(t time.Duration) string { return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) }

// undashed is nothing where people are shown a dash.
func undashed(text string) string {
	if text == "-" {
		return ""
	}
	return text
}

// checkView tells whether the flags mean something together.
func (f *matchOptions) checkView(d *deps) error {
	switch {
	case f.view.output == "csv" && (f.explain || f.terms || f.relax):
		return usageError(errors.New("-o csv is of the resources that match: --explain, --terms and --relax are text, or JSON"))
	case f.view.sort != "" && (d.json || f.view.output == "json"):
		return usageError(errors.New("--sort is for tables and CSV: the JSON has all choices in their order"))
	}
	return choiceFacets(f.mark, true).check(f.view, "resources")
}

// choicesCSV prints what all jobs may choose from as one list. Why a job has no choice is said on standard error.
func choicesCSV(d *deps, p *broker.Plan, f matchOptions) error {
	k, v := choiceFacets(f.mark, true), f.view
	if !f.limited {
		v.limit = 0
	}
	cols, err := k.chosen(v)
	if err != nil {
		return err
	}
	var all []choice
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if j.Err != nil {
			sayErr(d, "%v", j.Err)
		}
		list, err := k.ordered(d, v, choicesOf(j))
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	sayAssumed(d, p)
	reportServices(d, p)
	return printCSV(d, all, cols)
}

// choicesTable is the table of those that match, best first where no other order is asked for.
func choicesTable(d *deps, j *broker.JobPlan, f matchOptions) error {
	k := choiceFacets(f.mark, j.Job.Rank != nil)
	list, err := k.ordered(d, f.view, choicesOf(j))
	if err != nil {
		return err
	}
	if err := showTable(d, k, f.view, list, "AGE", "STAGE-IN", "SUCCESS", "SCORE", "WAITING", "RUN", "SITE", "FREE"); err != nil {
		return err
	}
	if n := len(j.Choices) - len(list); n > 0 {
		sayOut(d, "and %d more (--limit 0 shows all)", n)
	}
	return nil
}
