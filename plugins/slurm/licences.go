package slurm

import (
	"context"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
)

// licence is one of the cluster's, and how many nobody has.
type licence struct {
	name string
	left int
}

// licences asks how many licences are left: those that neither jobs have nor a reservation keeps.
func licences(ctx context.Context, s *site) (all []licence, err error) {
	err = s.Lines(ctx, func(line string) error {
		m := map[string]string{}
		for word := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(word, "=")
			m[name] = value
		}
		if name := m["LicenseName"]; name != "" && len(all) < maxQueues {
			all = append(all, licence{name, max(0, atoi(m["Total"])-atoi(m["Used"])-atoi(m["Reserved"]))})
		}
		return nil
	}, "scontrol", "--oneliner", "show", "licenses")
	return all, err
}

// licensed is how many licences are left, by the names that wants gives.
func (c *cluster) licensed() map[string]int {
	left := map[string]int{}
	for _, l := range c.licences {
		left["licence "+l.name] = l.left
	}
	return left
}

// keptLicences is what reservations keep of them, until they end.
func (c *cluster) keptLicences(now time.Time) map[string][]batch.More {
	kept := map[string][]batch.More{}
	for _, r := range c.reserved {
		start, end := unix(r["StartTime"]), unix(r["EndTime"])
		if start.After(now) || !end.After(now) {
			continue
		}
		for l := range slices.Values(list(r["Licenses"])) {
			name, count, _ := strings.Cut(l, ":")
			kept["licence "+name] = append(kept["licence "+name], batch.More{At: end, Amount: max(1, atoi(count))})
		}
	}
	return kept
}
