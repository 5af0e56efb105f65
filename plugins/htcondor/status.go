package htcondor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// ad is a ClassAd in HTCondor's JSON: numbers, texts, booleans; an expression
// is a text "/Expr(...)/", what is undefined is absent.
type ad map[string]any

func (a ad) number(name string) (float64, bool) {
	v, ok := a[name].(float64)
	return v, ok
}

func (a ad) integer(name string) int64 {
	v, _ := a.number(name)
	if v > 1<<53 || v < -(1<<53) {
		return 0
	}
	return int64(v)
}

func (a ad) text(name string) string {
	v, _ := a[name].(string)
	return v
}

func (a ad) truth(name string) bool {
	v, _ := a[name].(bool)
	return v
}

func (a ad) time(name string) time.Time {
	if n := a.integer(name); n > 0 {
		return time.Unix(n, 0)
	}
	return time.Time{}
}

// parseAds reads the output of a command with -json: nothing at all is none.
func parseAds(text string) ([]ad, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var ads []ad
	err := json.Unmarshal([]byte(text), &ads)
	return ads, err
}

// asked are the attributes that a sweep reads.
var asked = strings.Join([]string{"GridBrokerId", "Owner", "ClusterId", "ProcId", "JobStatus", "LastJobStatus", "HoldReasonCode",
	"HoldReasonSubCode", "HoldReason", "ExitBySignal", "ExitCode", "ExitSignal", "EnteredCurrentStatus", "QDate", "JobStartDate",
	"JobCurrentStartDate", "CompletionDate", "NumJobStarts", "RemoteHost", "LastRemoteHost", "RemoteWallClockTime",
	"RemoteUserCpu", "RemoteSysCpu", "MemoryUsage", "ResidentSetSize", "RemoveReason", "StageInFinish", "StageInStart"}, ",")

