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
	var ended []batch.Ending
	err := s.rows(ctx, "|", 5, func(f []string) error {
		if e, ok := ending(f); ok {
			ended = append(ended, e)
		}
		return nil
	}, "sacct", "--allusers", "--allocations", "--noheader", "--parsable2", "--format=JobID,Start,End,State,NodeList",
		fmt.Sprintf("--starttime=now-%dseconds", back), "--endtime=now", "--state=CD,F,TO,CA,NF,OOM,PR,DL,BF")
	if err != nil {
		return nil, s.noAccounting(ctx, err)
	}
	return ended, nil
}

// ending reads a line of sacct; that of a job that has not ended says so. One
// that was cancelled while it waited has the time of that as its start, and no node.
func ending(f []string) (e batch.Ending, ended bool) {
	e = batch.Ending{ID: f[0], Started: unix(f[1]), Ended: unix(f[2]), Cancelled: strings.HasPrefix(f[3], "CANCELLED") || strings.HasPrefix(f[3], "PREEMPTED")}
	e.Failed = !e.Cancelled && !strings.HasPrefix(f[3], "COMPLETED")
	if nowhere(f[4]) {
		e.Started = time.Time{}
	}
	return e, e.ID != "" && !e.Ended.IsZero()
}

// nowhere tells whether a list of nodes is that of a job which was ended while it waited.
func nowhere(nodes string) bool { return nodes == "" || nodes == "None assigned" || nodes == "(null)" }
