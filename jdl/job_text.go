package jdl

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"gridbroker/jdl/classad"
)

// Text is the job as JDL, one attribute a line. LoadJob reads the same job
// from it, whatever the defaults and the directory are by then. Of a job that no
// description was read for it is empty.
func (j *Job) Text() string {
	if j.Ad == nil {
		return ""
	}
	return prettyAd(j.Ad)
}

func prettyAd(ad *classad.Ad) string {
	var b strings.Builder
	b.WriteString("[\n")
	for _, a := range ad.Attrs() {
		line := classad.Unparse(oneAttr(a))
		b.WriteString("  " + strings.TrimSuffix(strings.TrimPrefix(line, "[ "), " ]") + ";\n")
	}
	b.WriteString("]\n")
	return b.String()
}

func oneAttr(a classad.Attr) *classad.Ad {
	ad := classad.NewAd()
	ad.Put(a)
	return ad
}

// Text is the jobs as JDL: the one job, or a collection or DAG of all.
func (s *JobSet) Text() string {
	if len(s.Jobs) == 1 && s.Kind != DAG && s.Name == "" {
		return s.Jobs[0].Text()
	}
	var b strings.Builder
	kind, deps := "collection", s.dependencyText()
	if s.Kind == DAG {
		kind = "dag"
	}
	fmt.Fprintf(&b, "[\nType = %q;\n", kind)
	if s.Name != "" {
		b.WriteString("JobName = " + Quote(s.Name) + ";\n")
	}
	if s.MaxRunning > 0 {
		fmt.Fprintf(&b, "Max_Nodes_Running = %d;\n", s.MaxRunning)
	}
	var shared *classad.Ad
	if s.Collocated {
		shared = s.shared()
		b.WriteString("NodesCollocation = true;\n")
		for _, a := range shared.Attrs() {
			b.WriteString(a.Name + " = " + classad.Unparse(a.Expr) + ";\n")
		}
	}
	open, end := "{", "}"
	if kind == "dag" {
		open, end = "[", "]"
	}
	b.WriteString("Nodes = " + open + "\n")
	for i, j := range s.Jobs {
		b.WriteString(s.nodeText(i, j, kind, shared != nil))
	}
	b.WriteString(end + ";\n" + deps + "]\n")
	return b.String()
}

// shared is what jobs that go to one resource say of it: their Rank, and the
// clauses of Requirements that all have. Those of one node come from its other
// attributes and are made again when it is read.
func (s *JobSet) shared() *classad.Ad {
	ad := classad.NewAd()
	var common classad.Expr
	for _, c := range classad.Conjuncts(s.Jobs[0].Requirements) {
		text := classad.Unparse(c)
		inAll := !slices.ContainsFunc(s.Jobs, func(j *Job) bool {
			return !slices.ContainsFunc(classad.Conjuncts(j.Requirements), func(d classad.Expr) bool { return classad.Unparse(d) == text })
		})
		if inAll {
			common = classad.And(common, c)
		}
	}
	if common != nil {
		ad.Set("Requirements", common)
	}
	if rank := s.Jobs[0].Rank; rank != nil {
		ad.Set("Rank", rank)
	}
	return ad
}

func (s *JobSet) nodeText(i int, j *Job, kind string, shared bool) string {
	ad := j.Ad.Clone()
	if shared {
		ad.Delete("Requirements")
		ad.Delete("Rank")
	}
	ad.Delete("DependsOn")
	ad.Delete("AbortedBy")
	text := strings.TrimSuffix(prettyAd(ad), "\n")
	if kind == "dag" {
		return quoteName(j.Node) + " = " + text + ";\n"
	}
	if i < len(s.Jobs)-1 {
		text += ","
	}
	return text + "\n"
}

// quoteName writes an attribute's name, in quotes where it needs them.
func quoteName(name string) string { return classad.Unparse(classad.NewAttrRef(name)) }

