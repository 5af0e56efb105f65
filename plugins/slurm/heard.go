package slurm

import (
	"context"
	"errors"
	"strings"
)

// What a cluster may have. The nodes of all jobs together, and the jobs they wait
// for, are bounded besides: a few bytes name thousands.
const (
	maxNodes  = 65_536 // partitions and reservations, too
	maxQueues = 10_000
	maxOn     = 1_000_000
)

// errTooMany is a cluster that has more than any has.
var errTooMany = errors.New("the answer tells of more than any cluster has")

// rows runs a command and hands over its lines of exactly n columns. A line with another
// number is dropped: it was cut, or a name held a line break.
func (s *site) rows(ctx context.Context, sep string, n int, take func([]string) error, argv ...string) error {
	return s.Lines(ctx, func(line string) error {
		if f := fields(line, sep, n); f != nil {
			return take(f)
		}
		return nil
	}, argv...)
}

// fields cuts a line into exactly n columns; nil if it has another number.
func fields(line, sep string, n int) []string {
	if strings.Count(line, sep) != n-1 {
		return nil
	}
	f := strings.Split(line, sep)
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	return f
}

// records runs a command that shows things with "--oneliner".
func (s *site) records(ctx context.Context, argv ...string) (all []map[string]string, err error) {
	err = s.Lines(ctx, func(line string) error {
		if m := pairs(line); len(m) > 0 {
			all = append(all, m)
		}
		if len(all) > maxNodes {
			return errTooMany
		}
		return nil
	}, argv...)
	return all, err
}

// among makes a set of a list.
func among(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}
