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

// rows runs a command and hands over its lines of exactly n columns, all of them in the
// same slice. A line with another number is dropped: it was cut, or a name held a line break.
func (s *site) rows(ctx context.Context, sep string, n int, take func([]string) error, argv ...string) error {
	f := make([]string, n)
	return s.Lines(ctx, func(line string) error {
		if fields(f, line, sep) {
			return take(f)
		}
		return nil
	}, argv...)
}

// fields cuts a line into as many columns as there is room for; false if it has another number.
func fields(f []string, line, sep string) bool {
	if strings.Count(line, sep) != len(f)-1 {
		return false
	}
	for i := range f {
		f[i], line, _ = strings.Cut(line, sep)
		f[i] = strings.TrimSpace(f[i])
	}
	return true
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
