package broker

import (
	"context"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// recently is how far back jobs are looked for that a resource may not have
// published yet.
const recently = 6 * time.Hour

// earlier begins a tally with the user's own jobs that were sent after their
// resource made its state public: what is published is minutes old, and calls
// in a row must not all see the same free slots. Without job records, or where
// they cannot be read, it is empty: the plan is poorer, not wrong.
func (b *Broker) earlier(ctx context.Context, rs []*glue.Resource, now time.Time) *rank.Tally {
	tally := rank.NewTally()
	if b.Store == nil {
		return tally
	}
	sent, err := b.Store.underWay(ctx, now.Add(-recently))
	if err != nil || len(sent) == 0 {
		return tally
	}
	for _, r := range rs {
		made := now.Add(-Age(r, now))
		for _, s := range sent[r.ID] {
			if s.at.After(made) {
				tally.Earlier(r, s.slots)
			}
		}
	}
	return tally
}

// sentJob is a job under way.
type sentJob struct {
	at    time.Time // of the last request
	slots int
}

// underWay lists the jobs made since a time that a back-end has or may have,
// by resource.
func (s *Store) underWay(ctx context.Context, since time.Time) (map[string][]sentJob, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT json_extract(body, '$.resource'), json_extract(body, '$.sent'), coalesce(json_extract(body, '$.slots'), 1)
		FROM jobs WHERE state IN (?,?,?,?,?) AND created >= ?`,
		plugins.Submitting, plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running, since.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][]sentJob{}
	for rows.Next() {
		var resource, at string
		var j sentJob
		if err := rows.Scan(&resource, &at, &j.slots); err != nil {
			return nil, err
		}
		if j.at, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return nil, err
		}
		all[resource] = append(all[resource], j)
	}
	return all, rows.Err()
}
