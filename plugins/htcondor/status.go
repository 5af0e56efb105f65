package htcondor

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

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
	if v > most || v < -most {
		return 0
	}
	return int64(v)
}

// amount is how much there is of something, or is asked for: nobody gives any back by asking for less than nothing, as who writes a
// job's ad may.
func (a ad) amount(name string) int64 { return max(0, a.integer(name)) }

// most is more than there is of anything that is counted here, so that no sum overflows.
const most = 1 << 40

// duration is a time in seconds, of a century at most.
func (a ad) duration(name string) time.Duration {
	v, _ := a.number(name)
	return seconds(v)
}

// seconds is so many, as far as that can be a time that somebody waits or works.
func seconds(n float64) time.Duration {
	const century = 100 * 365 * 24 * 3600
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n, century) * float64(time.Second))
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
	return remote.Unix(a.integer(name))
}

// readAd reads one ad of a command with -json.
func readAd(object []byte) (a ad, err error) { return a, json.Unmarshal(object, &a) }

// among makes a set of names.
func among(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.FieldsFunc(names, func(c rune) bool { return c == ',' || unicode.IsSpace(c) }) {
		set[name] = true
	}
	return set
}

// ads runs a command that talks to the schedd and hands over the ads that it writes.
func (s *site) ads(ctx context.Context, take func(ad), command string, args ...string) error {
	at, err := s.scheddArgs(ctx)
	if err != nil {
		return err
	}
	return records(ctx, s, func(object []byte) error {
		a, err := readAd(object)
		if err == nil {
			take(a)
		}
		return err
	}, slices.Concat([]string{command}, at, args)...)
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
	ids := make([]string, len(is))
	for n, i := range is {
		ids[n] = out[i].Handle.ID
	}
	jobs, err := s.queued(ctx, ids)
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

// queued reads jobs of ours in the queue, by handleID; of others than those of wanted
// only that they are there. Our id alone would not do: a neighbour whose jobs are
// shown can give one of his the id of one of ours, and would hide it.
func (s *site) queued(ctx context.Context, wanted []string) (map[string]ad, error) {
	jobs, of := map[string]ad{}, map[string]bool{}
	for _, id := range wanted {
		of[id] = true
	}
	err := s.ads(ctx, func(a ad) {
		if id := handleID(a); of[id] {
			jobs[id] = a
		}
	}, "condor_q", "-json", "-attributes", asked, "-constraint", "GridBrokerId isnt undefined")
	return jobs, err
}

// missing judges jobs that are not in the queue: by the history, and by what
// lies in our own directory, without which there is no job any more.
func (s *site) missing(ctx context.Context, out []plugins.Status, is []int) {
	var ids []string
	for _, i := range is {
		_, id, _ := remote.SplitHandle(out[i].Handle, idBytes)
		ids = append(ids, id)
	}
	outcomes, err := remote.Outcomes(ctx, s.Site, ids)
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
			st.Started, st.Ended, st.Node, st.CPUTime = o.Started, o.Ended, o.Node, o.CPU
		default:
			st.State, st.Native, st.Reason = plugins.Lost, "gone", "HTCondor no longer knows the job and it left no outcome"
		}
	}
}

// past reads ended jobs from the history.
func (s *site) past(ctx context.Context, hs []plugins.Handle) (map[string]ad, error) {
	all, wanted := map[string]ad{}, map[string]bool{}
	for _, h := range hs {
		wanted[h.ID] = true
	}
	for part := range slices.Chunk(hs, maxAsked) {
		var jobIDs, ids []string
		for _, h := range part {
			jobID, id, _ := remote.SplitHandle(h, idBytes)
			jobIDs, ids = append(jobIDs, jobID), append(ids, id)
		}
		err := s.ads(ctx, func(a ad) {
			if id := handleID(a); wanted[id] {
				all[id] = a
			}
		}, "condor_history", "-json", "-attributes", asked, "-limit", strconv.Itoa(len(part)), "-scanlimit", scanLimit,
			"-constraint", fmt.Sprintf("stringListMember(GridBrokerId, %q) && stringListMember(strcat(ClusterId, \".\", ProcId), %q)", strings.Join(ids, ","), strings.Join(jobIDs, ",")))
		if err != nil {
			return nil, err
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
	st.WallTime = job.duration("RemoteWallClockTime")
	st.CPUTime, st.MaxMemory = job.duration("RemoteUserCpu")+job.duration("RemoteSysCpu"), job.amount("ResidentSetSize")
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
	1: {Step: "deploy"}, 3: {Step: "start"}, 10: {Step: "stage-in"}, 12: {Step: "stage-out"}, 14: {Step: "prologue"}, 24: {Step: "limit"},
}

func completed(st *plugins.Status, job ad) {
	st.Ended = job.time("CompletionDate")
	if !job.truth("ExitBySignal") {
		st.State = plugins.Done
		if code, ok := job.number("ExitCode"); ok && math.Abs(code) <= math.MaxInt32 {
			st.ExitCode = glue.Some(int(code))
		}
		return
	}
	n := job.integer("ExitSignal")
	reason, fault := fmt.Sprintf("ended by signal %d", n), plugins.Fault("")
	if o, ok := signals[n]; ok {
		if reason, fault = o.Why(); fault == "" && o.Step != "prologue" {
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
