package ask

import (
	"context"
	"maps"
	"slices"
	"sync"

	"gridbroker/glue"
)

// About asks every service once about all of its resources, the services at
// the same time, and joins what they say, by the ids of the resources. of
// names the service of a resource; "" is none. What one answers beside an
// error counts.
func About[T any](ctx context.Context, c *Client, rs []*glue.Resource, of func(*glue.Resource) string,
	one func(ctx context.Context, service string, about []*glue.Resource) (map[string]T, error)) (map[string]T, error) {
	about := map[string][]*glue.Resource{}
	for _, r := range rs {
		if s := of(r); s != "" {
			about[s] = append(about[s], r)
		}
	}
	all := map[string]T{}
	var mu sync.Mutex
	err := c.Each(ctx, slices.Sorted(maps.Keys(about)), func(ctx context.Context, service string) error {
		said, err := one(ctx, service, about[service])
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(all, said)
		return err
	})
	return all, err
}

// Named is the service that the first of the subjects about a resource names;
// "" where none is about it.
func Named(subjects []Subject, r *glue.Resource) string {
	for _, s := range subjects {
		if s.About(r) {
			return s.URL
		}
	}
	return ""
}
