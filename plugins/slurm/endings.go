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
	back := max(1, int64(s.Options.Now().Sub(since)/time.Second)) // by the cluster's own clock, whatever its time zone
	text, err := s.Command(ctx, "sacct", "--allusers", "--allocations", "--noheader", "--parsable2", "--format=JobID,Start,End,State",
		fmt.Sprintf("--starttime=now-%dseconds", back), "--state=CD,F,TO,CA,NF,OOM,PR,DL,BF")
	if err != nil {
		return nil, s.noAccounting(ctx, err)
	}
	return endings(text), nil
}

// endings reads sacct's lines; those of jobs that have not ended say so.
func endings(text string) (list []batch.Ending) {
	for _, f := range rows(text, "|", 4) {
		e := batch.Ending{ID: f[0], Started: unix(f[1]), Ended: unix(f[2]), Cancelled: strings.HasPrefix(f[3], "CANCELLED") || strings.HasPrefix(f[3], "PREEMPTED")}
		if e.ID != "" && !e.Ended.IsZero() {
			list = append(list, e)
		}
	}
	return list
}
