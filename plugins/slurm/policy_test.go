package slurm

import (
	"maps"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
)

// What "scontrol show config" says becomes the policy; what decides starts and is
// left out is named.
func TestRules(t *testing.T) {
	const plain = `Configuration data as of 2026-11-22T11:58:58
CompleteWait            = 0 sec
PreemptType             = preempt/none
PriorityType            = priority/multifactor
PriorityMaxAge          = 7-00:00:00
PriorityFavorSmall      = No
PriorityFlags           = 
PriorityWeightAge       = 1000
PriorityWeightAssoc     = 0
PriorityWeightJobSize   = 20
PriorityWeightTRES      = (null)
PrivateData             = none
SchedulerParameters     = bf_interval=5,bf_continue
SchedulerType           = sched/backfill
SelectType              = select/cons_tres
SuspendTime             = INFINITE
`
	weights := batch.Multifactor{Age: 1000, JobSize: 20, MaxAge: 7 * 24 * time.Hour}
	always := weights
	always.AccrueAlways = true
	for name, c := range map[string]struct {
		text   string
		want   batch.Slurm
		left   []string
		hidden bool
	}{
		"plain":         {plain, batch.Slurm{Interval: 5 * time.Second, Multifactor: weights}, nil, false},
		"last one wins": {plain + "SchedulerType = sched/builtin\nPrivateData = users,jobs\n", batch.Slurm{Builtin: true, Interval: 5 * time.Second, Multifactor: weights}, nil, true},
		"what is left out": {plain + "PreemptType = preempt/other\nSchedulerParameters = defer,bf_licenses\nPriorityFlags = DEPTH_OBLIVIOUS,ACCRUE_ALWAYS,NO_NORMAL_ALL\nSelectType = select/linear\nSelectTypeParameters = CR_Socket_Memory,CR_LLN\nPriorityWeightTRES = CPU=100\n",
			batch.Slurm{Multifactor: always}, []string{"PreemptType=preempt/other", "PriorityFlags=NO_NORMAL_ALL", "PriorityWeightTRES=CPU=100", "SelectType=select/linear", "SelectTypeParameters=CR_SOCKET_MEMORY", "bf_licenses", "defer"}, false},
		"places that end late":  {"SLURM_VERSION           = 24.11.5\n", batch.Slurm{Recent: true}, nil, false},
		"later ones, too":       {"SLURM_VERSION           = 25.05.1\n", batch.Slurm{Recent: true}, nil, false},
		"none that is older":    {"SLURM_VERSION           = 24.05.3\n", batch.Slurm{}, nil, false},
		"places that end early": {"SLURM_VERSION           = 22.05.8\n", batch.Slurm{}, nil, false},
		"hopeless jobs end":     {"DependencyParameters    = disable_remote_singleton,kill_invalid_depend\n", batch.Slurm{KillInvalid: true}, nil, false},
		"and stay":              {"DependencyParameters    = (null)\n", batch.Slurm{}, nil, false},
		"also beside nonsense":  {"DependencyParameters    = kill_invalid_depend\nSchedulerParameters = bf_node_space_size=x\n", batch.Slurm{KillInvalid: true}, []string{"bf_node_space_size=x"}, false},
		"basic priority":        {"PriorityType = priority/basic\nPriorityWeightAge = 9\n", batch.Slurm{}, nil, false},
	} {
		r := config(c.text).rules()
		got := r.Policy.Slurm
		slices.Sort(r.Unmodelled)
		same := got.Builtin == c.want.Builtin && got.Recent == c.want.Recent && got.KillInvalid == c.want.KillInvalid && got.Interval == c.want.Interval && got.Multifactor.Age == c.want.Multifactor.Age &&
			got.Multifactor.JobSize == c.want.Multifactor.JobSize && got.Multifactor.MaxAge == c.want.Multifactor.MaxAge && got.Multifactor.AccrueAlways == c.want.Multifactor.AccrueAlways
		if !same || r.Policy.Name != "slurm" || !slices.Equal(r.Unmodelled, c.left) || r.Hidden != c.hidden {
			t.Errorf("%s: %+v, want %+v, %q, hidden %v", name, r, c.want, c.left, c.hidden)
		}
	}
}

func TestFactors(t *testing.T) {
	if got := factors("|1.0\nalice|0.25\nbob|x\nalice|0.5\n", false); !maps.Equal(got, map[string]float64{"alice": 0.5}) {
		t.Errorf("shares: %v", got)
	}
	if got := factors("normal|0\nhigh|200\nmiddle|50\n", true); !maps.Equal(got, map[string]float64{"normal": 0, "high": 1, "middle": 0.25}) {
		t.Errorf("QOS: %v", got)
	}
}
