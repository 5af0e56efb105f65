package slurm

import (
	"context"
	"slices"
	"strings"
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

// licensed notes what is left of licences, all of which may be short.
func (c *cluster) licensed(t *turns) {
	for _, l := range c.licences {
		t.left["licence "+l.name], t.have["licence "+l.name] = l.left, nil
	}
}

// keepLicences notes what reservations keep of them, until they end.
func (c *cluster) keepLicences(t *turns) {
	for _, r := range c.reserved {
		start, end := unix(r["StartTime"]), unix(r["EndTime"])
		if start.After(t.now) || !end.After(t.now) {
			continue
		}
		for l := range slices.Values(list(r["Licenses"])) {
			name, count, _ := strings.Cut(l, ":")
			t.holds("licence "+name, holder{"", max(1, atoi(count)), end})
		}
	}
}
