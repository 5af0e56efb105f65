package maui

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestConfigErrors: an impossible value is told with its line, its name and what may stand there; what is not modelled is a
// warning with its line, and never silently something else.
func TestConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"BACKFILLPOLICY SOMETIMES":                    `maui.cfg:1: BACKFILLPOLICY "SOMETIMES": want one of FIRSTFIT, BESTFIT, GREEDY, PREEMPT, NONE`,
		"\n# c\n\nNODEACCESSPOLICY":                   `maui.cfg:4: NODEACCESSPOLICY "": want one of SHARED`,
		"DEFERTIME 1:2:3:4:5":                         `maui.cfg:1: DEFERTIME "1:2:3:4:5": want a time [[[D:]H:]M:]S`,
		"DEFERTIME 1::2":                              `DEFERTIME "1::2": want a time`,
		"DEFERTIME":                                   `DEFERTIME "": want a time`,
		"JOBMAXOVERRUN -2":                            `JOBMAXOVERRUN "-2": want a time`,
		"DEFERTIME 99999999999":                       `want a time`,
		"BACKFILLDEPTH -1":                            `BACKFILLDEPTH "-1": want a number, 0 or more`,
		"BACKFILLDEPTH 1e3":                           `want a number, 0 or more`,
		"SYSTEMMAXPROCPERJOB 99999999999999999999":    `want a number, 0 or more`,
		"RESERVATIONDEPTH[128] 1":                     `RESERVATIONDEPTH "128": want an index of 0 to 127`,
		"RESERVATIONDEPTH[-1] 1":                      `want an index of 0 to 127`,
		"RESERVATIONQOSLIST[x] a":                     `want an index of 0 to 127`,
		"QUEUETIMEWEIGHT NaN":                         `QUEUETIMEWEIGHT "NaN": want a number`,
		"QUEUETIMEWEIGHT 1e16":                        `want a number`,
		"CREDWEIGHT Inf":                              `want a number`,
		"FSDECAY 1.5":                                 `FSDECAY "1.5": want a number of 0 to 1`,
		"FSDECAY -0.1":                                `want a number of 0 to 1`,
		"USERCFG PRIORITY=1":                          `USERCFG "": want a name in brackets`,
		"USERCFG[] PRIORITY=1":                        `want a name in brackets`,
		"USERCFG[a] PRIORITY":                         `USERCFG[a] "PRIORITY": want ATTRIBUTE=VALUE`,
		"USERCFG[a] PRIORITY=high":                    `PRIORITY "high": want a number`,
		"USERCFG[a] MAXJOB=1,x":                       `MAXJOB "x": want a number, 0 or more`,
		"USERCFG[a] MAXWC=1:x":                        `MAXWC "1:x": want a time`,
		"USERCFG[a] FSTARGET=%":                       `FSTARGET "": want a number`,
		"NODECFG[n] SPEED=fast":                       `SPEED "fast": want a number`,
		"DEFERTIME x\nBACKFILLPOLICY y":               `maui.cfg:1: DEFERTIME`,
		strings.Repeat("x", 65<<10):                   `maui.cfg:1: bufio.Scanner: token too long`,
		"DEFERTIME 0\n" + strings.Repeat(" ", 65<<10): `maui.cfg:2: bufio.Scanner: token too long`,
	} {
		_, _, err := ReadConfig(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
		if line, ok := errors.AsType[*LineError](err); ok && line.Line != strings.Count(text, "\n")+1 && !strings.HasPrefix(text, "DEFERTIME x") {
			t.Errorf("%.40q: line %d", text, line.Line)
		}
	}
	for text, want := range map[string]Warning{
		"NODESETPOLICY ONEOF":                  {1, "NODESETPOLICY", "not modelled"},
		"\nUSERCFG[a] PRIORITY=1 COLOUR=red":   {2, "USERCFG[a] COLOUR", "not modelled"},
		"SYSCFG PLIST=a":                       {1, "SYSCFG PLIST", "not modelled"},
		"NODECFG[n] CHARGERATE=2":              {1, "NODECFG[n] CHARGERATE", "not modelled"},
		"SRCFG[s] HOSTLIST=n1 STARTTIME=08:00": {1, "SRCFG[s] STARTTIME", "not modelled"},
		"SRCFG[s] PERIOD=DAY":                  {1, "SRCFG[s] PERIOD", "not modelled"},
	} {
		_, warnings, err := ReadConfig(strings.NewReader(text))
		if err != nil || len(warnings) != 1 || warnings[0] != want {
			t.Errorf("%q: %v %v, want %v", text, warnings, err, want)
		}
	}
}

