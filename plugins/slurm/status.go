package slurm

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// known is what a sweep has learnt of a site's jobs.
type known struct {
	queue    map[string]row // squeue, by our id
	acct     map[string]row // sacct, by our id
	acctErr  error
	outcomes map[string]remote.Outcome // our own files, by our id
	read     bool                      // they were read: a job without one has no directory
}

// row is one job in one table.
type row struct {
	name, state, reason, nodes string
	started, ended, submitted  time.Time
	exit, signal               int
	hasExit                    bool
	cpu                        time.Duration
	rss                        int64 // kB
}

// Status implements remote.AnySite. A sweep is one squeue for all jobs of the
// site, one sacct for those it says have ended or does not know, and one read
// of our own outcome files where there is no accounting.
func (s *site) Status(ctx context.Context, out []plugins.Status, is []int) {
	var slurmIDs, ids []string
	for _, i := range is {
		slurmID, id, _ := remote.SplitHandle(out[i].Handle, idBytes)
		slurmIDs, ids = append(slurmIDs, slurmID), append(ids, id)
	}
	queue, err := s.squeue(ctx, slurmIDs)
	if err == nil {
		queue, err = s.ours(ctx, queue, slurmIDs, ids)
	}
	if err != nil {
		for _, i := range is {
			out[i].Err = err
		}
		return
	}
	k := known{queue: queue}
	slurmIDs, ids = k.over(slurmIDs, ids)
	if len(ids) > 0 {
		var err error
		var files sync.WaitGroup
		files.Go(func() { k.outcomes, err = remote.Outcomes(ctx, s.Site, ids) }) // while accounting thinks
		k.acct, k.acctErr = s.accounts(ctx, slurmIDs, ids)
		if files.Wait(); err != nil {
			k.acctErr = errors.Join(k.acctErr, err)
		}
		k.read = err == nil
	}
	for _, i := range is {
		_, id, _ := remote.SplitHandle(out[i].Handle, idBytes)
		k.judge(&out[i], id)
	}
}

// over are the jobs that the queue does not have, or has as ended.
func (k *known) over(slurmIDs, ids []string) (overSlurm, over []string) {
	for n, id := range ids {
		if r, ok := k.queue[id]; !ok || stateOf(r.state, r.reason).Final() {
			overSlurm, over = append(overSlurm, slurmIDs[n]), append(over, id)
		}
	}
	return overSlurm, over
}

// judge puts the tables together: the queue for living jobs, accounting for
// ended ones, our own files where there is none. What nobody could be asked
// about stays Unknown.
func (k *known) judge(st *plugins.Status, id string) {
	q, inQueue := k.queue[id]
	a, inAcct := k.acct[id]
	o, hasOutcome := k.outcomes[id]
	switch {
	case inQueue && !stateOf(q.state, q.reason).Final():
		q.fill(st)
	case k.read && !hasOutcome: // cleaned, or never there
		st.State, st.Err = plugins.Lost, &plugins.Error{Kind: plugins.Refused, Op: "status", Endpoint: st.Handle.Endpoint, Said: "no job " + st.Handle.ID + ": its directory is not there"}
		return
	case inAcct && (inQueue || stateOf(a.state, a.reason).Final()):
		a.fill(st)
	case inQueue:
		q.fill(st)
	case k.acctErr == nil && inAcct && !o.Done:
		// Accounting still has it alive, the controller does not: the end
		// is on its way to the database.
		a.fill(st)
	case o.Cancelled: // the controller has ended it; of an array that never started, accounting keeps one record for all
		st.State, st.Native = plugins.Cancelled, "gone"
	case !o.Done && k.acctErr != nil:
		st.Err = k.acctErr
		return
	default:
		st.State, st.Native, st.Reason = plugins.Lost, "gone", "Slurm no longer knows the job and it wrote no outcome"
	}
	fillOutcome(o, st)
}

// fill writes a table's view. A job that ran and ended with a code is Done
// whatever the code, as everywhere in the program: Slurm calls it FAILED.
func (r row) fill(st *plugins.Status) {
	st.State, st.Native, st.Reason, st.Node = stateOf(r.state, r.reason), r.state, r.reason, r.nodes
	st.Fault = faultOf(r.state)
	st.Submitted, st.Started, st.Ended = r.submitted, r.started, r.ended
	st.CPUTime, st.MaxMemory = r.cpu, r.rss
	if st.State == plugins.Queued || st.State == plugins.Held {
		st.Started, st.Ended = time.Time{}, time.Time{} // only planned
	}
	if st.State.Final() && nowhere(r.nodes) {
		st.Started, st.Node = time.Time{}, "" // it has the time of its end as its start
	}
	if !st.State.Final() {
		st.Ended = time.Time{}
	}
	if !st.Started.IsZero() && st.Ended.After(st.Started) {
		st.WallTime = st.Ended.Sub(st.Started)
	}
	// A failure with code 0 is none of the program's: nothing ran, or accounting has
	// written the record of the start after the end and has yet to write that of the end.
	if r.hasExit && r.signal == 0 && (st.State == plugins.Done || st.State == plugins.Failed && r.exit != 0) {
		st.ExitCode = glue.Some(r.exit)
	}
	if r.signal != 0 && (st.Reason == "" || st.Reason == "None") {
		st.Reason = "ended by signal " + strconv.Itoa(r.signal)
	}
	if st.Reason == "None" {
		st.Reason = ""
	}
	if why := whyOf(r.state); why != "" {
		st.Reason = why
	}
}

