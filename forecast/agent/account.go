package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gridbroker/batch"
)

// SlurmAccounting asks sacct.
type SlurmAccounting struct {
	Run func(ctx context.Context, argv ...string) ([]byte, error)
}

// sacctTime is how Slurm writes and reads times, in the zone of the machine.
const sacctTime = "2006-01-02T15:04:05"

// Endings implements Accountant.
func (s SlurmAccounting) Endings(ctx context.Context, since time.Time) ([]batch.Ending, error) {
	out, err := s.Run(ctx, "sacct", "--allusers", "--allocations", "--noheader", "--parsable2", "--format=JobID,Start,End,State",
		"--starttime="+since.Local().Format(sacctTime), "--state=CD,F,TO,CA,NF,OOM,PR,DL,BF")
	if err != nil {
		return nil, fmt.Errorf("sacct: %w: %.200s", err, out)
	}
	return readEndings(string(out), time.Local), nil
}

// readEndings reads sacct's lines; those of jobs that have not ended say so.
func readEndings(text string, zone *time.Location) (list []batch.Ending) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 || f[0] == "" {
			continue
		}
		ended, err := time.ParseInLocation(sacctTime, f[2], zone)
		if err != nil {
			continue
		}
		e := batch.Ending{ID: f[0], Ended: ended, Cancelled: strings.HasPrefix(f[3], "CANCELLED") || strings.HasPrefix(f[3], "PREEMPTED")}
		if started, err := time.ParseInLocation(sacctTime, f[1], zone); err == nil {
			e.Started = started
		}
		list = append(list, e)
	}
	return list
}
