package slurm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gridbroker/batch"
)

// Endings asks accounting how the jobs of the cluster ended since a time; so
// who follows the queue learns of ends between two looks. A cluster without
// accounting gives none.
func (q *Queue) Endings(ctx context.Context, since time.Time) ([]batch.Ending, error) {
	s := q.site
	if asked, err := s.askable(); !asked {
		return nil, err
	}
	// Times are by the cluster's own clock, whatever its time zone. With states and
	// no end asked for, sacct takes the beginning for the end and lists nothing.
	back := max(1, int64(s.Options.Now().Sub(since)/time.Second))
	text, err := s.Command(ctx, "sacct", "--allusers", "--allocations", "--noheader", "--parsable2", "--format=JobID,Start,End,State,NodeList",
		fmt.Sprintf("--starttime=now-%dseconds", back), "--endtime=now", "--state=CD,F,TO,CA,NF,OOM,PR,DL,BF")
	if err != nil {
		return nil, s.noAccounting(ctx, err)
	}
	return endings(text), nil
}

// endings reads sacct's lines; those of jobs that have not ended say so. One
// that was cancelled while it waited has the time of that as its start, and no node.
func endings(text string) (list []batch.Ending) {
	for _, f := range rows(text, "|", 5) {
		e := batch.Ending{ID: f[0], Started: unix(f[1]), Ended: unix(f[2]), Cancelled: strings.HasPrefix(f[3], "CANCELLED") || strings.HasPrefix(f[3], "PREEMPTED")}
		if nowhere(f[4]) {
			e.Started = time.Time{}
		}
		if e.ID != "" && !e.Ended.IsZero() {
			list = append(list, e)
		}
	}
	return list
}

// nowhere tells whether a list of nodes is that of a job which was ended while it waited.
func nowhere(nodes string) bool { return nodes == "" || nodes == "None assigned" || nodes == "(null)" }
