package htcondor

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// commands is a pool by what its commands answer of slots, of jobs and of the schedd.
type commands struct{ slots, jobs, schedd string }

func (c commands) Run(_ context.Context, argv []string, _ io.Reader, out io.Writer) error {
	text := ""
	switch {
	case slices.Contains(argv, "-schedd"):
		text = c.schedd
	case slices.Contains(argv, "condor_status"):
		text = c.slots
	case slices.Contains(argv, "condor_q"):
		text = c.jobs
	}
	_, err := io.WriteString(out, text)
	return err
}

func (c commands) Files(context.Context) (remote.Files, error) { return nil, errors.New("no files") }

func (c commands) Close() error { return nil }

// FuzzPool: whatever a pool's commands answer, together, it is read or refused, and what agents make of it are numbers that
// can be counted with: a neighbour writes what his jobs ask for.
func FuzzPool(f *testing.F) {
	f.Add(`[{"Name":"slot1@h","PartitionableSlot":true,"Cpus":2,"TotalSlotCpus":4,"TotalSlotMemory":4096,"TotalSlotDisk":100000,"State":"Unclaimed","Start":true,"OpSysAndVer":"Debian13","Arch":"X86_64","HasVEE":"a,b"}]`,
		`[{"ClusterId":7,"ProcId":0,"JobStatus":1,"Owner":"alice","RequestCpus":1,"RequestMemory":100,"QDate":1795000000,"JobUniverse":5,"TotalSubmitProcs":3,"JobMaterializeNextProcId":1}]`,
		`[{"Name":"schedd","RecentJobsStarted":2,"RecentJobsAccumTimeToStart":8,"TotalIdleJobs":3,"RecentJobsCompleted":1,"RecentStatsLifetime":60}]`)
	f.Add(`[{"Name":"slot1@h","Cpus":-2,"TotalSlotCpus":-4,"TotalSlotMemory":-1e9,"TotalSlotGPUs":-7,"TotalSlotDisk":-1e18,"GPUs":-1}]`,
		`[{"ClusterId":-7,"ProcId":-1,"JobStatus":2,"Owner":"mallory","RequestCpus":-1,"RequestMemory":-1e11,"RequestDisk":-1e11,"RequestGPUs":-9,"QDate":-1e300,"JobCurrentStartDate":1e9,"AllowedJobDuration":-5,"RemoteHost":"@","JobPrio":-1e300}]`,
		`[{"Name":"schedd","TotalIdleJobs":-5,"JobsUnmaterialized":-1e12,"TotalJobAds":-1,"TotalRunningJobs":-3,"RecentJobsCompleted":1e-300,"RecentStatsLifetime":1e300}]`)
	f.Fuzz(func(t *testing.T, slots, jobs, schedd string) {
		now := time.Unix(1_795_000_100, 0)
		s := &site{Site: &remote.Site{URL: "condor:", System: &remote.System{Name: "HTCondor"},
			Options: &remote.Options{Command: time.Minute, Now: func() time.Time { return now }},
			Machine: commands{slots, jobs, schedd}}}
		for _, q := range []plugins.QueueReader{&Queue{site: s}, (&Queue{site: s}).Handed()} {
			state, err := q.Queue(t.Context())
			if err != nil {
				continue
			}
			for _, j := range state.Jobs {
				if math.IsNaN(j.Priority) || math.IsInf(j.Priority, 0) || j.Procs < 1 || j.GPUs < 0 || j.Memory < 0 || j.Disk < 0 || j.Requested < 0 {
					t.Errorf("%+v", j)
				}
			}
			for _, n := range state.Nodes {
				if n.CPUs < 0 || n.Memory < 0 || n.Disk < 0 || n.GPUs < 0 {
					t.Errorf("%+v", n)
				}
			}
		}
		if rs, err := s.Resources(t.Context()); err == nil {
			for _, r := range rs {
				if r.TotalSlots.V < 0 || r.FreeSlots.V < 0 || r.UsedSlots.V < 0 || r.Waiting.V < 0 || r.Running.V < 0 {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}
