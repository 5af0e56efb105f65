package htcondor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// told is a schedd that tells its kinds of jobs, too.
type told struct {
	neighbours
	kinds string
}

func (m told) Run(ctx context.Context, argv []string, in io.Reader, out io.Writer) error {
	if !slices.Contains(argv, "-autocluster") {
		return m.neighbours.Run(ctx, argv, in, out)
	}
	if m.kinds == "" {
		return errors.New("not asked for")
	}
	_, err := io.WriteString(out, m.kinds)
	return err
}

// kindsSlots are two slots for short jobs and a partitionable one, of which six processors are taken.
const kindsSlots = `[{"Name":"slot1@node","State":"Unclaimed","Cpus":1,"Memory":1000,"Disk":900000,"TotalSlotCpus":1,"TotalSlotMemory":1000,"TotalSlotDisk":900000,` + kindsMachine + `,
"Start":"/Expr(TARGET.AllowedJobDuration is undefined || TARGET.AllowedJobDuration <= 3900)/"},
{"Name":"slot2@node","State":"Unclaimed","Cpus":1,"Memory":1000,"Disk":900000,"TotalSlotCpus":1,"TotalSlotMemory":1000,"TotalSlotDisk":900000,` + kindsMachine + `,
"Start":"/Expr(TARGET.AllowedJobDuration is undefined || TARGET.AllowedJobDuration <= 3900)/"},
{"Name":"slot9@node","State":"Unclaimed","PartitionableSlot":true,"Cpus":2,"Memory":500,"Disk":900000,"TotalSlotCpus":8,"TotalSlotMemory":16000,"TotalSlotDisk":9000000,` + kindsMachine + `,
"Start":true}]`

const kindsMachine = `"Arch":"X86_64","OpSys":"LINUX","OpSysAndVer":"Debian13","FileSystemDomain":"testbed","HasFileTransfer":true,"LoadAvg":3.5,"IsSmall":"/Expr(TotalSlotCpus < 2)/"`

// TestWhereJobsCanRun: a job is foretold in slots that meet its requirements and whose START takes it, were they empty, and in no others; one that none takes is
// refused for that reason, and what may be otherwise soon (load, time), or is not understood here, keeps none off. The words are those of a real pool.
func TestWhereJobsCanRun(t *testing.T) {
	now := time.Unix(1796074923, 0)
	for _, c := range []struct{ requires, more, want string }{
		{`TARGET.Arch == \"X86_64\"`, ``, "any"},
		{`TARGET.HasNothing == \"x\"`, ``, "no slot of the pool meets its requirements"},
		{`TARGET.OpSysAndVer == \"CentOS7\"`, ``, "no slot of the pool meets its requirements"},
		{`Memory >= 2000`, ``, "slot9@node"},                                       // of the slot, the job has none
		{`TARGET.Memory >= RequestMemory`, `"RequestMemory":12000,`, "slot9@node"}, // more than is left of it
		{`TARGET.Memory >= RequestMemory`, `"RequestMemory":20000,`, "no slot of the pool meets its requirements"},
		{`TARGET.IsSmall`, ``, "slot1@node slot2@node"},
		{`regexp(\"^slot[29]\", TARGET.Name)`, ``, "slot2@node slot9@node"},
		{`true`, `"AllowedJobDuration":7200,`, "slot9@node"},
		{`TARGET.IsSmall`, `"AllowedJobDuration":7200,`, "START of every slot that meets its requirements refuses it"},
		{`TARGET.LoadAvg < 0.3 && TARGET.Cpus > 1`, ``, "slot9@node"},
		{`time() - QDate > 3600`, `"QDate":1796074900,`, "any"},
		{`countMatchesOfTomorrow(TARGET.Cpus) >= 1`, ``, "any"},
		{`MY.Wanted isnt TARGET.OpSys`, ``, "any"},
	} {
		kinds := `[{"AutoClusterId":3,"JobCount":1,"JobIds":"7.0","RequestCpus":1,"RequestDisk":"/Expr(DiskUsage)/","DiskUsage":45,"FileSystemDomain":"testbed",` + c.more +
			`"Requirements":"/Expr((` + c.requires + `) && (TARGET.Disk >= RequestDisk) && ((TARGET.FileSystemDomain == MY.FileSystemDomain) || (TARGET.HasFileTransfer)))/"}]`
		const job = `[{"AutoClusterId":3,"ClusterId":7,"ProcId":0,"JobStatus":1,"JobUniverse":5,"RequestCpus":1,"QDate":1796074900},
{"ClusterId":8,"ProcId":0,"JobStatus":1,"JobUniverse":5,"RequestCpus":1,"QDate":1796074900}]`
		q := poolOf(kindsSlots, job, now)
		q.site.Machine = told{q.site.Machine.(neighbours), kinds}
		s, err := q.Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := where(t, s, "7.0")
		if got != c.want {
			t.Errorf("%s %s: %s, want %s", c.requires, c.more, got, c.want)
		}
		if got := where(t, s, "8.0"); got != "any" {
			t.Errorf("a job of which the schedd does not tell the kind yet: %s", got)
		}
	}
}

// where tells where a job of a state is foretold: in any slot, in which, or why in none.
func where(t *testing.T, s batch.State, id string) string {
	t.Helper()
	f := batch.Forecaster{Policy: batch.Policy{Name: "fcfs"}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Refused {
		if r.ID == id {
			return r.Reason
		}
	}
	i := slices.IndexFunc(s.Jobs, func(j batch.Job) bool { return j.ID == id })
	if len(s.Jobs[i].Within) == 0 {
		return "any"
	}
	for _, j := range out.Jobs {
		if j.ID == id && !slices.ContainsFunc(j.Placed, func(p batch.Placement) bool { return slices.Contains(s.Jobs[i].Within, p.Node) }) {
			return fmt.Sprint("on ", j.Placed)
		}
	}
	return strings.Join(s.Jobs[i].Within, " ")
}

// TestLongRequirements: jobs whose requirements take for ever to evaluate are taken to run anywhere, and after a few of them nobody's are looked at.
func TestLongRequirements(t *testing.T) {
	slots, err := parseSlots(kindsSlots)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []jobKind
	add := func(id int, requires string) {
		k, err := readKind(fmt.Appendf(nil, `{"AutoClusterId":%d,%s}`, id, requires))
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, k)
	}
	const no = `"Requirements":"/Expr(TARGET.HasNothing)/"`
	add(1, no)
	for i := range 2 * maxSlow {
		add(2+i, `"A":"`+strings.Repeat("a", 60)+`","Requirements":"/Expr(regexp(\"(a*)*(a*)*b\\\\1$\", A))/"`)
	}
	add(99, no)
	if p := placesOf(kinds, slots); len(p) != 1 || p[1].unfit == "" {
		t.Errorf("%+v", p)
	}
}