// TestConfigValues: the ways in which Maui lets one write a value.
func TestConfigValues(t *testing.T) {
	c, warnings, err := ReadConfig(strings.NewReader(`
backfillpolicy bestfit   # any case, and a comment behind
DEFERTIME 1:00:00
JOBMAXOVERRUN INFINITY
SYSTEMMAXJOBWALLTIME 2:00:00:00
RESERVATIONDEPTH[2] 4
RESERVATIONQOSLIST[2] high low
RESERVATIONQOSLIST[0] [ALL]
TARGETWEIGHT 3
SERVICECAP 7
USERCFG[ann] MAXJOB=2,5 MAXIJOB=3 MAXPS=1:00 MAX.WCLIMIT=-1 QLIST=&a,b FSTARGET=12.5^
USERCFG[ann] PRIORITY=9
QOSCFG[vip] OMAXPROC=8 OMAXIJOB=1 QFLAGS=ignuser:reservealways
CLASSCFG[short] DEFAULT.WCLIMIT=30:00 DEFAULT.FEATURES=a:b
SRCFG[s] HOSTLIST=n1,n2 PERIOD=INFINITY
SRCFG[s] USERLIST=ann|bob
LOGFILE maui.log
`))
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	ann, vip := c.Users["ann"], c.QOS["vip"]
	for name, ok := range map[string]bool{
		"words in any case": c.Backfill == "BESTFIT", "an hour": c.Defer == 3600, "no end": c.Overrun == -1, "two days": c.MaxJobTime == 2*86400,
		"a bucket beyond the first": len(c.Buckets) == 3 && c.Buckets[2].Depth == 4 && c.Buckets[2].Named && len(c.Buckets[2].QOS) == 2,
		"one that nobody fills":     c.Buckets[1].Depth == 0, "all": !c.Buckets[0].Named,
		"long names":                c.Weights.Targ == 3 && c.Weights.Caps["SERV"] == 7,
		"soft and hard":             ann.Active.Soft[limitJobs] == 2 && ann.Active.Hard[limitJobs] == 5 && ann.Idle.Hard[limitJobs] == 3,
		"processor seconds as time": ann.Active.Soft[limitPS] == 60, "none": ann.MaxLimit == -1,
		"a list with its mode":   ann.QOSMode == '&' && len(ann.QOSList) == 2 && ann.QOSList[0] == "a",
		"a target with its mode": ann.Target == 12.5 && ann.TargetMode == '^', "a second line adds": ann.Priority == 9,
		"overriding":             vip.Override.Hard[limitJobs] == noLimit && vip.OverIdle.Hard[limitJobs] == noLimit && vip.ignores("RESERVEALWAYS"),
		"a class":                c.Classes["short"].Limit == 1800 && len(c.Classes["short"].Features) == 2,
		"a standing reservation": len(c.Standing) == 1 && len(c.Standing[0].Hosts) == 2 && len(c.Standing[0].Users) == 2,
	} {
		if !ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestSetField: numbers of a resource manager stay within what can be added and multiplied, and what is none is refused.
func TestSetField(t *testing.T) {
	for value, want := range map[string]int64{"5": 5, "-5": 0, "99999999999999999999": mostOf, "-99999999999999999999": 0, "1099511627777": mostOf} {
		var j Job
		if !SetField(&j, "WCLIMIT", value) || j.Limit != want {
			t.Errorf("%s: %d, want %d", value, j.Limit, want)
		}
	}
	for _, c := range [][2]string{{"WCLIMIT", ""}, {"TASKS", "1.5"}, {"TASKS", " 1"}, {"NODES", "x"}, {"COLOUR", "red"}, {"wclimit", "5"}} {
		if j := (Job{Limit: 7, Tasks: 7, Nodes: 7}); SetField(&j, c[0], c[1]) || j.Limit+j.Tasks+j.Nodes != 21 {
			t.Errorf("%s=%s was taken: %+v", c[0], c[1], j)
		}
	}
	for value, want := range map[string]string{"[short:1]": "short", "short": "short", "[short]": "short", "": "", "[": "", "[:1]": ""} {
		var j Job
		if !SetField(&j, "RCLASS", value) || j.Class != want {
			t.Errorf("class %q: %q, want %q", value, j.Class, want)
		}
	}
	if got := Classes("[a:1][b:-1][c:x][d][e:2"); len(got) != 2 || got["a"] != 1 || got["e"] != 2 {
		t.Errorf("classes %v", got)
	}
}

// TestGiantJobs: jobs that ask for all that a number can hold neither start nor stand in others' way, nor pass a limit because a
// product of what they ask for is no number any more.
func TestGiantJobs(t *testing.T) {
	c, _, err := ReadConfig(strings.NewReader("SYSTEMMAXPROCSECONDPERJOB 1000000\nUSERCFG[DEFAULT] MAXPS=1000000\nRESWEIGHT 1\nPSWEIGHT 1\nMEMWEIGHT 1\nFSPOLICY DEDICATEDPS\n"))
	if err != nil {
		t.Fatal(err)
	}
	began := testbed.Processor(t)
	nodes := []Node{{Name: "n1", Procs: 4, Memory: 1000, Disk: 1000, Swap: 1000}}
	jobs := []Job{{ID: "small", User: "u", Tasks: 2, Limit: 100, Queued: 5}}
	for _, name := range []string{"TASKS", "WCLIMIT", "DPROCS", "NODES", "TASKPERNODE", "DMEM", "DDISK", "DSWAP", "RMEM", "QUEUETIME", "STARTDATE"} {
		j := Job{ID: "giant-" + name, User: "v", Tasks: 1, Limit: 100, Queued: 1}
		SetField(&j, name, "99999999999999999999")
		jobs = append(jobs, j)
	}
	all := Job{ID: "giant", User: "v", Queued: 1, Tasks: mostOf, Limit: mostOf, TaskProcs: mostOf, Memory: mostOf}
	long := Job{ID: "long", User: "v", Queued: 1, Tasks: 4, Limit: math.MaxInt64 / 4, TaskProcs: 1}
	SetField(&long, "WCLIMIT", "99999999999999999999")
	jobs = append(jobs, all, long)
	started := map[string]bool{}
	for _, a := range New(c).Iterate(1000, nodes, jobs) {
		started[a.Job] = true
	}
	if !started["small"] || started["giant"] || started["long"] || started["giant-TASKS"] || started["giant-WCLIMIT"] {
		t.Errorf("started %v", started)
	}
	if took := testbed.Processor(t) - began; took > testbed.Paced(t, 5*time.Second) {
		t.Errorf("it took %v", took)
	}
}
