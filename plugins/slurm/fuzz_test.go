package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// answers is a cluster whose commands answer with texts, by what they ask.
type answers map[string]string

// questions are how the commands are told apart, the first that fits, by the names of testdata's files.
var questions = []struct{ words, name string }{
	{"show node", "node"}, {"show partition", "partition"}, {"show reservation", "reservation"}, {"show licenses", "licenses"}, {"show config", "config"},
	{"show job", "job"}, {"tres-alloc", "demands"}, {"%K", "arrays"}, {"%P", "queue"}, {"%j", "names"}, {"sshare", "shares"},
	{"show qos", "qos"}, {"show assoc", "assoc"}, {"show user", "level"}, {"id -un", "user"}, {"id -Gn", "groups"},
}

func (c answers) Run(_ context.Context, argv []string, _ io.Reader, out io.Writer) error {
	call := strings.Join(argv, " ")
	for _, q := range questions {
		if strings.Contains(call, q.words) {
			_, err := io.WriteString(out, c[q.name])
			return err
		}
	}
	return nil
}

func (c answers) Files(context.Context) (remote.Files, error) { return nil, errors.New("no files") }

func (c answers) Close() error { return nil }

// answersIn takes a text apart into the answers: each begins with a line "@ NAME".
func answersIn(text string) answers {
	c := answers{"user": "alice\n", "groups": "alice users\n"}
	for part := range strings.SplitSeq("\n"+text, "\n@ ") {
		name, answer, _ := strings.Cut(part, "\n")
		c[name] = answer
	}
	return c
}

// FuzzCluster: whatever a Slurm's commands answer, together, the cluster is read or refused, and what an agent, a source and doctor make
// of it are numbers that can be counted with and written down.
func FuzzCluster(f *testing.F) {
	dirs, _ := filepath.Glob("testdata/*/queue")
	for _, queue := range dirs {
		text := ""
		for _, q := range questions {
			if answer, err := os.ReadFile(filepath.Join(filepath.Dir(queue), q.name)); err == nil {
				text += "@ " + q.name + "\n" + string(answer) + "\n"
			}
		}
		f.Add(text)
	}
	f.Add("@ config\nPriorityType=priority/multifactor\nPriorityWeightAge=NaN\nPriorityWeightFairShare=Inf\nPriorityWeightPartition=inf\nPriorityWeightQOS=1\nDefMemPerCPU=nan\n" +
		"SLURM_VERSION=nan.inf\n@ shares\nu|NaN\nv|Inf\n@ qos\na|NaN\nb|Inf\n@ partition\nPartitionName=p State=UP Nodes=n1\n@ node\nNodeName=n1 CPUTot=2 State=IDLE Partitions=p\n@ queue\n" +
		strings.ReplaceAll("1|p|PENDING|1|1|1M|N/A|1:00|1795949170|1795950660|NaN|u|a|(null)||Priority|(null)|OK|(null)|a|||(null)|1795951260", "|", sep) + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		now := time.Unix(1795949173, 0)
		s := &site{Site: &remote.Site{URL: "slurm:", Machine: answersIn(text), System: &remote.System{Name: "Slurm"},
			Options: &remote.Options{Command: time.Minute, Now: func() time.Time { return now }}}}
		q := &Queue{site: s}
		if r, err := q.Rules(t.Context()); err == nil {
			written(t, r.Policy)
		}
		q.CheckGuests(t.Context(), plugins.Guests{Partition: "p", Reservations: true, TTL: time.Minute})
		if state, err := q.Queue(t.Context()); err == nil {
			countable(t, state)
		}
		if rs, err := s.Resources(t.Context()); err == nil {
			written(t, rs)
		}
		s.lengths(t.Context())
	})
}

// written asks that something can be a document.
func written(t *testing.T, v any) {
	t.Helper()
	if _, err := json.Marshal(v); err != nil {
		t.Error(err)
	}
}

// countable asks that a state has numbers that forecasts can be made of.
func countable(t *testing.T, s batch.State) {
	t.Helper()
	for _, j := range s.Jobs {
		if math.IsNaN(j.Priority) || math.IsInf(j.Priority, 0) || j.Procs < 1 || j.Nodes < 0 || j.GPUs < 0 || j.Memory < 0 || j.Requested < 0 {
			t.Errorf("%+v", j)
		}
	}
	for _, n := range s.Nodes {
		if n.CPUs < 0 || n.Memory < 0 || n.GPUs < 0 {
			t.Errorf("%+v", n)
		}
	}
}