func (s *JobSet) dependencyText() string {
	var pairs []string
	for _, j := range s.Jobs {
		if j.Final { // it comes after all others by itself
			continue
		}
		for _, before := range j.After {
			pairs = append(pairs, "{"+quoteName(before)+", "+quoteName(j.Node)+"}")
		}
	}
	if pairs == nil {
		return ""
	}
	return "Dependencies = {" + strings.Join(pairs, ", ") + "};\n"
}

// LoadJob reads what Text wrote. Nothing is filled in and no file is looked
// at: the job is what it was, except for Warnings and Dialect.
func LoadJob(text string) (*Job, error) {
	cfg := newJobConfig(nil)
	cfg.stored, cfg.dialect, cfg.dir = true, GLite, "/" // nothing in it is relative to where the program was started
	ad, err := classad.ParseAd("", []byte(text))
	if err != nil {
		return nil, err
	}
	return newJobReader("", text, cfg, ad).read()
}

// rename writes an attribute's name as we do.
func rename(ad *classad.Ad, name string) {
	if e, ok := ad.Expr(name); ok {
		ad.Delete(name)
		ad.Set(name, e)
	}
}

// normalise writes into the record what was filled in, repaired and made
// absolute, so that its text says it all.
func normalise(r *jobReader) {
	j := r.job
	if j.Dialect == DIRAC {
		fromDIRAC(r)
	}
	r.put("JobName", j.Name)
	r.put("Executable", j.Executable)
	r.put("StdOutput", j.StdOutput)
	r.put("StdError", j.StdError)
	r.put("VirtualOrganisation", j.VO)
	r.put("MyProxyServer", j.MyProxyServer)
	r.put("Queue", j.Demand.Queue)
	putInputs(r.ad, j)
	putOutputs(r)
	if len(j.Environment) > 0 {
		env := make([]string, len(j.Environment))
		for i, v := range j.Environment {
			env[i] = v.Name + "=" + v.Value
		}
		r.ad.Set("Environment", stringList(env))
	}
	r.ad.Set("RetryCount", classad.NewLiteral(classad.IntValue(int64(j.RetryCount))))
	r.ad.Set("ShallowRetryCount", classad.NewLiteral(classad.IntValue(int64(j.ShallowRetry))))
	for _, own := range []struct { // by these names the text is searched for them
		name  string
		given bool
	}{{"AbortDAGOn", len(j.AbortOn) > 0}, {"FinalNode", j.Final}, {"AfterAny", j.AfterAny}, {"SkipAlong", j.SkipAlong}, {"NoJob", j.NoJob}} {
		if own.given {
			rename(r.ad, own.name)
		}
	}
	if !j.Expiry.IsZero() {
		r.ad.Set("ExpiryTime", classad.NewLiteral(classad.IntValue(j.Expiry.Unix())))
	}
	if j.Dialect == DIRAC { // names, which are in OutputSandbox now
		r.ad.Delete("OutputData")
	}
	r.ad.Delete("HLRLocation")
	r.ad.Delete("CERequirements")
	r.ad.Set("Requirements", j.Requirements)
	if j.DefaultRank != nil {
		r.ad.Set("DefaultRank", j.DefaultRank)
	}
}

// put sets a string attribute, or removes it when it is empty.
func (r *jobReader) put(name, s string) {
	if s == "" {
		r.ad.Delete(name)
		return
	}
	r.ad.Set(name, classad.NewLiteral(classad.StringValue(s)))
}

// putList sets a list of strings, or removes it when it is empty.
func (r *jobReader) putList(name string, ss []string) {
	putList(r.ad, name, ss)
}

func putList(ad *classad.Ad, name string, ss []string) {
	if len(ss) == 0 {
		ad.Delete(name)
		return
	}
	ad.Set(name, stringList(ss))
}

func stringList(ss []string) *classad.ListExpr {
	l := &classad.ListExpr{}
	for _, s := range ss {
		l.Elems = append(l.Elems, classad.NewLiteral(classad.StringValue(s)))
	}
	return l
}

