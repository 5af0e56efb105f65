package plan

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the expected results of the scenes anew")

// scene is a small grid in a text file, and what the planners make of it:
//
//	cluster NAME tmin=60 tmax=600 [speed=2] [formula=...] [drained] [stale] [turn] [guest=SECONDS]
//	user NAME budget [used]
//	slot CLUSTER/NODE FROM TO cpus=N [priority=P] [chance=95] [memory=MB]
//	job NAME USER priority=P procs=N wall=S [nodes=N] [at=CLUSTER] [bypassed=N] [memory=MB]
//	rules horizon=S bypass=N
//	plan pairwise|lookahead
//	----
//	what is expected
type scene struct {
	rules    Rules
	clusters map[string]uint16
	nodes    map[string]int32
	users    map[string]int32
	names    []string // of jobs
	jobs     []Job
	slots    []Slot
	where    []string // of slots
}

func TestScenes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenes", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out := play(t, string(text))
			if *update {
				os.WriteFile(file, []byte(out), 0o644)
			} else if out != string(text) {
				t.Errorf("got:\n%s", out)
			}
		})
	}
}

// play runs a file and returns it with the results in their places.
func play(t *testing.T, text string) string {
	s := &scene{clusters: map[string]uint16{}, nodes: map[string]int32{}, users: map[string]int32{}}
	s.rules = Rules{Epoch: time.Unix(1_800_000_000, 0), Horizon: 7200, MaxBypass: 0}
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		fmt.Fprintln(&out, line)
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if f[0] != "plan" {
			s.read(t, f)
			continue
		}
		for lines.Scan() && lines.Text() != "" { // the old result
		}
		fmt.Fprintf(&out, "----\n%s\n", s.plan(f[1]))
	}
	return out.String()
}

func (s *scene) read(t *testing.T, f []string) {
	opt := map[string]string{}
	for _, w := range f {
		k, v, _ := strings.Cut(w, "=")
		opt[k] = v
	}
	num := func(name string, def int) int32 {
		n := def
		if opt[name] != "" {
			n, _ = strconv.Atoi(opt[name])
		}
		return int32(n)
	}
	has := func(name string) bool { _, ok := opt[name]; return ok }
	switch f[0] {
	case "rules":
		s.rules.Horizon, s.rules.MaxBypass = num("horizon", 7200), num("bypass", 0)
	case "cluster":
		c := Cluster{TMin: num("tmin", 60), TMax: num("tmax", 600), Good: 1 << 20, Speed: float32(num("speed", 1)), Drained: has("drained"), OutOfTurn: has("turn"), MaxGuest: num("guest", 0)}
		if has("stale") {
			c.Good = 0
		}
		if has("formula") {
			var err error
			if c.Local, err = CompileFormula(opt["formula"]); err != nil {
				t.Fatal(err)
			}
		}
		s.clusters[f[1]] = uint16(len(s.rules.Clusters))
		s.rules.Clusters = append(s.rules.Clusters, c)
	case "user":
		left, _ := strconv.ParseFloat(f[2], 64)
		s.users[f[1]] = int32(len(s.rules.Users))
		s.rules.Users = append(s.rules.Users, User{Name: f[1], Left: left, Weight: left, Used: float64(num("used", 0))})
	case "slot":
		s.slot(f, num)
	case "job":
		s.job(f, opt, num)
	default:
		t.Fatalf("no such line: %v", f)
	}
}

func (s *scene) slot(f []string, num func(string, int) int32) {
	cluster, _, _ := strings.Cut(f[1], "/")
	if _, ok := s.nodes[f[1]]; !ok {
		s.nodes[f[1]] = int32(len(s.nodes))
	}
	from, _ := strconv.Atoi(f[2])
	to, err := strconv.Atoi(f[3])
	if err != nil {
		to = Never
	}
	s.slots = append(s.slots, Slot{From: int32(from), To: int32(to), Node: s.nodes[f[1]], Cluster: s.clusters[cluster],
		CPUs: uint16(num("cpus", 1)), Priority: float32(num("priority", 0)), Start: uint8(num("chance", 100)), Memory: num("memory", 0)})
	s.where = append(s.where, f[1])
}

func (s *scene) job(f []string, opt map[string]string, num func(string, int) int32) {
	w := Wish{Clusters: []uint64{1<<len(s.clusters) - 1}, Classes: []uint64{1}}
	if at, ok := opt["at"]; ok {
		w.Clusters = []uint64{1 << s.clusters[at]}
	}
	s.rules.Wishes = append(s.rules.Wishes, w)
	s.jobs = append(s.jobs, Job{Seq: int64(len(s.jobs)), Priority: float32(num("priority", 1)), Wall: num("wall", 600), Procs: num("procs", 1),
		Nodes: num("nodes", 0), Memory: num("memory", 0), User: s.users[f[2]], Wish: int32(len(s.rules.Wishes) - 1), Bypassed: num("bypassed", 0)})
	s.names = append(s.names, f[1])
}

// plan draws who got what: a line per slot, a column per 5 minutes.
func (s *scene) plan(name string) string {
	var p Planner = Lookahead{}
	if name == "pairwise" {
		p = Pairwise{}
	}
	bookings := p.Plan(s.jobs, s.slots, &s.rules)
	if why := flaw(s.jobs, s.slots, &s.rules, bookings); why != "" {
		return why
	}
	rows := make([]string, len(s.slots))
	for i, slot := range s.slots {
		rows[i] = strings.Repeat(" ", 24)
		rows[i] = paint(rows[i], slot.From, slot.To, '.')
	}
	slices.SortFunc(bookings, func(a, b Booking) int { return cmp.Compare(a.Job, b.Job) })
	var out strings.Builder
	for _, b := range bookings {
		mark := s.names[b.Job][0]
		if b.Tentative {
			mark += 'a' - 'A'
		}
		for _, part := range b.Parts {
			rows[part.Slot] = paint(rows[part.Slot], b.From, b.From+s.jobs[b.Job].Wall, mark)
		}
	}
	for i, row := range rows {
		fmt.Fprintf(&out, "%-8s |%s|\n", s.where[i], row)
	}
	for _, b := range bookings {
		kind := ""
		if b.Tentative {
			kind = " (outlook)"
		}
		fmt.Fprintf(&out, "%s at %d until %d chance %.2f%s:", s.names[b.Job], b.From, b.Done, b.Chance, kind)
		for _, part := range b.Parts {
			fmt.Fprintf(&out, " %s*%d", s.where[part.Slot], part.CPUs)
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

func paint(row string, from, to int32, mark byte) string {
	b := []byte(row)
	for k := range b {
		if at := int32(k) * 300; at+150 > from && at+150 < to {
			b[k] = mark
		}
	}
	return string(b)
}
