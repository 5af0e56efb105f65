package batch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	m3 "gridbroker/batch/maui"
	"gridbroker/testdata/testbed"
)

// recordings is the file of decisions recorded from a real Maui 3.3.1.
type recordings struct {
	Maui   json.RawMessage // of which version they are
	Poll   float64         `json:"poll_seconds"`
	Base   []string        `json:"base_config"`
	Scenes []recording     `json:"scenes"`
}

type recording struct {
	Name, What   string
	Config       []string
	Nodes        ordered
	Jobs         ordered
	Actions      []recorded
	Answers      map[string]json.RawMessage
	Reservations []struct {
		Job, Kind string
		Starts    float64 `json:"starts_in"`
		Ends      float64 `json:"ends_in"`
		Parts     string  `json:"nodes_procs"`
	} `json:"reservations_at_end"`
	States json.RawMessage `json:"states_at_end"`
	Alive  json.RawMessage `json:"maui_alive"`
}

type recorded struct {
	T         float64
	Verb, Job string
	TaskList  []string
	Rest      string
}

// ordered is a JSON object whose order counts.
type ordered struct {
	names  []string
	fields map[string]map[string]any
}

func (o *ordered) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.Token()
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		o.names = append(o.names, name.(string))
		var skip map[string]any
		if err := d.Decode(&skip); err != nil {
			return err
		}
	}
	return json.Unmarshal(b, &o.fields)
}

// mauiBase is the moment of the first poll.
const mauiBase = 1795302724

// stage is a resource manager with a Maui of ours before it.
type stage struct {
	scene *recording
	s     *m3.Scheduler
	nodes []m3.Node
	jobs  []*actor
	got   []string
	want  []string
}

// actor is a job on the stage.
type actor struct {
	m3.Job
	at, run, begun float64
	runs, gone     bool
}