// putInputs writes the input sandbox. What another node makes is in it once it is known
// where that is to lie.
func putInputs(ad *classad.Ad, j *Job) {
	var sources, names, programs []string
	renamed := false
	for _, f := range j.InputSandbox {
		if f.Executable && f.Name != j.Executable && f.Name != j.Prologue && f.Name != j.Epilogue {
			programs = append(programs, f.Name)
		}
		if f.Source == "" {
			continue
		}
		sources, names = append(sources, f.Source), append(names, f.Name)
		renamed = renamed || f.Name != sourceName(f.Source)
	}
	if !renamed {
		names = nil
	}
	ad.Delete("InputSandboxBaseURI")
	putList(ad, "InputSandbox", sources)
	putList(ad, "InputSandboxDestFileName", names)
	putList(ad, "ExecutableFiles", programs)
	putMade(ad, j.Taken())
}

// fetchedURL stands for "the user fetches it" among destinations.
const fetchedURL = "gsiftp://localhost"

func putOutputs(r *jobReader) {
	var names, urls, backs []string
	sent, renamed := false, false
	for _, f := range r.job.OutputSandbox {
		names, urls, backs = append(names, f.Name), append(urls, fetchedURL), append(backs, f.Back)
		renamed = renamed || f.Back != ""
		if f.DestURL != "" {
			sent, urls[len(urls)-1] = true, f.DestURL
		}
	}
	if !sent {
		urls = nil
	}
	if !renamed {
		backs = nil
	}
	r.ad.Delete("OutputSandboxBaseDestURI")
	r.putList("OutputSandbox", names)
	r.putList("OutputSandboxDestURI", urls)
	r.putList("OutputSandboxDestFileName", backs)
}

// fromDIRAC writes the record in gLite's terms.
func fromDIRAC(r *jobReader) {
	d := r.job.Demand
	for _, a := range r.ad.Clone().Attrs() {
		def := findAttr(a.Name)
		switch {
		case def == nil || def.mode&(isIgnored|gliteOnly) != 0:
			if s, ok := bareText(a.Expr); ok {
				r.ad.Set(a.Name, classad.NewLiteral(classad.StringValue(s)))
			}
		case def.typ == tString:
			r.put(def.name, r.str(a.Name))
		case def.typ == tStrings:
			r.putList(def.name, r.strs(a.Name))
		}
	}
	for _, name := range []string{"Site", "BannedSites", "BannedSite", "GridCE", "GridRequiredCEs", "NumberOfProcessors", "MinNumberOfProcessors",
		"MaxNumberOfProcessors", "Tags", "Tag", "VirtualOrganization", "ExecutionEnvironment", "JobType", "CPUTime", "Rank"} {
		r.ad.Delete(name)
	}
	r.putNumber("CPUTime", int64(d.CPUTime/time.Second), 0)
	r.putNumber("CPUNumber", int64(d.Slots), 1)
	r.putNumber("Memory", d.Memory, 0)
	r.putNumber("GPUNumber", int64(d.GPUs), 0)
	r.putList("RunTimeEnvironment", d.RuntimeEnvironments)
	if d.WholeNodes {
		r.ad.Set("WholeNodes", classad.NewLiteral(classad.BoolValue(true)))
	}
	if in := r.job.InputData; len(in) > 0 {
		r.putList("InputData", in)
		r.ad.Set("DataAccessProtocol", stringList([]string{"any"}))
	}
}

// lfns gives logical names their prefix.
func lfns(names []string) []string {
	var out []string
	for _, s := range names {
		if !isURL(s) {
			s = "lfn:" + path.Clean(s)
		}
		out = append(out, s)
	}
	return out
}

func (r *jobReader) putNumber(name string, n, unset int64) {
	if n == unset {
		r.ad.Delete(name)
		return
	}
	r.ad.Set(name, classad.NewLiteral(classad.IntValue(n)))
}
