package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gridbroker/glue"
	"gridbroker/plugins/remote"
)

// MarkEnvironments implements plugins.EnvironmentMarker: the features of the environments, and the soft one of each that
// is cached. Other features stay. It takes the rights of Slurm's operator. A tag with / or + cannot be a feature that
// jobs ask for, and is left out.
func (q *Queue) MarkEnvironments(ctx context.Context, nodes, tags, cached []string) error {
	for _, name := range nodes {
		if !remote.Plain(name) {
			return fmt.Errorf("%q is no name of a node: letters, digits and _-./ are allowed", name)
		}
	}
	odd := func(tag string) bool { return !remote.Plain(tag) || strings.ContainsAny(tag, "/+") }
	tags, cached = slices.DeleteFunc(slices.Clone(tags), odd), slices.DeleteFunc(slices.Clone(cached), odd)
	shown, err := q.site.records(ctx, "scontrol", "--oneliner", "show", "node", strings.Join(nodes, ","))
	if err != nil {
		return err
	}
	for _, m := range shown {
		available, active := list(m["AvailableFeatures"]), list(m["ActiveFeatures"])
		newAvailable, newActive := withEnvironments(available, tags, cached), withEnvironments(active, tags, cached)
		if slices.Equal(available, newAvailable) && slices.Equal(active, newActive) {
			continue
		}
		if _, err := q.site.Command(ctx, "scontrol", "update", "NodeName="+m["NodeName"],
			"AvailableFeatures="+strings.Join(newAvailable, ","), "ActiveFeatures="+strings.Join(newActive, ",")); err != nil {
			return err
		}
	}
	return nil
}

// withEnvironments is a list of features with those of environments as they are now; the order of the others stays.
func withEnvironments(have, tags, cached []string) []string {
	var out []string
	for _, f := range have {
		if base, soft := strings.CutSuffix(f, glue.CachedSuffix); !soft || slices.Contains(cached, base) || !slices.Contains(tags, base) {
			out = append(out, f)
		}
	}
	add := func(f string) {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	for _, tag := range tags {
		add(tag)
	}
	for _, tag := range cached {
		add(tag + glue.CachedSuffix)
	}
	return out
}