// TestMauiScenes compares with the decisions of a real Maui: every scene and
// every simulated run that lies under wiki/ of the directory of test data.
func TestMauiScenes(t *testing.T) {
	testbed.Computes(t)
	dir := filepath.Join(filepath.Dir(traces(t)), "wiki")
	files, _ := filepath.Glob(filepath.Join(dir, "*scenes*.json"))
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*scenes*.json"))
	all, equal, documented := 0, 0, []string(nil)
	for _, file := range append(files, more...) {
		var list recordings
		readJSON(t, file, &list)
		for i := range list.Scenes {
			sc := &list.Scenes[i]
			if slices.ContainsFunc(sc.Config, func(l string) bool { return strings.Contains(l, "GREEDY") }) {
				documented = append(documented, sc.Name)
				continue
			}
			all++
			if diff := sc.play(t, list.Base); diff != "" {
				t.Errorf("scene %s: %s", sc.Name, diff)
				continue
			}
			equal++
		}
	}
	t.Logf("%d of %d scenes; by the documentation of GREEDY, which starts nothing in reality: %s", equal, all, strings.Join(documented, ", "))
	fmt.Printf("%d of %d scenes\n", equal, all)
	mauiRuns(t, dir)
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // what is not known here may bear on a decision
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// play runs a scene and tells what differs.
func (sc *recording) play(t *testing.T, base []string) string {
	t.Helper()
	st, err := sc.stage(base)
	if err != nil {
		return err.Error()
	}
	polls := sc.polls()
	for i, at := range polls {
		until := math.Inf(1)
		if i+1 < len(polls) {
			until = polls[i+1]
		}
		st.poll(at, until)
	}
	if !slices.Equal(st.got, st.want) {
		return fmt.Sprintf("\n  ours   %s\n  Maui's %s", strings.Join(st.got, "; "), strings.Join(st.want, "; "))
	}
	return st.kept(polls[len(polls)-1])
}

// stage sets a scene. What it says and is not known here, a parameter, an
// attribute or a command, is an error: it may bear on a decision.
func (sc *recording) stage(base []string) (*stage, error) {
	c, warnings, err := m3.ReadConfig(strings.NewReader(strings.Join(append(slices.Clone(base), sc.Config...), "\n")))
	if err != nil {
		return nil, err
	}
	if len(warnings) > 0 {
		return nil, fmt.Errorf("configuration: %v", warnings)
	}
	st := &stage{scene: sc, s: m3.New(c)}
	for _, name := range sc.Nodes.names {
		n, err := mauiNode(name, sc.Nodes.fields[name])
		if err != nil {
			return nil, err
		}
		st.nodes = append(st.nodes, n)
	}
	for _, name := range sc.Jobs.names {
		j, err := mauiActor(name, sc.Jobs.fields[name])
		if err != nil {
			return nil, err
		}
		st.jobs = append(st.jobs, j)
	}
	for key := range sc.Answers {
		if !asking.MatchString(key) && !setspri.MatchString(key) {
			return nil, fmt.Errorf("command %q is not known here", key)
		}
	}
	for _, a := range sc.Actions {
		if !slices.Contains([]string{"STARTJOB", "CANCELJOB", "SUSPENDJOB", "RESUMEJOB", "END"}, a.Verb) {
			return nil, fmt.Errorf("action %q is not known here", a.Verb)
		}
	}
	return st, nil
}

// asking are the commands that only ask.
var asking = regexp.MustCompile(`^(\+[\d.]+ )?(showq|showres|showstart|showbf|showstate|showstats|showconfig|checkjob|checknode|diagnose)\b`)

// kept compares the reservations of waiting jobs at the end.
func (st *stage) kept(last float64) string {
	var got, want []string
	for _, r := range st.s.Reservations() {
		got = append(got, r.Job+" "+parts(r.TaskList))
	}
	for _, r := range st.scene.Reservations {
		if r.Kind == "idle" {
			want = append(want, r.Job+" "+r.Parts)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) && len(st.scene.Reservations) > 0 {
		return fmt.Sprintf("reservations at %.1f s\n  ours   %v\n  Maui's %v", last, got, want)
	}
	return ""
}

// parts writes nodes/tasks.
func parts(list []string) string {
	nodes := map[string]bool{}
	for _, n := range list {
		nodes[n] = true
	}
	return fmt.Sprintf("%d/%d", len(nodes), len(list))
}

// polls are the times of Maui's iterations: those of its actions, and about
// three seconds apart between them.
func (sc *recording) polls() []float64 {
	const step = 2.95
	times := []float64{0}
	for _, a := range sc.Actions {
		for last := times[len(times)-1]; a.T-last > 1.5*step; last = times[len(times)-1] {
			times = append(times, last+step)
		}
		if a.T-times[len(times)-1] > 0.5*step {
			times = append(times, a.T)
		}
	}
	for times[len(times)-1] < 8 {
		times = append(times, times[len(times)-1]+step)
	}
	return times
}

// poll is one iteration; recorded actions before until belong to it.
func (st *stage) poll(at, until float64) {
	due := func(a recorded) bool { return a.T > at-0.7 && a.T < until-0.7 }
	for _, a := range st.scene.Actions {
		if due(a) && a.Verb != "END" {
			st.want = append(st.want, line(at, a.Verb, a.Job, a.TaskList, a.Rest))
		}
	}
	st.end(at, due)
	st.priorities(at)
	now := int64(mauiBase + math.Round(at))
	for _, a := range st.s.Iterate(now, st.listNodes(), st.listJobs(at)) {
		rest := ""
		if a.Type != "" {
			rest = "TYPE=" + a.Type
		}
		st.got = append(st.got, line(at, a.Verb, a.Job, a.TaskList, rest))
		st.act(a, at, now)
	}
}

func line(at float64, verb, job string, list []string, rest string) string {
	return strings.TrimSpace(fmt.Sprintf("%.0fs %s %s %s %s", at, verb, job, strings.Join(list, ":"), rest))
}

// end ends jobs: when they did in reality, or after their run time.
func (st *stage) end(at float64, due func(recorded) bool) {
	for _, j := range st.jobs {
		i := slices.IndexFunc(st.scene.Actions, func(a recorded) bool { return a.Verb == "END" && a.Job == j.ID })
		switch {
		case !j.runs || j.State != m3.JobRunning:
		case i >= 0:
			j.gone = j.gone || due(st.scene.Actions[i]) || st.scene.Actions[i].T < at
		case j.run > 0 && at >= j.begun+j.run:
			j.gone = true
		}
	}
}

var setspri = regexp.MustCompile(`^\+([\d.]+) setspri (-r )?(\d+) (\S+)$`)

// priorities are those that an administrator set.
func (st *stage) priorities(at float64) {
	for _, key := range slices.Sorted(maps.Keys(st.scene.Answers)) {
		m := setspri.FindStringSubmatch(key)
		if m == nil {
			continue
		}
		when, _ := strconv.ParseFloat(m[1], 64)
		value, _ := strconv.ParseInt(m[3], 10, 64)
		if m[2] != "" {
			value += 2e9
		}
		for _, j := range st.jobs {
			if j.ID == m[4] && when <= at {
				j.SystemPriority = value
			}
		}
	}
}

// act does what Maui says.
func (st *stage) act(a m3.Action, at float64, now int64) {
	for _, j := range st.jobs {
		if j.ID != a.Job {
			continue
		}
		switch a.Verb {
		case "STARTJOB":
			j.runs, j.begun, j.State, j.Started, j.TaskList = true, at, m3.JobRunning, now, a.TaskList
		case "CANCELJOB":
			j.gone = true
		case "SUSPENDJOB":
			j.State = m3.JobSuspended
		case "RESUMEJOB":
			j.State = m3.JobRunning
		}
	}
}

// listNodes is GETNODES.
func (st *stage) listNodes() []m3.Node {
	used := map[string]int64{}
	for _, j := range st.jobs {
		if !j.gone && j.State == m3.JobRunning {
			for _, n := range j.TaskList {
				used[n] += max(1, j.TaskProcs)
			}
		}
	}
	list := slices.Clone(st.nodes)
	for i := range list {
		n := &list[i]
		if n.State == m3.NodeIdle && used[n.Name] > 0 {
			if n.State = m3.NodeRunning; used[n.Name] >= n.Procs {
				n.State = m3.NodeBusy
			}
		}
	}
	return list
}

// listJobs is GETJOBS.
func (st *stage) listJobs(at float64) (list []m3.Job) {
	for _, j := range st.jobs {
		if !j.gone && j.at <= at {
			list = append(list, j.Job)
		}
	}
	return list
}

// unheeded are attributes that a real Maui takes no notice of, or that say again
// what others say.
var unheeded = []string{
	"UPDATETIME", "MAXTASK", "CURRENTTASK", "ACLASS", "AMEMORY", "ADISK", "ASWAP",
	"PRIORITY", "REJCODE", "REJCOUNT", "REJMESSAGE", "COMMENT", "SUSPENDTIME", "GEOMETRY", "REQRSV", "EXEC", "ARGS", "IWD",
}

func mauiNode(name string, f map[string]any) (m3.Node, error) {
	n := m3.Node{Name: name, Memory: 1024, Disk: 1000, Swap: 2048}
	numbers := map[string]*int64{"procs": &n.Procs, "CPROC": &n.Procs, "CMEMORY": &n.Memory, "CDISK": &n.Disk, "CSWAP": &n.Swap}
	texts := map[string]*string{"PARTITION": &n.Partition, "OS": &n.OS, "ARCH": &n.Arch}
	floats := map[string]*float64{"SPEED": &n.Speed, "CPULOAD": &n.Load}
	for key, v := range f {
		text := fmt.Sprint(v)
		switch {
		case numbers[key] != nil:
			*numbers[key] = number(v)
		case texts[key] != nil:
			*texts[key] = text
		case floats[key] != nil:
			*floats[key], _ = strconv.ParseFloat(text, 64)
		case key == "CCLASS":
			n.Classes = m3.Classes(text)
		case key == "FEATURE" || key == "FEATURES":
			n.Features = strings.Split(text, ":")
		case key == "STATE":
			n.State = m3.ParseNodeState(text)
		case key == "APROC":
			if number(v) == 0 {
				n.State = m3.NodeBusy
			}
		case !slices.Contains(unheeded, key):
			return n, fmt.Errorf("node %s: attribute %s is not known here", name, key)
		}
	}
	return n, nil
}

func number(v any) int64 {
	f, ok := v.(float64)
	if !ok {
		f, _ = strconv.ParseFloat(fmt.Sprint(v), 64)
	}
	return int64(f)
}

func mauiActor(name string, f map[string]any) (*actor, error) {
	j := &actor{}
	j.ID, j.User, j.Group, j.Tasks = name, "root", "root", 1
	for key, v := range f {
		switch key {
		case "at":
			j.at = v.(float64)
			j.Queued = mauiBase + int64(j.at)
		case "run":
			j.run = v.(float64)
		case "started":
			j.runs, j.begun = true, v.(float64)
			j.State, j.Started = m3.JobRunning, mauiBase+int64(j.begun)
		case "nodes":
			for _, n := range v.([]any) {
				j.TaskList = append(j.TaskList, n.(string))
			}
		case "STARTDATE":
			if text, plus := strings.CutPrefix(fmt.Sprint(v), "+"); plus {
				j.Begin = mauiBase + number(text)
			} else {
				j.Begin = number(v)
			}
		case "STATE":
			if v != "Idle" {
				j.State = m3.JobHeld
			}
		default:
			if !m3.SetField(&j.Job, key, text(v)) && !slices.Contains(unheeded, key) {
				return nil, fmt.Errorf("job %s: attribute %s=%v is not known here", name, key, v)
			}
		}
	}
	return j, nil
}

func text(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