// Status implements remote.AnySite. A sweep is one condor_q for all jobs of
// the site, and for those that it does not have one condor_history and one read
// of our own files.
func (s *site) Status(ctx context.Context, out []plugins.Status, is []int) {
	jobs, err := s.queued(ctx)
	var missing []int
	for _, i := range is {
		switch job, ok := jobs[out[i].Handle.ID]; {
		case err != nil:
			out[i].Err = err
		case ok:
			fill(&out[i], job)
		default:
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		s.missing(ctx, out, missing)
	}
}

// handleID is a job as handles name it: CLUSTER.PROC/ID.
func handleID(job ad) string {
	return fmt.Sprintf("%d.%d/%s", job.integer("ClusterId"), job.integer("ProcId"), job.text("GridBrokerId"))
}

// queued reads our jobs in the queue, by handleID.
func (s *site) queued(ctx context.Context) (map[string]ad, error) {
	text, err := s.schedd(ctx, "condor_q", "-json", "-attributes", asked, "-constraint", "GridBrokerId isnt undefined")
	if err != nil {
		return nil, err
	}
	return s.byID("condor_q", text)
}

// byID reads ads by handleID. Our id alone would not do: a neighbour whose jobs are
// shown can give one of his the id of one of ours, and would hide it.
func (s *site) byID(command, text string) (map[string]ad, error) {
	ads, err := parseAds(text)
	if err != nil {
		return nil, s.Fail(command, err)
	}
	jobs := make(map[string]ad, len(ads))
	for _, a := range ads {
		jobs[handleID(a)] = a
	}
	return jobs, nil
}

// missing judges jobs that are not in the queue: by the history, and by what
// lies in our own directory, without which there is no job any more.
func (s *site) missing(ctx context.Context, out []plugins.Status, is []int) {
	var ids []string
	for _, i := range is {
		_, id, _ := remote.SplitHandle(out[i].Handle, idBytes)
		ids = append(ids, id)
	}
	text, err := s.Verb(ctx, "outcomes", ids)
	outcomes := remote.ParseOutcomes(text)
	var past map[string]ad
	if err == nil {
		var there []plugins.Handle
		for n, i := range is {
			if _, ok := outcomes[ids[n]]; ok {
				there = append(there, out[i].Handle)
			}
		}
		past, err = s.past(ctx, there)
	}
	for n, i := range is {
		st := &out[i]
		o, there := outcomes[ids[n]]
		job, known := past[st.Handle.ID]
		switch {
		case err != nil:
			st.Err = err
		case !there:
			st.State = plugins.Lost
			st.Err = remote.NoJob("status", st.Handle)
		case known:
			fill(st, job)
		case o.Cancelled:
			st.State, st.Native = plugins.Cancelled, "gone"
		case o.Done && o.Ran():
			st.State, st.Native, st.ExitCode = plugins.Done, "gone", glue.Some(o.Code)
			st.Started, st.Ended, st.Node = o.Started, o.Ended, o.Node
		default:
			st.State, st.Native, st.Reason = plugins.Lost, "gone", "HTCondor no longer knows the job and it left no outcome"
		}
	}
}

// past reads ended jobs from the history.
func (s *site) past(ctx context.Context, hs []plugins.Handle) (map[string]ad, error) {
	all := map[string]ad{}
	for part := range slices.Chunk(hs, maxAsked) {
		var jobIDs, ids []string
		for _, h := range part {
			jobID, id, _ := remote.SplitHandle(h, idBytes)
			jobIDs, ids = append(jobIDs, jobID), append(ids, id)
		}
		text, err := s.schedd(ctx, "condor_history", "-json", "-attributes", asked, "-limit", strconv.Itoa(len(part)), "-scanlimit", scanLimit,
			"-constraint", fmt.Sprintf("stringListMember(GridBrokerId, %q) && stringListMember(strcat(ClusterId, \".\", ProcId), %q)", strings.Join(ids, ","), strings.Join(jobIDs, ",")))
		if err != nil {
			return nil, err
		}
		jobs, err := s.byID("condor_history", text)
		if err != nil {
			return nil, err
		}
		for id, job := range jobs {
			all[id] = job
		}
	}
	return all, nil
}

// natives are HTCondor's words for its JobStatus numbers.
var natives = map[int64]string{1: "IDLE", 2: "RUNNING", 3: "REMOVED", 4: "COMPLETED", 5: "HELD", 6: "TRANSFERRING OUTPUT", 7: "SUSPENDED"}

// fill writes an ad's view of a job.
func fill(st *plugins.Status, job ad) {
	status := job.integer("JobStatus")
	st.Native = natives[status]
	st.Submitted, st.Started = job.time("QDate"), job.time("JobCurrentStartDate")
	if st.Started.IsZero() {
		st.Started = job.time("JobStartDate")
	}
	st.Node = host(job.text("RemoteHost"), job.text("LastRemoteHost"))
	if wall, ok := job.number("RemoteWallClockTime"); ok && wall > 0 {
		st.WallTime = time.Duration(wall * float64(time.Second))
	}
	cpu, _ := job.number("RemoteUserCpu")
	sys, _ := job.number("RemoteSysCpu")
	st.CPUTime, st.MaxMemory = time.Duration((cpu+sys)*float64(time.Second)), job.integer("ResidentSetSize")
	if status == 3 && job.integer("LastJobStatus") == 4 { // cleaned after its end
		status = 4
	}
	switch status {
	case 1:
		st.State = plugins.Queued
		if job.integer("NumJobStarts") > 0 {
			failed(st, job, plugins.SitesFault, "it was evicted from its slot, and is not started again by itself")
		}
	case 2, 7:
		st.State = plugins.Running
	case 6:
		st.State = plugins.Finishing
	case 3:
		st.State, st.Reason, st.Ended = plugins.Cancelled, job.text("RemoveReason"), job.time("EnteredCurrentStatus")
	case 4:
		completed(st, job)
	case 5:
		held(st, job)
	default:
		st.State = plugins.Unknown
	}
}

// host is the machine of a slot's name, slot1_2@host or slot1@startd@host.
func host(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n[strings.LastIndexByte(n, '@')+1:]
		}
	}
	return ""
}

// signals are how job.sh tells the step that failed.
var signals = map[int64]remote.Outcome{
	1: {Step: "deploy"}, 3: {Step: "start"}, 10: {Step: "stage-in"}, 12: {Step: "stage-out"}, 24: {Step: "limit"},
}

func completed(st *plugins.Status, job ad) {
	st.Ended = job.time("CompletionDate")
	if !job.truth("ExitBySignal") {
		st.State = plugins.Done
		if code, ok := job.number("ExitCode"); ok {
			st.ExitCode = glue.Some(int(code))
		}
		return
	}
	n := job.integer("ExitSignal")
	reason, fault := fmt.Sprintf("ended by signal %d", n), plugins.Fault("")
	if o, ok := signals[n]; ok {
		if reason, fault = o.Why(); fault == "" {
			fault = plugins.JobsFault
		}
	}
	failed(st, job, fault, reason)
}

func failed(st *plugins.Status, job ad, fault plugins.Fault, reason string) {
	st.State, st.Reason, st.Fault = plugins.Failed, reason, fault
	if st.Ended.IsZero() {
		st.Ended = job.time("EnteredCurrentStatus")
	}
}
