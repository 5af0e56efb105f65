package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
)

// Site reads what a cluster publishes of itself.
func (s *Store) Site(ctx context.Context, cluster string) (site *wire.Site, err error) {
	err = s.read(ctx, func(h handle) error { site, err = h.clusters.site(ctx, cluster); return err })
	return site, err
}

// ClusterInfo is what is known of a cluster.
type ClusterInfo struct {
	Name    string       `json:"name"`
	Seen    int64        `json:"seen" doc:"when its agent was last heard of, seconds of Unix time"`
	Made    int64        `json:"made" doc:"of the schedule"`
	TTL     int64        `json:"ttl"`
	Fresh   bool         `json:"fresh" doc:"whether the schedule may be used"`
	Gone    bool         `json:"gone,omitempty" doc:"it was taken out of the configuration: its jobs are followed to their ends, it gets no others"`
	Drained bool         `json:"drained"`
	Slots   int          `json:"slots"`
	Hits    int64        `json:"hits" doc:"jobs that began in their slots"`
	Misses  int64        `json:"misses"`
	Launch  float64      `json:"launch_seconds" doc:"from a launch to the site's answer"`
	Site    wire.Site    `json:"site"`
	Queues  []wire.Queue `json:"queues"`
	Load    wire.Load    `json:"load"`
}

// Member is a cluster among many.
type Member struct {
	Name         string
	Fresh, Gone  bool
	Hits, Misses int64
}

// Members lists all clusters by name, without what costs to read.
func (s *Store) Members(ctx context.Context, now int64) (list []Member, err error) {
	err = s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error {
			var m Member
			var made, ttl int64
			err := scan(&m.Name, &made, &ttl, &m.Hits, &m.Misses)
			m.Fresh = wire.Usable(made, ttl, now)
			list = append(list, m)
			return err
		}, "select name, made, ttl, hits, misses from cluster order by name")
	})
	return list, err
}

// Clusters reads what is known of all clusters, or of those named.
func (s *Store) Clusters(ctx context.Context, now time.Time, names ...string) (list []ClusterInfo, err error) {
	text, err := jsonText(names)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error {
			var c ClusterInfo
			var site, queues, load string
			var drained int
			var ms int64
			if err := scan(&c.Name, &c.Seen, &c.Made, &c.TTL, &drained, &c.Hits, &c.Misses, &ms, &site, &queues, &load, &c.Slots); err != nil {
				return err
			}
			c.Drained, c.Launch, c.Fresh = drained != 0, float64(ms)/1000, wire.Usable(c.Made, c.TTL, now.Unix())
			for text, to := range map[string]any{site: &c.Site, queues: &c.Queues, load: &c.Load} {
				if err := json.Unmarshal([]byte(text), to); err != nil {
					return err
				}
			}
			list = append(list, c)
			return nil
		}, `select name, seen, made, ttl, drained, hits, misses, launch_ms, site, queues, load,
			(select count(*) from content where content.cluster = cluster.name) from cluster
			where $2 = 0 or name in (select t.value from {texts}) order by name`, text, len(names))
	})
	return list, err
}

// peopled are the clusters at which jobs are booked that have not ended.
func peopled(ctx context.Context, s *Store) (names map[string]bool, err error) {
	names = map[string]bool{}
	err = s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			names[name] = true
			return err
		}, "select distinct cluster from booking where state = 'open'")
	})
	return names, err
}

// present leaves out the clusters that are not in the configuration any more, but for those that
// have jobs still: these are marked.
func present[T any](ctx context.Context, s *Scheduler, list []T, of func(*T) (name string, gone *bool)) ([]T, error) {
	configured := func(v *T) bool { name, _ := of(v); _, there := s.conf.Clusters[name]; return there }
	if !slices.ContainsFunc(list, func(v T) bool { return !configured(&v) }) {
		return list, nil
	}
	busy, err := peopled(ctx, s.store)
	kept := list[:0]
	for _, v := range list {
		name, gone := of(&v)
		if *gone = !configured(&v); !*gone || busy[name] {
			kept = append(kept, v)
		}
	}
	return kept, err
}

// Drain opens or closes a cluster for new bookings.
func (s *Scheduler) Drain(ctx context.Context, who Person, cluster string, close bool) error {
	if unheld(cluster) {
		return fmt.Errorf("%w: %s", ErrNoCluster, cluster)
	}
	known := false
	err := s.store.tx(ctx, func(h handle) error {
		err := h.rows(ctx, func(scan func(...any) error) error { known = true; var n string; return scan(&n) }, "select name from cluster where name = $1", cluster)
		if err != nil || !known {
			return err
		}
		if err := h.mail.post(ctx, kindDrain, "drain/"+newID(s.now(), s.conf.Chance), drained{cluster, who.Subject, close}); err != nil {
			return err
		}
		h.wake()
		return nil
	})
	if err == nil && !known {
		err = fmt.Errorf("%w: %s", ErrNoCluster, cluster)
	}
	s.poke()
	return err
}

// ErrNoCluster is a cluster that is not there.
var ErrNoCluster = errors.New("no such cluster")

// CheckFunction tells what is wrong with an owner's priority function.
func CheckFunction(text string) error {
	if text == "" {
		return nil
	}
	_, err := plan.CompileFormula(text)
	return err
}

// TryFunction is CheckFunction that also asks it for many jobs: one that seems to let nobody in is wrong, too.
func TryFunction(text string) error {
	if text == "" {
		return nil
	}
	f, err := plan.CompileFormula(text)
	if err != nil {
		return err
	}
	return f.LetsIn()
}

// Redacted is a database's URL without its password.
func Redacted(dsn string) string {
	if u, err := url.Parse(dsn); err == nil && u.User != nil {
		return u.Redacted()
	}
	return dsn
}