// squeue reads jobs of the user, ended ones as long as the controller
// remembers them (MinJobAge, 300 s by default).
func (s *site) squeue(ctx context.Context, slurmIDs []string) (map[string]row, error) {
	jobs, asked := map[string]row{}, among(slurmIDs)
	err := s.rows(ctx, sep, 8, func(f []string) error {
		if asked[f[0]] {
			jobs[f[0]] = row{name: f[1], state: f[2], reason: f[3], submitted: unix(f[4]), started: unix(f[5]), ended: unix(f[6]), nodes: f[7]}
		}
		return nil
	}, "squeue", "--all", "--noheader", "--array", "--me", "--states=all", "--format="+columns("ijTrVSeN"))
	return jobs, err
}

// sacctFields are the columns asked of accounting. None of them holds "|" in a
// job of ours; a row that does is dropped.
var sacctFields = []string{"JobID", "JobName", "State", "ExitCode", "Submit", "Start", "End", "TotalCPU", "MaxRSS", "NodeList", "Reason"}

const (
	maxAsked  = 4000 // ids in one sacct
	acctPause = 5 * time.Minute
)

// askable tells whether accounting is to be asked: not that of a cluster without
// any, and not for a while after it did not answer, which is the error.
func (s *site) askable() (bool, error) {
	s.mu.Lock()
	off, down := s.acctOff, s.acctDown
	s.mu.Unlock()
	if !off && s.Options.Now().Before(down) {
		return false, &plugins.Error{Kind: plugins.Unavailable, Op: "sacct", Endpoint: s.URL, Said: "accounting did not answer a while ago; asked again at " + down.Format(time.TimeOnly)}
	}
	return !off, nil
}

// sacct asks accounting for the account's own jobs: by a number it tells of another
// user's, too, who may have given his the name of ours. A cluster without accounting
// gives no rows and no error; one whose accounting does not answer is not asked for a
// while.
func (s *site) sacct(ctx context.Context, ids []string) (map[string]row, error) {
	if asked, err := s.askable(); !asked {
		return nil, err
	}
	me, err := s.account(ctx)
	if err != nil {
		return nil, err
	}
	jobs, asked := map[string]row{}, among(ids)
	for part := range slices.Chunk(ids, maxAsked) {
		err := s.rows(ctx, "|", len(sacctFields), func(f []string) error { takeSacct(f, asked, jobs); return nil },
			"sacct", "--noheader", "--parsable2", "--format="+strings.Join(sacctFields, ","), "--user="+me, "--jobs="+strings.Join(part, ","))
		if err != nil {
			return jobs, s.noAccounting(ctx, err)
		}
	}
	return jobs, nil
}

func (s *site) noAccounting(ctx context.Context, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(err.Error(), "accounting storage is disabled") {
		s.acctOff = true
		return nil
	}
	if ctx.Err() == nil {
		s.acctDown = s.Options.Now().Add(acctPause)
	}
	return err
}

// takeSacct takes a job that was asked about, and its memory from its batch step.
func takeSacct(f []string, asked map[string]bool, jobs map[string]row) {
	id, step, isStep := strings.Cut(f[0], ".")
	if !asked[id] {
		return
	}
	rss, _, _ := megabytes(f[8])
	if isStep {
		if r, ok := jobs[id]; ok && (step == "batch" || step == "0") {
			r.rss = max(r.rss, int64(rss*1024))
			jobs[id] = r
		}
		return
	}
	r := row{name: f[1], state: f[2], submitted: unix(f[4]), started: unix(f[5]), ended: unix(f[6]), reason: f[10], rss: int64(rss * 1024)}
	r.exit, r.signal, r.hasExit = exitCode(f[3])
	r.cpu, _ = duration(f[7])
	if f[9] != "None assigned" {
		r.nodes = f[9]
	}
	jobs[id] = r
}

// exitCode reads "code:signal".
func exitCode(s string) (code, signal int, ok bool) {
	a, b, _ := strings.Cut(s, ":")
	code, err := strconv.Atoi(a)
	signal, err2 := strconv.Atoi(b)
	return code, signal, err == nil && err2 == nil
}
